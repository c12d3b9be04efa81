package service;

import static java.util.Objects.requireNonNull;

import io.micronaut.core.annotation.Nullable;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Delete;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.Patch;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.net.URI;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

@Controller("/orders")
@ExecuteOn(TaskExecutors.BLOCKING)
public class OrdersController {
    public record Change(String status) {
        public Change {
            requireNonNull(status, "status");
        }
    }

    private static final Map<String, List<String>> TRANSITIONS =
            Map.of("open", List.of("paid", "cancelled"), "paid", List.of("shipped", "cancelled"));

    private final Database database;
    private final OrderRepository orders;

    public OrdersController(Database database, OrderRepository orders) {
        this.database = database;
        this.orders = orders;
    }

    @Post
    public HttpResponse<Order> create(@Body NewOrder order) throws SQLException {
        Order created = database.transaction(connection -> store(connection, order));
        return HttpResponse.created(created, URI.create("/orders/" + created.id()));
    }

    private Order store(Connection connection, NewOrder order) throws SQLException {
        boolean known = orders.isCustomer(connection, order.customerId());
        Map<Long, Integer> prices = orders.prices(
                connection, order.lines().stream().map(NewOrder.Line::productId).toList());
        List<NewOrder.Fault> faults = order.faults(known, prices);
        if (!faults.isEmpty()) {
            throw new InvalidOrder(faults);
        }
        List<Order.Line> lines = order.lines().stream()
                .map(line -> new Order.Line(
                        line.productId().intValue(), line.quantity().intValue(), prices.get(line.productId())))
                .toList();
        return orders.create(connection, order.customerId(), order.note(), lines);
    }

    @Get("/{id}")
    public HttpResponse<Order> get(long id) throws SQLException {
        return withVersion(database.connected(connection -> found(connection, id)));
    }

    @Get
    public Order.Page list(
            @QueryValue long customer,
            @QueryValue(defaultValue = "20") long limit,
            @QueryValue(defaultValue = "0") long after)
            throws SQLException {
        if (limit < 1 || limit > 50) {
            throw refusal(HttpStatus.BAD_REQUEST);
        }
        // One more than asked for tells whether there is a next page.
        List<Order.Item> found =
                database.connected(connection -> orders.list(connection, customer, after, limit + 1));
        return found.size() > limit
                ? new Order.Page(found.subList(0, (int) limit), found.get((int) limit - 1).id())
                : new Order.Page(found, null);
    }

    @Patch("/{id}")
    public HttpResponse<Order> setStatus(long id, @Nullable @Header("If-Match") String version, @Body Change change)
            throws SQLException {
        if (version == null) {
            throw refusal(HttpStatus.PRECONDITION_REQUIRED);
        }
        return withVersion(database.transaction(connection -> {
            OrderRepository.State state = locked(connection, id);
            if (!version.equals("\"" + state.version() + "\"")) {
                throw refusal(HttpStatus.PRECONDITION_FAILED);
            }
            if (!TRANSITIONS.getOrDefault(state.status(), List.of()).contains(change.status())) {
                throw refusal(HttpStatus.CONFLICT);
            }
            orders.setStatus(connection, id, change.status());
            return found(connection, id);
        }));
    }

    @Delete("/{id}")
    public HttpResponse<Void> delete(long id) throws SQLException {
        return database.transaction(connection -> {
            if (!locked(connection, id).status().equals("open")) {
                throw refusal(HttpStatus.CONFLICT);
            }
            orders.delete(connection, id);
            return HttpResponse.noContent();
        });
    }

    private Order found(Connection connection, long id) throws SQLException {
        return orders.find(connection, id).orElseThrow(() -> refusal(HttpStatus.NOT_FOUND));
    }

    private OrderRepository.State locked(Connection connection, long id) throws SQLException {
        return orders.lock(connection, id).orElseThrow(() -> refusal(HttpStatus.NOT_FOUND));
    }

    private static HttpStatusException refusal(HttpStatus status) {
        return new HttpStatusException(status, status.getReason());
    }

    private static HttpResponse<Order> withVersion(Order order) {
        return HttpResponse.ok(order).header("ETag", "\"" + order.version() + "\"");
    }
}
