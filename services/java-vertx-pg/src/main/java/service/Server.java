package service;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.BodyHandler;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import java.util.concurrent.TimeUnit;
import sun.misc.Signal;

/** orders and fortunes on Vert.x Web: one verticle, with its own event loop, for each of WORKERS. */
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
        Pool database = pool();
        Orders orders = new Orders(database);
        Router router = Router.router(vertx);
        router.route("/orders*").handler(BodyHandler.create(false));
        router.post("/orders").handler(orders::create);
        router.get("/orders").handler(orders::list);
        router.get("/orders/:id").handler(orders::get);
        router.patch("/orders/:id").handler(orders::setStatus);
        router.delete("/orders/:id").handler(orders::delete);
        router.get("/fortunes").handler(new Fortunes(vertx, database));
        router.route().failureHandler(Failures::answer);
        HttpServerOptions options = new HttpServerOptions()
                .setHost(variable("HOST", "127.0.0.1"))
                .setPort(Integer.parseInt(variable("PORT", "8080")));
        return vertx.createHttpServer(options).requestHandler(router).listen();
    }

    private Pool pool() {
        PoolOptions options = new PoolOptions()
                .setMaxSize(Integer.parseInt(variable("DATABASE_POOL", "16")))
                // One for all event loops, which would else have a pool each.
                .setShared(true)
                .setName("orders")
                // While the database is away, the answer is a 503 and not a wait of half a minute.
                .setConnectionTimeout(5)
                .setConnectionTimeoutUnit(TimeUnit.SECONDS);
        PgConnectOptions database = PgConnectOptions.fromUri(variable("DATABASE_URL", ""))
                .setCachePreparedStatements(true);
        return PgBuilder.pool().with(options).connectingTo(database).using(vertx).build();
    }

    private static String variable(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }
}
