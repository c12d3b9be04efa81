package service.era;

import com.networknt.server.HandlerProvider;
import io.undertow.Handlers;
import io.undertow.server.HttpHandler;
import service.HelloHandler;
import service.SequenceHandler;
import service.SnoopHandler;

public final class Routes implements HandlerProvider {
    @Override
    public HttpHandler getHandler() {
        return Handlers.routing()
                .get("/api/test", new HelloHandler())
                .get("/api/count/{n}", new SequenceHandler.Count())
                .get("/api/fib/{n}", new SequenceHandler.Fib())
                .get("/", new SnoopHandler());
    }
}
