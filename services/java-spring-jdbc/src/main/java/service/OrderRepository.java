package service;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.RowMapper;
import org.springframework.jdbc.core.SimplePropertyRowMapper;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

@Repository
public class OrderRepository {
    /** What a change needs to know of an order. */
    public record State(String status, int version) {}

    private record Product(long id, int priceCents) {}

    private static final String ITEM = "id, customer_id, status, note, total_cents, version, created_at";

    private static final RowMapper<Order.Item> ITEMS = new SimplePropertyRowMapper<>(Order.Item.class);
    private static final RowMapper<Order.Line> LINES = new SimplePropertyRowMapper<>(Order.Line.class);

    private final JdbcClient database;
    private final JdbcTemplate batches;

    public OrderRepository(JdbcClient database, JdbcTemplate batches) {
        this.database = database;
        this.batches = batches;
    }

    public boolean isCustomer(long id) {
        return database.sql("select exists (select from customer where id = ?)")
                .param(id)
                .query(Boolean.class)
                .single();
    }

    /** The prices of those of these products that there are. */
    public Map<Long, Integer> prices(List<Long> products) {
        return database.sql("select id, price_cents from product where id = any(?)")
                .param(products.toArray(Long[]::new))
                .query(Product.class)
                .stream()
                .collect(Collectors.toMap(Product::id, Product::priceCents));
    }

    public Order create(long customer, String note, List<Order.Line> lines) {
        long total = lines.stream().mapToLong(line -> (long) line.quantity() * line.priceCents()).sum();
        Order.Item order = database.sql("insert into orders (customer_id, status, note, total_cents)"
                        + " values (?, 'open', ?, ?) returning " + ITEM)
                .params(customer, note, total)
                .query(Order.Item.class)
                .single();
        batches.batchUpdate(
                "insert into order_line (order_id, line, product_id, quantity, price_cents) values (?, ?, ?, ?, ?)",
                IntStream.range(0, lines.size())
                        .mapToObj(number -> {
                            Order.Line line = lines.get(number);
                            return new Object[] {
                                order.id(), number + 1, line.productId(), line.quantity(), line.priceCents()
                            };
                        })
                        .toList());
        return order.with(lines);
    }

    /** In one statement: between two, a deletion would leave an order without lines. */
    public Optional<Order> find(long id) {
        record Row(Order.Item item, Order.Line line) {}
        List<Row> rows = database.sql("select o.*, l.product_id, l.quantity, l.price_cents from orders o"
                        + " join order_line l on l.order_id = o.id where o.id = ? order by l.line")
                .param(id)
                .query((row, number) -> new Row(ITEMS.mapRow(row, number), LINES.mapRow(row, number)))
                .list();
        return rows.stream().findFirst().map(first -> first.item().with(rows.stream().map(Row::line).toList()));
    }

    public List<Order.Item> list(long customer, long after, long limit) {
        return database.sql("select " + ITEM + " from orders where customer_id = ? and id > ? order by id limit ?")
                .params(customer, after, limit)
                .query(Order.Item.class)
                .list();
    }

    /** Nobody else changes it until the end of the transaction. */
    public Optional<State> lock(long id) {
        return database.sql("select status, version from orders where id = ? for update")
                .param(id)
                .query(State.class)
                .optional();
    }

    public void setStatus(long id, String status) {
        database.sql("update orders set status = ?, version = version + 1 where id = ?").params(status, id).update();
    }

    public void delete(long id) {
        database.sql("delete from orders where id = ?").param(id).update();
    }
}
