package service;

import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import tools.jackson.databind.JsonNode;

@RestController
@RequestMapping("/account/{id:[0-9]{1,9}}")
public class AccountController {
    private final AccountService accounts;

    public AccountController(AccountService accounts) {
        this.accounts = accounts;
    }

    @GetMapping
    public ResponseEntity<Account> get(@PathVariable long id) {
        return ResponseEntity.of(accounts.find(id));
    }

    /** The body is read by hand, because any amount that is none is a 422. */
    @PostMapping("/deposits")
    @ResponseStatus(HttpStatus.CREATED)
    public Account deposit(@PathVariable long id, @RequestBody JsonNode body) {
        JsonNode amount = body.path("amountCents");
        if (!amount.isIntegralNumber() || !amount.canConvertToLong() || amount.longValue() < 1 || amount.longValue() > 1_000_000) {
            throw new ResponseStatusException(HttpStatus.UNPROCESSABLE_CONTENT);
        }
        return accounts.deposit(id, amount.longValue())
                .orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
    }
}
