package service;

import java.time.OffsetDateTime;
import java.util.List;

/** An order with its lines. */
public record Order(
        long id,
        int customerId,
        String status,
        String note,
        long totalCents,
        int version,
        OffsetDateTime createdAt,
        List<Line> lines) {
    public record Line(int productId, int quantity, int priceCents) {}

    /** An order as lists have it: without lines. */
    public record Item(
            long id, int customerId, String status, String note, long totalCents, int version, OffsetDateTime createdAt) {
        public Order with(List<Line> lines) {
            return new Order(id, customerId, status, note, totalCents, version, createdAt, lines);
        }
    }

    public record Page(List<Item> items, Long next) {}
}
