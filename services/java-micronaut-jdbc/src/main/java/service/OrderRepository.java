package service;

import jakarta.inject.Singleton;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

@Singleton
public class OrderRepository {
    /** What a change needs to know of an order. */
    public record State(String status, int version) {}

    public boolean isCustomer(Connection connection, long id) throws SQLException {
        return !Database.query(connection, "select from customer where id = ?", row -> true, id).isEmpty();
    }

    /** The prices of those of these products that there are. */
    public Map<Long, Integer> prices(Connection connection, List<Long> products) throws SQLException {
        Map<Long, Integer> prices = new HashMap<>();
        Database.query(
                connection,
                "select id, price_cents from product where id = any(?)",
                row -> prices.put(row.getLong("id"), row.getInt("price_cents")),
                (Object) products.toArray(Long[]::new));
        return prices;
    }

    public Order create(Connection connection, long customer, String note, List<Order.Line> lines) throws SQLException {
        long total = lines.stream().mapToLong(line -> (long) line.quantity() * line.priceCents()).sum();
        Order.Item order = Database.query(
                        connection,
                        "insert into orders (customer_id, status, note, total_cents) values (?, 'open', ?, ?) returning *",
                        OrderRepository::item,
                        customer,
                        note,
                        total)
                .get(0);
        try (PreparedStatement statement = connection.prepareStatement(
                "insert into order_line (order_id, line, product_id, quantity, price_cents) values (?, ?, ?, ?, ?)")) {
            for (int number = 0; number < lines.size(); number++) {
                statement.setLong(1, order.id());
                statement.setInt(2, number + 1);
                statement.setInt(3, lines.get(number).productId());
                statement.setInt(4, lines.get(number).quantity());
                statement.setInt(5, lines.get(number).priceCents());
                statement.addBatch();
            }
            statement.executeBatch();
        }
        return order.with(lines);
    }

    /** In one statement: between two, a deletion would leave an order without lines. */
    public Optional<Order> find(Connection connection, long id) throws SQLException {
        record Row(Order.Item item, Order.Line line) {}
        List<Row> rows = Database.query(
                connection,
                "select o.*, l.product_id, l.quantity, l.price_cents from orders o join order_line l on l.order_id = o.id"
                        + " where o.id = ? order by l.line",
                row -> new Row(item(row), line(row)),
                id);
        return rows.stream().findFirst().map(first -> first.item().with(rows.stream().map(Row::line).toList()));
    }

    public List<Order.Item> list(Connection connection, long customer, long after, long limit) throws SQLException {
        return Database.query(
                connection,
                "select * from orders where customer_id = ? and id > ? order by id limit ?",
                OrderRepository::item,
                customer,
                after,
                limit);
    }

    /** Nobody else changes it until the end of the transaction. */
    public Optional<State> lock(Connection connection, long id) throws SQLException {
        return Database.query(
                        connection,
                        "select status, version from orders where id = ? for update",
                        row -> new State(row.getString("status"), row.getInt("version")),
                        id)
                .stream()
                .findFirst();
    }

    public void setStatus(Connection connection, long id, String status) throws SQLException {
        Database.update(connection, "update orders set status = ?, version = version + 1 where id = ?", status, id);
    }

    public void delete(Connection connection, long id) throws SQLException {
        Database.update(connection, "delete from orders where id = ?", id);
    }

    private static Order.Item item(ResultSet row) throws SQLException {
        return new Order.Item(
                row.getLong("id"),
                row.getInt("customer_id"),
                row.getString("status"),
                row.getString("note"),
                row.getLong("total_cents"),
                row.getInt("version"),
                row.getObject("created_at", OffsetDateTime.class));
    }

    private static Order.Line line(ResultSet row) throws SQLException {
        return new Order.Line(row.getInt("product_id"), row.getInt("quantity"), row.getInt("price_cents"));
    }
}
