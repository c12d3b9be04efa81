package service;

import io.micronaut.runtime.Micronaut;
import java.net.URI;
import java.util.Map;
import sun.misc.Signal;

/** orders and fortunes on Micronaut and JDBC. */
public final class Application {
    private Application() {}

    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143. Either way Micronaut closes what it has opened.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        Micronaut.build(args).mainClass(Application.class).properties(database()).banner(false).start();
    }

    /** A URL of JDBC holds no user: it is taken out of the one that other drivers understand. */
    private static Map<String, Object> database() {
        URI url = URI.create(System.getenv("DATABASE_URL"));
        String[] user = url.getUserInfo().split(":", 2);
        return Map.of(
                "datasources.default.url", "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath(),
                "datasources.default.username", user[0],
                "datasources.default.password", user[1]);
    }
}
