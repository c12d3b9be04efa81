package service;

import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.Row;
import io.vertx.sqlclient.SqlClient;
import io.vertx.sqlclient.SqlConnection;
import io.vertx.sqlclient.Tuple;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A shop's API. */
final class Orders {
    private static final Map<String, List<String>> TRANSITIONS =
            Map.of("open", List.of("paid", "cancelled"), "paid", List.of("shipped", "cancelled"));

    private final Pool database;

    Orders(Pool database) {
        this.database = database;
    }

    void create(RoutingContext context) {
        NewOrder order = NewOrder.read(body(context));
        database.withTransaction(connection -> create(connection, order))
                .onSuccess(created -> {
                    context.response().setStatusCode(201).putHeader("Location", "/orders/" + created.getLong("id"));
                    context.json(created);
                })
                .onFailure(context::fail);
    }

    private static Future<JsonObject> create(SqlConnection connection, NewOrder order) {
        Long[] ids = order.lines().stream().map(NewOrder.Line::product).toArray(Long[]::new);
        return connection
                .preparedQuery("select from customer where id = $1::bigint")
                .execute(Tuple.of(order.customer()))
                .compose(customers -> connection
                        .preparedQuery("select id, price_cents from product where id = any($1::bigint[])")
                        .execute(Tuple.of(ids))
                        .compose(products -> {
                            Map<Long, Integer> prices = new HashMap<>();
                            products.forEach(product -> prices.put(product.getLong("id"), product.getInteger("price_cents")));
                            JsonArray faults = order.faults(customers.rowCount() > 0, prices);
                            return faults.isEmpty()
                                    ? store(connection, order, prices)
                                    : Future.failedFuture(
                                            new Failures.Refusal(422, new JsonObject().put("errors", faults)));
                        }));
    }

    private static Future<JsonObject> store(SqlConnection connection, NewOrder order, Map<Long, Integer> prices) {
        long total = order.lines().stream()
                .mapToLong(line -> line.quantity() * prices.get(line.product()))
                .sum();
        return connection
                .preparedQuery("insert into orders (customer_id, status, note, total_cents)"
                        + " values ($1, 'open', $2, $3) returning *")
                .execute(Tuple.of((int) order.customer(), order.note(), total))
                .compose(inserted -> {
                    Row row = inserted.iterator().next();
                    JsonArray lines = new JsonArray();
                    List<Tuple> batch = new ArrayList<>();
                    for (NewOrder.Line line : order.lines()) {
                        int product = (int) line.product();
                        int quantity = (int) line.quantity();
                        int price = prices.get(line.product());
                        lines.add(line(product, quantity, price));
                        batch.add(Tuple.of(row.getLong("id"), lines.size(), product, quantity, price));
                    }
                    return connection
                            .preparedQuery("insert into order_line (order_id, line, product_id, quantity, price_cents)"
                                    + " values ($1, $2, $3, $4, $5)")
                            .executeBatch(batch)
                            .map(stored -> item(row).put("lines", lines));
                });
    }

    void get(RoutingContext context) {
        find(database, id(context)).onSuccess(order -> show(context, order)).onFailure(context::fail);
    }

    void list(RoutingContext context) {
        long customer = number(context.queryParams().get("customer"), 400);
        long after = number(context.queryParams().contains("after") ? context.queryParams().get("after") : "0", 400);
        long limit = number(context.queryParams().contains("limit") ? context.queryParams().get("limit") : "20", 400);
        if (limit < 1 || limit > 50) {
            throw new Failures.Refusal(400);
        }
        // One more than asked for tells whether there is a next page.
        database.preparedQuery("select * from orders where customer_id = $1::bigint and id > $2 order by id limit $3")
                .execute(Tuple.of(customer, after, limit + 1))
                .onSuccess(rows -> {
                    JsonArray items = new JsonArray();
                    for (Row row : rows) {
                        if (items.size() < limit) {
                            items.add(item(row));
                        }
                    }
                    Long next = rows.size() > limit ? items.getJsonObject(items.size() - 1).getLong("id") : null;
                    context.json(new JsonObject().put("items", items).put("next", next));
                })
                .onFailure(context::fail);
    }

    void setStatus(RoutingContext context) {
        long id = id(context);
        String version = context.request().getHeader("If-Match");
        if (version == null) {
            throw new Failures.Refusal(428);
        }
        if (!(body(context).getValue("status") instanceof String status)) {
            throw new Failures.Refusal(400);
        }
        database.withTransaction(connection -> lock(connection, id).compose(order -> {
                    if (!version.equals("\"" + order.getInteger("version") + "\"")) {
                        return Future.failedFuture(new Failures.Refusal(412));
                    }
                    if (!TRANSITIONS.getOrDefault(order.getString("status"), List.of()).contains(status)) {
                        return Future.failedFuture(new Failures.Refusal(409));
                    }
                    return connection
                            .preparedQuery("update orders set status = $2, version = version + 1 where id = $1")
                            .execute(Tuple.of(id, status))
                            .compose(updated -> find(connection, id));
                }))
                .onSuccess(order -> show(context, order))
                .onFailure(context::fail);
    }

    void delete(RoutingContext context) {
        long id = id(context);
        database.withTransaction(connection -> lock(connection, id).compose(order -> {
                    if (!order.getString("status").equals("open")) {
                        return Future.failedFuture(new Failures.Refusal(409));
                    }
                    return connection.preparedQuery("delete from orders where id = $1").execute(Tuple.of(id));
                }))
                .onSuccess(deleted -> context.response().setStatusCode(204).end())
                .onFailure(context::fail);
    }

    /** Nobody else changes it until the end of the transaction. */
    private static Future<Row> lock(SqlConnection connection, long id) {
        return connection
                .preparedQuery("select status, version from orders where id = $1 for update")
                .execute(Tuple.of(id))
                .compose(rows -> rows.size() == 0
                        ? Future.failedFuture(new Failures.Refusal(404))
                        : Future.succeededFuture(rows.iterator().next()));
    }

    /** In one statement: between two, a deletion would leave an order without lines. */
    private static Future<JsonObject> find(SqlClient client, long id) {
        return client.preparedQuery("select o.*, l.product_id, l.quantity, l.price_cents from orders o"
                        + " join order_line l on l.order_id = o.id where o.id = $1 order by l.line")
                .execute(Tuple.of(id))
                .compose(rows -> {
                    if (rows.size() == 0) {
                        return Future.failedFuture(new Failures.Refusal(404));
                    }
                    JsonArray lines = new JsonArray();
                    rows.forEach(row -> lines.add(line(
                            row.getInteger("product_id"), row.getInteger("quantity"), row.getInteger("price_cents"))));
                    return Future.succeededFuture(item(rows.iterator().next()).put("lines", lines));
                });
    }

    private static void show(RoutingContext context, JsonObject order) {
        context.response().putHeader("ETag", "\"" + order.getInteger("version") + "\"");
        context.json(order);
    }

    private static JsonObject item(Row row) {
        return new JsonObject()
                .put("id", row.getLong("id"))
                .put("customerId", row.getInteger("customer_id"))
                .put("status", row.getString("status"))
                .put("note", row.getString("note"))
                .put("totalCents", row.getLong("total_cents"))
                .put("version", row.getInteger("version"))
                .put("createdAt", DateTimeFormatter.ISO_OFFSET_DATE_TIME.format(row.getOffsetDateTime("created_at")));
    }

    private static JsonObject line(int product, int quantity, int price) {
        return new JsonObject().put("productId", product).put("quantity", quantity).put("priceCents", price);
    }

    private static JsonObject body(RoutingContext context) {
        JsonObject body = context.body().asJsonObject();
        if (body == null) {
            throw new Failures.Refusal(400);
        }
        return body;
    }

    private static long id(RoutingContext context) {
        return number(context.pathParam("id"), 404);
    }

    /** The number that the text is; for any other text, the request is answered with this status. */
    private static long number(String text, int status) {
        if (text == null || !text.matches("[0-9]{1,18}")) {
            throw new Failures.Refusal(status);
        }
        return Long.parseLong(text);
    }
}
