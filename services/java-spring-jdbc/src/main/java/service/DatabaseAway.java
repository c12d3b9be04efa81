package service;

import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.http.HttpStatus;
import org.springframework.jdbc.CannotGetJdbcConnectionException;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/** While the database is away, the answer is 503. */
@RestControllerAdvice
public class DatabaseAway {
    @ExceptionHandler({
        CannotCreateTransactionException.class,
        CannotGetJdbcConnectionException.class,
        DataAccessResourceFailureException.class,
        TransactionSystemException.class
    })
    @ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
    public void away() {}
}
