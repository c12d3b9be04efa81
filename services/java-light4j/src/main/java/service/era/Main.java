package service.era;

import com.networknt.server.Server;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import sun.misc.Signal;

/** Light-4J 1.0 takes its address from a file alone, which knows no environment. */
public final class Main {
    public static void main(String[] args) throws IOException {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        String port = System.getenv().getOrDefault("PORT", "8080");
        Path folder = Files.createTempDirectory("light4j");
        Path file = folder.resolve("server.json");
        Files.writeString(file, "{\"ip\": \"%s\", \"port\": %s}".formatted(host, port));
        System.setProperty("light-java-config-dir", folder.toString());
        Server.main(args);
        Files.delete(file);
        Files.delete(folder);
    }
}
