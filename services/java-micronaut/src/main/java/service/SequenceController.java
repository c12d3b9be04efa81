package service;

import io.micronaut.http.HttpResponse;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.function.IntFunction;
import java.util.regex.Pattern;

@Controller(value = "/api", produces = MediaType.TEXT_PLAIN)
public class SequenceController {
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    @Get("/count/{n}")
    public HttpResponse<String> count(String n) {
        return answer(n, Sequence::count);
    }

    @Get("/fib/{n}")
    public HttpResponse<String> fib(String n) {
        return answer(n, Sequence::fib);
    }

    private static HttpResponse<String> answer(String n, IntFunction<String> numbers) {
        return LENGTH.matcher(n).matches()
                ? HttpResponse.ok(numbers.apply(Integer.parseInt(n)))
                : HttpResponse.notFound();
    }
}
