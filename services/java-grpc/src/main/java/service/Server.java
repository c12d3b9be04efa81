package service;

import io.grpc.InsecureServerCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import sun.misc.Signal;

/** The contracts person and stream over gRPC. */
public final class Server {
    public static void main(String[] args) throws IOException, InterruptedException {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));

        io.grpc.Server server = NettyServerBuilder.forAddress(
                        new InetSocketAddress(host, port), InsecureServerCredentials.create())
                .addService(new PersonService(People.load()))
                .addService(new StreamService())
                // No call blocks, so none needs a thread of its own.
                .directExecutor()
                .build()
                .start();

        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server)));
        server.awaitTermination();
    }

    private static void stop(io.grpc.Server server) {
        try {
            if (!server.shutdown().awaitTermination(5, TimeUnit.SECONDS)) {
                server.shutdownNow();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
