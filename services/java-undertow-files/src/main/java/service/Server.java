package service;

import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.server.handlers.GracefulShutdownHandler;
import io.undertow.server.handlers.resource.DefaultResourceSupplier;
import io.undertow.server.handlers.resource.PathResourceManager;
import io.undertow.server.handlers.resource.PreCompressedResourceSupplier;
import io.undertow.server.handlers.resource.ResourceHandler;
import io.undertow.server.handlers.resource.ResourceSupplier;
import io.undertow.util.MimeMappings;
import java.nio.file.Path;
import sun.misc.Signal;

/** Files by Undertow's resource handler. */
public final class Server {
    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        String host = variable("HOST", "127.0.0.1");
        int port = Integer.parseInt(variable("PORT", "8080"));
        int workers = Integer.parseInt(
                variable("WORKERS", String.valueOf(Runtime.getRuntime().availableProcessors())));

        GracefulShutdownHandler handler = Handlers.gracefulShutdown(
                Handlers.path().addPrefixPath("/files", files(Path.of(variable("FILES_DIR", ".")))));
        Undertow server = Undertow.builder()
                .addHttpListener(port, host)
                .setIoThreads(workers)
                .setHandler(handler)
                .build();
        server.start();

        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, handler)));
    }

    private static ResourceHandler files(Path folder) {
        PathResourceManager manager = new PathResourceManager(folder);
        boolean precompressed = Boolean.parseBoolean(variable("PRECOMPRESSED", "false"));
        ResourceSupplier supplier = precompressed
                ? new PreCompressedResourceSupplier(manager).addEncoding("br", ".br").addEncoding("gzip", ".gz")
                : new DefaultResourceSupplier(manager);
        // Its own table has neither of the two.
        MimeMappings types = MimeMappings.builder()
                .addMapping("webp", "image/webp")
                .addMapping("woff2", "font/woff2")
                .build();
        return new ResourceHandler(supplier).setMimeMappings(types).setWelcomeFiles();
    }

    private static void stop(Undertow server, GracefulShutdownHandler handler) {
        handler.shutdown();
        try {
            handler.awaitShutdown(5_000);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        server.stop();
    }

    private static String variable(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }
}
