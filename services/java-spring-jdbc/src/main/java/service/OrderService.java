package service;

import java.util.List;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.server.ResponseStatusException;

@Service
public class OrderService {
    private static final Map<String, List<String>> TRANSITIONS =
            Map.of("open", List.of("paid", "cancelled"), "paid", List.of("shipped", "cancelled"));

    private final OrderRepository orders;

    public OrderService(OrderRepository orders) {
        this.orders = orders;
    }

    @Transactional
    public Order create(NewOrder order) {
        boolean known = orders.isCustomer(order.customerId());
        Map<Long, Integer> prices =
                orders.prices(order.lines().stream().map(NewOrder.Line::productId).toList());
        List<NewOrder.Fault> faults = order.faults(known, prices);
        if (!faults.isEmpty()) {
            throw new InvalidOrder(faults);
        }
        List<Order.Line> lines = order.lines().stream()
                .map(line -> new Order.Line(
                        line.productId().intValue(), line.quantity().intValue(), prices.get(line.productId())))
                .toList();
        return orders.create(order.customerId(), order.note(), lines);
    }

    public Order get(long id) {
        return orders.find(id).orElseThrow(OrderService::unknown);
    }

    public Order.Page list(long customer, long after, int limit) {
        // One more than asked for tells whether there is a next page.
        List<Order.Item> found = orders.list(customer, after, limit + 1);
        return found.size() > limit
                ? new Order.Page(found.subList(0, limit), found.get(limit - 1).id())
                : new Order.Page(found, null);
    }

    @Transactional
    public Order setStatus(long id, String version, String status) {
        OrderRepository.State state = orders.lock(id).orElseThrow(OrderService::unknown);
        if (!version.equals("\"" + state.version() + "\"")) {
            throw new ResponseStatusException(HttpStatus.PRECONDITION_FAILED);
        }
        if (!TRANSITIONS.getOrDefault(state.status(), List.of()).contains(status)) {
            throw new ResponseStatusException(HttpStatus.CONFLICT);
        }
        orders.setStatus(id, status);
        return get(id);
    }

    @Transactional
    public void delete(long id) {
        OrderRepository.State state = orders.lock(id).orElseThrow(OrderService::unknown);
        if (!state.status().equals("open")) {
            throw new ResponseStatusException(HttpStatus.CONFLICT);
        }
        orders.delete(id);
    }

    private static ResponseStatusException unknown() {
        return new ResponseStatusException(HttpStatus.NOT_FOUND);
    }
}
