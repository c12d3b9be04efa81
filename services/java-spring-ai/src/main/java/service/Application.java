package service;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import sun.misc.Signal;

@SpringBootApplication
public class Application {
    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143. Either way Spring closes what it has opened.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        SpringApplication.run(Application.class, args);
    }
}
