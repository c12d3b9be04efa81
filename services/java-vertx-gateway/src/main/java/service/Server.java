package service;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import java.net.URI;
import sun.misc.Signal;

/** A gateway to a language model on Vert.x: one verticle, with its own event loop, for each of WORKERS. */
public final class Server extends VerticleBase {
    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        String processors = String.valueOf(Runtime.getRuntime().availableProcessors());
        int workers = Integer.parseInt(variable("WORKERS", processors));
        Vertx vertx = Vertx.builder()
                .with(new VertxOptions().setEventLoopPoolSize(workers).setPreferNativeTransport(true))
                .build();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> vertx.close().await()));
        try {
            vertx.deployVerticle(Server::new, new DeploymentOptions().setInstances(workers)).await();
        } catch (Exception cause) {
            System.err.println(cause.getMessage());
            System.exit(1);
        }
    }

    @Override
    public Future<HttpServer> start() {
        URI model = URI.create(variable("MODEL_URL", "http://127.0.0.1:9000/v1"));
        Gateway gateway = new Gateway(vertx, model, variable("MODEL_KEY", ""));
        HttpServerOptions options = new HttpServerOptions()
                .setHost(variable("HOST", "127.0.0.1"))
                .setPort(Integer.parseInt(variable("PORT", "8080")));
        return vertx.createHttpServer(options).requestHandler(gateway).listen();
    }

    private static String variable(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }
}
