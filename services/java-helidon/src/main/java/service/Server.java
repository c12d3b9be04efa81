package service;

import io.helidon.http.HeaderValues;
import io.helidon.http.Status;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.Handler;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerResponse;
import java.time.Duration;
import java.util.function.IntFunction;
import java.util.regex.Pattern;
import sun.misc.Signal;

/** hello and sequence on Helidon SE. */
public final class Server {
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143. Either way Helidon closes what it has opened.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        WebServer.builder()
                .host(System.getenv().getOrDefault("HOST", "127.0.0.1"))
                .port(Integer.parseInt(System.getenv().getOrDefault("PORT", "8080")))
                .shutdownGracePeriod(Duration.ofSeconds(5))
                .routing(Server::routes)
                .build()
                .start();
    }

    private static void routes(HttpRouting.Builder routing) {
        routing.get("/api/test", (request, response) -> text(response, "Hello, World!"))
                .get("/api/count/{n}", sequence(Sequence::count))
                .get("/api/fib/{n}", sequence(Sequence::fib))
                // The default writes a body after the head of an answer to HEAD, too.
                .any((request, response) -> notFound(response));
    }

    private static Handler sequence(IntFunction<String> numbers) {
        return (request, response) -> {
            String n = request.path().pathParameters().get("n");
            if (LENGTH.matcher(n).matches()) {
                text(response, numbers.apply(Integer.parseInt(n)));
            } else {
                notFound(response);
            }
        };
    }

    private static void notFound(ServerResponse response) {
        response.status(Status.NOT_FOUND_404).send();
    }

    private static void text(ServerResponse response, String body) {
        response.header(HeaderValues.CONTENT_TYPE_TEXT_PLAIN).send(body);
    }
}
