package service;

import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

@RestController
@RequestMapping(path = "/api", produces = MediaType.TEXT_PLAIN_VALUE)
public class SequenceController {
    /** An integer from 0 to 10,000: anything else does not match the mapping, so it is a 404. */
    private static final String N = "{n:10000|[0-9]{1,4}}";

    @GetMapping("/count/" + N)
    public Mono<String> count(@PathVariable int n) {
        return Mono.fromSupplier(() -> Sequence.count(n));
    }

    @GetMapping("/fib/" + N)
    public Mono<String> fib(@PathVariable int n) {
        return Mono.fromSupplier(() -> Sequence.fib(n));
    }
}
