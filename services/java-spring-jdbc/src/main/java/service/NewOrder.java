package service;

import static java.util.Objects.requireNonNull;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What a client asks for. A body that lacks a member, or holds a wrong kind of value, is a 400. */
public record NewOrder(Long customerId, String note, List<Line> lines) {
    public NewOrder {
        requireNonNull(customerId, "customerId");
        lines = List.copyOf(lines);
        if (note != null && note.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("PostgreSQL has no text with NUL");
        }
    }

    public record Line(Long productId, Long quantity) {
        public Line {
            requireNonNull(productId, "productId");
            requireNonNull(quantity, "quantity");
        }
    }

    public record Fault(String field, String code) {}

    /** All that is wrong with it; the prices are those of the products that there are. */
    public List<Fault> faults(boolean customerIsKnown, Map<Long, Integer> prices) {
        List<Fault> faults = new ArrayList<>();
        if (!customerIsKnown) {
            faults.add(new Fault("customerId", "unknown"));
        }
        if (note != null && note.codePointCount(0, note.length()) > 500) {
            faults.add(new Fault("note", "length"));
        }
        if (lines.isEmpty() || lines.size() > 20) {
            faults.add(new Fault("lines", "range"));
        }
        for (int number = 0; number < lines.size(); number++) {
            Line line = lines.get(number);
            if (!prices.containsKey(line.productId())) {
                faults.add(new Fault("lines[" + number + "].productId", "unknown"));
            }
            if (line.quantity() < 1 || line.quantity() > 1000) {
                faults.add(new Fault("lines[" + number + "].quantity", "range"));
            }
        }
        return faults;
    }
}
