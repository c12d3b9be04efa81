package service.era;

import com.networknt.server.Server;
import sun.misc.Signal;

/** Light-4J 1.5 takes its address from server.yml alone, which knows no environment. */
public final class Main {
    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        Server.config.setIp(System.getenv().getOrDefault("HOST", "127.0.0.1"));
        Server.config.setHttpPort(Integer.parseInt(System.getenv().getOrDefault("PORT", "8080")));
        Server.main(args);
    }
}
