package service;

import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.GracefulShutdownHandler;
import io.undertow.util.Headers;
import io.undertow.util.PathTemplateMatch;
import io.undertow.util.StatusCodes;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.function.IntFunction;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import sun.misc.Signal;

/** hello, sequence and snoop on Undertow. No operation blocks, so all run on the threads that do the I/O. */
public final class Server {
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    public static void main(String[] args) throws GeneralSecurityException, IOException {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
        String processors = String.valueOf(Runtime.getRuntime().availableProcessors());
        int workers = Integer.parseInt(System.getenv().getOrDefault("WORKERS", processors));

        HttpHandler routes = Handlers.routing()
                .get("/api/test", exchange -> text(exchange, "Hello, World!"))
                .get("/api/count/{n}", sequence(Sequence::count))
                .get("/api/fib/{n}", sequence(Sequence::fib))
                .get("/", Server::snoop);
        GracefulShutdownHandler handler = Handlers.gracefulShutdown(routes);
        Undertow.Builder builder = Undertow.builder()
                .addHttpListener(port, host)
                .setIoThreads(workers)
                .setHandler(handler);
        if (System.getenv("TLS_PORT") != null) {
            builder.addHttpsListener(Integer.parseInt(System.getenv("TLS_PORT")), host, tls());
        }
        Undertow server = builder.build();
        server.start();

        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, handler)));
    }

    private static SSLContext tls() throws GeneralSecurityException, IOException {
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(Identity.keyStore(), Identity.PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        return context;
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

    private static HttpHandler sequence(IntFunction<String> numbers) {
        return exchange -> {
            String n = exchange.getAttachment(PathTemplateMatch.ATTACHMENT_KEY).getParameters().get("n");
            if (LENGTH.matcher(n).matches()) {
                text(exchange, numbers.apply(Integer.parseInt(n)));
            } else {
                exchange.setStatusCode(StatusCodes.NOT_FOUND).endExchange();
            }
        };
    }

    private static void text(HttpServerExchange exchange, String body) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
        exchange.getResponseSender().send(body);
    }

    private static void snoop(HttpServerExchange exchange) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/html; charset=utf-8");
        exchange.getResponseSender().send(Snoop.page(exchange.getRequestHeaders()));
    }
}
