package service;

import static java.util.Objects.requireNonNull;

import java.net.URI;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PatchMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
@RequestMapping("/orders")
public class OrdersController {
    public record Change(String status) {
        public Change {
            requireNonNull(status, "status");
        }
    }

    private final OrderService orders;

    public OrdersController(OrderService orders) {
        this.orders = orders;
    }

    @PostMapping
    public ResponseEntity<Order> create(@RequestBody NewOrder order) {
        Order created = orders.create(order);
        return ResponseEntity.created(URI.create("/orders/" + created.id())).body(created);
    }

    @ExceptionHandler
    @ResponseStatus(HttpStatus.UNPROCESSABLE_CONTENT)
    public InvalidOrder.Errors invalid(InvalidOrder invalid) {
        return invalid.errors();
    }

    @GetMapping("/{id}")
    public ResponseEntity<Order> get(@PathVariable long id) {
        return withVersion(orders.get(id));
    }

    @GetMapping
    public Order.Page list(
            @RequestParam long customer,
            @RequestParam(defaultValue = "20") long limit,
            @RequestParam(defaultValue = "0") long after) {
        if (limit < 1 || limit > 50) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST);
        }
        return orders.list(customer, after, (int) limit);
    }

    @PatchMapping("/{id}")
    public ResponseEntity<Order> setStatus(
            @PathVariable long id,
            @RequestHeader(name = "If-Match", required = false) String version,
            @RequestBody Change change) {
        if (version == null) {
            throw new ResponseStatusException(HttpStatus.PRECONDITION_REQUIRED);
        }
        return withVersion(orders.setStatus(id, version, change.status()));
    }

    @DeleteMapping("/{id}")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    public void delete(@PathVariable long id) {
        orders.delete(id);
    }

    private static ResponseEntity<Order> withVersion(Order order) {
        return ResponseEntity.ok().eTag("\"" + order.version() + "\"").body(order);
    }
}
