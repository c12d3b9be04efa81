package service;

import java.math.BigInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping(path = "/api", produces = MediaType.TEXT_PLAIN_VALUE)
public class SequenceController {
    /** An integer from 0 to 10,000: anything else does not match the mapping, so it is a 404. */
    private static final String N = "{n:10000|[0-9]{1,4}}";

    @GetMapping("/count/" + N)
    public String count(@PathVariable int n) {
        return IntStream.rangeClosed(1, n).mapToObj(Integer::toString).collect(Collectors.joining(" "));
    }

    @GetMapping("/fib/" + N)
    public String fib(@PathVariable int n) {
        return Stream.iterate(
                        new BigInteger[] {BigInteger.ZERO, BigInteger.ONE},
                        pair -> new BigInteger[] {pair[1], pair[0].add(pair[1])})
                .limit(n + 1)
                .map(pair -> pair[0].toString())
                .collect(Collectors.joining(" "));
    }
}
