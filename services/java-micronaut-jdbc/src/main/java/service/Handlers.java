package service;

import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import jakarta.inject.Singleton;
import java.sql.SQLException;

/** How requests end that cannot be answered as they were meant. */
public final class Handlers {
    private Handlers() {}

    @Singleton
    public static class Invalid implements ExceptionHandler<InvalidOrder, HttpResponse<?>> {
        @Override
        public HttpResponse<?> handle(HttpRequest request, InvalidOrder invalid) {
            return HttpResponse.unprocessableEntity().body(invalid.errors());
        }
    }

    /** The database is away. */
    @Singleton
    public static class Away implements ExceptionHandler<SQLException, HttpResponse<?>> {
        @Override
        public HttpResponse<?> handle(HttpRequest request, SQLException away) {
            return HttpResponse.status(HttpStatus.SERVICE_UNAVAILABLE);
        }
    }
}
