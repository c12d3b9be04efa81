package service;

import io.micronaut.runtime.Micronaut;
import sun.misc.Signal;

/** hello and sequence on Micronaut. */
public final class Application {
    private Application() {}

    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143. Either way Micronaut closes what it has opened.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        Micronaut.build(args).mainClass(Application.class).banner(false).start();
    }
}
