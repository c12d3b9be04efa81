package service;

import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.common.template.TemplateEngine;
import io.vertx.ext.web.templ.pebble.PebbleTemplateEngine;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.Row;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** A page with a table. */
final class Fortunes implements Handler<RoutingContext> {
    public record Fortune(int id, String message) {}

    /** Texts of Java compare by halves of surrogate pairs. */
    private static final Comparator<Fortune> BY_CODE_POINTS =
            Comparator.comparing(fortune -> fortune.message().codePoints().toArray(), Arrays::compare);

    private final Pool database;
    private final TemplateEngine templates;

    Fortunes(Vertx vertx, Pool database) {
        this.database = database;
        this.templates = PebbleTemplateEngine.create(vertx);
    }

    @Override
    public void handle(RoutingContext context) {
        String nonce = context.queryParams().get("nonce");
        if (nonce == null) {
            throw new Failures.Refusal(400);
        }
        database.preparedQuery("select id, message from fortune")
                .execute()
                .compose(rows -> {
                    List<Fortune> fortunes = new ArrayList<>(rows.size() + 1);
                    for (Row row : rows) {
                        fortunes.add(new Fortune(row.getInteger("id"), row.getString("message")));
                    }
                    fortunes.add(new Fortune(0, "Additional fortune: " + nonce));
                    fortunes.sort(BY_CODE_POINTS);
                    return templates.render(Map.of("fortunes", fortunes), "templates/fortunes.peb");
                })
                .onSuccess(page -> context.response()
                        .putHeader("Content-Type", "text/html; charset=utf-8")
                        .end(page))
                .onFailure(context::fail);
    }
}
