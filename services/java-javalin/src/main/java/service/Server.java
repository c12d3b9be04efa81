package service;

import io.javalin.Javalin;
import io.javalin.http.Context;
import io.javalin.http.Handler;
import io.javalin.http.NotFoundResponse;
import java.util.function.IntFunction;
import java.util.regex.Pattern;
import sun.misc.Signal;

/** hello and sequence on Javalin. */
public final class Server {
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        Javalin server = Javalin.create(config -> {
            config.startup.showJavalinBanner = false;
            config.concurrency.useVirtualThreads = true;
            config.jetty.host = System.getenv().getOrDefault("HOST", "127.0.0.1");
            config.jetty.port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
            config.jetty.modifyServer(jetty -> {
                jetty.setStopTimeout(5_000);
                jetty.setHandler(new CanonicalPaths());
            });
            config.routes.get("/api/test", context -> text(context, "Hello, World!"));
            config.routes.get("/api/count/{n}", sequence(Sequence::count));
            config.routes.get("/api/fib/{n}", sequence(Sequence::fib));
        });
        server.start();
        Runtime.getRuntime().addShutdownHook(new Thread(server::stop));
    }

    private static Handler sequence(IntFunction<String> numbers) {
        return context -> {
            String n = context.pathParam("n");
            if (!LENGTH.matcher(n).matches()) {
                throw new NotFoundResponse();
            }
            text(context, numbers.apply(Integer.parseInt(n)));
        };
    }

    private static void text(Context context, String body) {
        context.contentType("text/plain").result(body);
    }
}
