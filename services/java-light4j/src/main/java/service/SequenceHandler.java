package service;

import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;
import io.undertow.util.StatusCodes;
import java.util.function.IntFunction;
import java.util.regex.Pattern;

public abstract class SequenceHandler implements HttpHandler {
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    private final IntFunction<String> numbers;

    private SequenceHandler(IntFunction<String> numbers) {
        this.numbers = numbers;
    }

    @Override
    public void handleRequest(HttpServerExchange exchange) {
        // Light-4J adds the variable of the path to the parameters of the query, after any of the same name.
        String n = exchange.getQueryParameters().get("n").getLast();
        if (LENGTH.matcher(n).matches()) {
            exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
            exchange.getResponseSender().send(numbers.apply(Integer.parseInt(n)));
        } else {
            exchange.setStatusCode(StatusCodes.NOT_FOUND).endExchange();
        }
    }

    public static final class Count extends SequenceHandler {
        public Count() {
            super(Sequence::count);
        }
    }

    public static final class Fib extends SequenceHandler {
        public Fib() {
            super(Sequence::fib);
        }
    }
}
