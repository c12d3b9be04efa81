package service;

import io.helidon.common.configurable.Resource;
import io.helidon.common.pki.Keys;
import io.helidon.common.tls.Tls;
import io.helidon.http.HeaderValues;
import io.helidon.http.Status;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.WebServerConfig;
import io.helidon.webserver.http.Handler;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerResponse;
import java.nio.file.Path;
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
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        WebServerConfig.Builder server = WebServer.builder()
                .host(host)
                .port(Integer.parseInt(System.getenv().getOrDefault("PORT", "8080")))
                .shutdownGracePeriod(Duration.ofSeconds(5))
                .routing(Server::routes);
        if (System.getenv("TLS_PORT") != null) {
            // HTTP/2 or HTTP/1.1, as the client prefers.
            server.putSocket("tls", socket -> socket
                    .host(host)
                    .port(Integer.parseInt(System.getenv("TLS_PORT")))
                    .shutdownGracePeriod(Duration.ofSeconds(5))
                    .tls(tls())
                    .routing(Server::routes));
        }
        server.build().start();
    }

    private static Tls tls() {
        Keys identity = Keys.builder()
                .pem(pem -> pem
                        .key(Resource.create(Path.of(System.getenv("TLS_KEY"))))
                        .certChain(Resource.create(Path.of(System.getenv("TLS_CERT")))))
                .build();
        return Tls.builder().privateKey(identity).privateKeyCertChain(identity).build();
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
