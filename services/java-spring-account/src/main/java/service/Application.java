package service;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import sun.misc.Signal;

@SpringBootApplication
public class Application {
    public static void main(String[] args) {
        // The JVM's default signal handler exits with 143. Spring shuts down cleanly in both cases.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        SpringApplication.run(Application.class, args);
    }
}
