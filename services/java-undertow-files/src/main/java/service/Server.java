package service;

import static io.undertow.util.Methods.GET;
import static io.undertow.util.Methods.HEAD;

import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.server.HttpHandler;
import io.undertow.server.handlers.AllowedMethodsHandler;
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

        HttpHandler files = new AllowedMethodsHandler(files(Path.of(variable("FILES_DIR", "."))), GET, HEAD);
        GracefulShutdownHandler handler =
                Handlers.gracefulShutdown(Handlers.path().addPrefixPath("/files", files));
        Undertow server = Undertow.builder()
                .addHttpListener(port, host)
                .setIoThreads(workers)
                .setHandler(handler)
                .build();
        server.start();

        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, handler)));
    }

    private static HttpHandler files(Path folder) {
        PathResourceManager manager = new PathResourceManager(folder);
        if (Boolean.parseBoolean(variable("PRECOMPRESSED", "false"))) {
            ResourceSupplier siblings = new PreCompressedResourceSupplier(manager)
                    .addEncoding("br", ".br")
                    .addEncoding("gzip", ".gz");
            // The supplier leaves it to others to say what a reply depends on.
            return Handlers.header(handler(siblings), "Vary", "Accept-Encoding");
        }
        return handler(new DefaultResourceSupplier(manager));
    }

    private static ResourceHandler handler(ResourceSupplier supplier) {
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
