package service;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.function.IntFunction;
import sun.misc.Signal;

/** hello, sequence, catalog, upload and events on Vert.x Web: one verticle, with its own event loop, for each of WORKERS. */
public final class Server extends VerticleBase {
    /** An integer from 0 to 10,000: anything else does not match the route, so it is a 404. */
    private static final String N = "(?<n>10000|[0-9]{1,4})";

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
    public Future<?> start() {
        Router router = Router.router(vertx);
        router.get("/api/test").handler(context -> text(context, "Hello, World!"));
        router.getWithRegex("/api/count/" + N).handler(sequence(Sequence::count));
        router.getWithRegex("/api/fib/" + N).handler(sequence(Sequence::fib));
        router.get("/catalog").handler(Catalog::answer);
        router.post("/upload").handler(Upload::answer);
        router.get("/events").handler(Events::answer);
        Future<HttpServer> clear = vertx.createHttpServer(options("PORT")).requestHandler(router).listen();
        return System.getenv("TLS_PORT") == null
                ? clear
                : Future.all(clear, vertx.createHttpServer(secure()).requestHandler(router).listen());
    }

    private static HttpServerOptions options(String port) {
        return new HttpServerOptions()
                .setCompressionSupported(Boolean.parseBoolean(variable("COMPRESSION", "false")))
                .setHandle100ContinueAutomatically(true)
                .setHost(variable("HOST", "127.0.0.1"))
                .setPort(Integer.parseInt(variable(port, "8080")));
    }

    /** HTTP/2 or HTTP/1.1, as the client prefers. */
    private static HttpServerOptions secure() {
        return options("TLS_PORT")
                .setSsl(true)
                .setUseAlpn(true)
                // The default implementation stalls over TLS once more than 64 KiB of replies wait on a connection.
                .setHttp2MultiplexImplementation(true)
                .setKeyCertOptions(new PemKeyCertOptions()
                        .setCertPath(System.getenv("TLS_CERT"))
                        .setKeyPath(System.getenv("TLS_KEY")));
    }

    private static Handler<RoutingContext> sequence(IntFunction<String> numbers) {
        return context -> text(context, numbers.apply(Integer.parseInt(context.pathParam("n"))));
    }

    private static void text(RoutingContext context, String body) {
        context.response().putHeader("Content-Type", "text/plain").end(body);
    }

    private static String variable(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }
}
