package service;

import io.smallrye.common.annotation.NonBlocking;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;

/** Nothing here blocks, so it runs on the event loop. */
@Path("/api")
@Produces(MediaType.TEXT_PLAIN)
@NonBlocking
public class SequenceResource {
    /** An integer from 0 to 10,000: anything else does not match the path, so it is a 404. */
    private static final String N = "{n: 10000|[0-9]{1,4}}";

    @GET
    @Path("/count/" + N)
    public String count(int n) {
        return Sequence.count(n);
    }

    @GET
    @Path("/fib/" + N)
    public String fib(int n) {
        return Sequence.fib(n);
    }
}
