package service;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.function.IntFunction;
import java.util.regex.Pattern;
import sun.misc.Signal;

/** hello and sequence on the JDK's own HttpServer, with a virtual thread per request. */
public final class Server {
    /** Hundreds of connections may come at once; the default is 50. */
    private static final int BACKLOG = 4096;
    private static final int GRACE_S = 2;
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    public static void main(String[] args) throws IOException {
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
        HttpServer server = HttpServer.create(new InetSocketAddress(host, port), BACKLOG);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", exchange -> reply(exchange, 404, "no such path"));
        server.createContext("/api/test", exact("/api/test", "Hello, World!"));
        server.createContext("/api/count/", numbers("/api/count/", Sequence::count));
        server.createContext("/api/fib/", numbers("/api/fib/", Sequence::fib));
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> {
            server.stop(GRACE_S);
            System.exit(0);
        });
        server.start();
    }

    /** A context answers every path that begins with its own. */
    private static HttpHandler exact(String path, String body) {
        return exchange -> {
            if (exchange.getRequestURI().getPath().equals(path)) {
                reply(exchange, 200, body);
            } else {
                reply(exchange, 404, "no such path");
            }
        };
    }

    private static HttpHandler numbers(String prefix, IntFunction<String> compute) {
        return exchange -> {
            String n = exchange.getRequestURI().getPath().substring(prefix.length());
            if (LENGTH.matcher(n).matches()) {
                reply(exchange, 200, compute.apply(Integer.parseInt(n)));
            } else {
                reply(exchange, 404, "no such path");
            }
        };
    }

    private static void reply(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        String method = exchange.getRequestMethod();
        try (exchange) {
            exchange.getResponseHeaders().set("Content-Type", "text/plain");
            if (method.equals("HEAD")) {
                exchange.getResponseHeaders().set("Content-Length", Integer.toString(bytes.length));
                exchange.sendResponseHeaders(status, -1);
            } else if (method.equals("GET")) {
                // -1 is no body at all, and 0 one of any length.
                exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
                if (bytes.length > 0) {
                    exchange.getResponseBody().write(bytes);
                }
            } else {
                exchange.sendResponseHeaders(405, -1);
            }
        }
    }
}
