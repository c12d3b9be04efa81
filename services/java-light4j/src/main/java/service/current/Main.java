package service.current;

import com.networknt.server.Server;
import sun.misc.Signal;

/** Light-4J reads the handlers and its settings from values.yml. */
public final class Main {
    public static void main(String[] args) {
        // The JVM's default signal handler exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        Server.main(args);
    }
}
