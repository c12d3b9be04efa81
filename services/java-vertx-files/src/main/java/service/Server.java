package service;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.FileSystemAccess;
import io.vertx.ext.web.handler.StaticHandler;
import sun.misc.Signal;

/** Files by the static handler of Vert.x Web: one verticle, with its own event loop, for each of WORKERS. */
public final class Server extends VerticleBase {
    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        String processors = String.valueOf(Runtime.getRuntime().availableProcessors());
        int workers = Integer.parseInt(variable("WORKERS", processors));
        Vertx vertx = Vertx.builder()
                .with(new VertxOptions().setEventLoopPoolSize(workers).setPreferNativeTransport(true))
                .build();
        vertx.deployVerticle(Server::new, new DeploymentOptions().setInstances(workers))
                .onFailure(cause -> {
                    System.err.println(cause.getMessage());
                    System.exit(1);
                });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> vertx.close().await()));
    }

    @Override
    public Future<HttpServer> start() {
        // Files outside of the build may change: by default the handler takes them for read-only and remembers them for a day.
        StaticHandler files = StaticHandler.create(FileSystemAccess.ROOT, variable("FILES_DIR", "."))
                .setFilesReadOnly(false)
                .setCacheEntryTimeout(1_000);
        Router router = Router.router(vertx);
        router.get("/files/*").handler(files);
        HttpServerOptions options = new HttpServerOptions()
                .setHost(variable("HOST", "127.0.0.1"))
                .setPort(Integer.parseInt(variable("PORT", "8080")));
        return vertx.createHttpServer(options).requestHandler(router).listen();
    }

    private static String variable(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }
}
