package service.current;

import com.networknt.server.Server;
import sun.misc.Signal;

/** Light-4J finds the handlers and its settings in values.yml. */
public final class Main {
    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        Server.main(args);
    }
}
