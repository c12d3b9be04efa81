package service;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What a client asks for. */
record NewOrder(long customer, String note, List<Line> lines) {
    record Line(long product, long quantity) {}

    /** A body that lacks a member, or holds a wrong kind of value, is a 400. */
    static NewOrder read(JsonObject body) {
        String note = (String) body.getValue("note");
        // PostgreSQL has no text with NUL.
        if (note != null && note.indexOf('\0') >= 0) {
            throw new Failures.Refusal(400);
        }
        List<Line> lines = new ArrayList<>();
        for (Object line : required((JsonArray) body.getValue("lines"))) {
            JsonObject object = required((JsonObject) line);
            lines.add(new Line(integer(object.getValue("productId")), integer(object.getValue("quantity"))));
        }
        return new NewOrder(integer(body.getValue("customerId")), note, lines);
    }

    private static <T> T required(T value) {
        if (value == null) {
            throw new Failures.Refusal(400);
        }
        return value;
    }

    private static long integer(Object value) {
        if (value instanceof Integer || value instanceof Long) {
            return ((Number) value).longValue();
        }
        throw new Failures.Refusal(400);
    }

    /** All that is wrong with it; the prices are those of the products that there are. */
    JsonArray faults(boolean customerIsKnown, Map<Long, Integer> prices) {
        JsonArray faults = new JsonArray();
        if (!customerIsKnown) {
            faults.add(fault("customerId", "unknown"));
        }
        if (note != null && note.codePointCount(0, note.length()) > 500) {
            faults.add(fault("note", "length"));
        }
        if (lines.isEmpty() || lines.size() > 20) {
            faults.add(fault("lines", "range"));
        }
        for (int number = 0; number < lines.size(); number++) {
            if (!prices.containsKey(lines.get(number).product())) {
                faults.add(fault("lines[" + number + "].productId", "unknown"));
            }
            if (lines.get(number).quantity() < 1 || lines.get(number).quantity() > 1000) {
                faults.add(fault("lines[" + number + "].quantity", "range"));
            }
        }
        return faults;
    }

    private static JsonObject fault(String field, String code) {
        return new JsonObject().put("field", field).put("code", code);
    }
}
