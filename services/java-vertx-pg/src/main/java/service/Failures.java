package service;

import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;

/** How requests end that cannot be answered as they were meant. */
final class Failures {
    private Failures() {}

    /** Ends a request with this status. */
    static final class Refusal extends RuntimeException {
        private final int status;
        private final JsonObject body;

        Refusal(int status) {
            this(status, null);
        }

        Refusal(int status, JsonObject body) {
            // It says no more than its status, so it needs no stack.
            super("status " + status, null, false, false);
            this.status = status;
            this.body = body;
        }
    }

    static void answer(RoutingContext context) {
        Throwable failure = context.failure();
        if (failure instanceof Refusal refusal) {
            context.response().setStatusCode(refusal.status);
            if (refusal.body != null) {
                context.json(refusal.body);
            } else {
                context.response().end();
            }
        } else if (failure instanceof DecodeException || failure instanceof ClassCastException) {
            context.response().setStatusCode(400).end();
        } else if (failure == null) {
            context.response().setStatusCode(context.statusCode()).end();
        } else {
            // The database is away; the pool connects anew by itself.
            context.response().setStatusCode(503).end();
        }
    }
}
