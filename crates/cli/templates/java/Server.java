import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

public class Server {
    private static final int BACKLOG = 1024;

    public static void main(String[] args) throws IOException {
        var address = new InetSocketAddress(setting("HOST", "127.0.0.1"), Integer.parseInt(setting("PORT", "8080")));
        var server = HttpServer.create(address, BACKLOG);
        server.setExecutor(Executors.newFixedThreadPool(4 * Runtime.getRuntime().availableProcessors()));
        server.createContext("/", Server::handle);
        server.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            server.stop(0);
            // Otherwise the JVM would exit with the signal's own code.
            Runtime.getRuntime().halt(0);
        }));
    }

    private static void handle(HttpExchange exchange) throws IOException {
        if (!exchange.getRequestURI().getPath().equals("/api/test")) {
            respond(exchange, 404, "no such path");
        } else if (!exchange.getRequestMethod().equals("GET")) {
            respond(exchange, 405, "GET only");
        } else {
            respond(exchange, 200, "Hello, World!");
        }
    }

    private static void respond(HttpExchange exchange, int status, String text) throws IOException {
        exchange.getRequestBody().readAllBytes();
        var body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "text/plain");
        // A reply to HEAD has no body, which is what -1 means.
        var isHead = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(status, isHead ? -1 : body.length);
        if (!isHead) {
            exchange.getResponseBody().write(body);
        }
        exchange.close();
    }

    private static String setting(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }
}
