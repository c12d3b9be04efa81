package service;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.annotation.Get;
import com.linecorp.armeria.server.annotation.Param;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.IntFunction;
import java.util.regex.Pattern;
import sun.misc.Signal;

/** hello and sequence on Armeria. */
public final class Server {
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    public static void main(String[] args) {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
        com.linecorp.armeria.server.Server server = com.linecorp.armeria.server.Server.builder()
                .http(new InetSocketAddress(host, port))
                // By default there are two event loops for each processor.
                .workerGroup(Runtime.getRuntime().availableProcessors())
                // The default, 8 KiB for all headers of a request, is tight for a hundred of them.
                .http1MaxHeaderSize(64 * 1024)
                .gracefulShutdownTimeout(Duration.ZERO, Duration.ofSeconds(2))
                .annotatedService(new Server())
                .build();
        server.closeOnJvmShutdown();
        server.start().join();
    }

    @Get("/api/test")
    public HttpResponse hello() {
        return HttpResponse.of("Hello, World!");
    }

    @Get("/api/count/{n}")
    public HttpResponse count(@Param String n) {
        return numbers(n, Sequence::count);
    }

    @Get("/api/fib/{n}")
    public HttpResponse fib(@Param String n) {
        return numbers(n, Sequence::fib);
    }

    private static HttpResponse numbers(String n, IntFunction<String> compute) {
        return LENGTH.matcher(n).matches()
                ? HttpResponse.of(compute.apply(Integer.parseInt(n)))
                : HttpResponse.of(HttpStatus.BAD_REQUEST);
    }
}
