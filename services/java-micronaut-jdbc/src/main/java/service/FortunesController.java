package service;

import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import io.micronaut.views.View;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

@Controller("/fortunes")
@ExecuteOn(TaskExecutors.BLOCKING)
public class FortunesController {
    public record Fortune(int id, String message) {}

    /** Texts of Java compare by halves of surrogate pairs. */
    private static final Comparator<Fortune> BY_CODE_POINTS =
            Comparator.comparing(fortune -> fortune.message().codePoints().toArray(), Arrays::compare);

    private final Database database;

    public FortunesController(Database database) {
        this.database = database;
    }

    @View("fortunes")
    @Get(produces = "text/html; charset=utf-8")
    public Map<String, Object> fortunes(@QueryValue String nonce) throws SQLException {
        List<Fortune> fortunes = new ArrayList<>(database.connected(connection -> Database.query(
                connection,
                "select id, message from fortune",
                row -> new Fortune(row.getInt("id"), row.getString("message")))));
        fortunes.add(new Fortune(0, "Additional fortune: " + nonce));
        fortunes.sort(BY_CODE_POINTS);
        return Map.of("fortunes", fortunes);
    }
}
