package service;

import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.RoutingContext;

/** Numbered events, each sent when its time has come. */
final class Events {
    private static final int MOST_EVENTS = 10_000;
    private static final int LONGEST_GAP_US = 1_000_000;

    private final Vertx vertx;
    private final HttpServerResponse response;
    private final int count;
    private final long gapMs;
    private int sent;

    private Events(RoutingContext context, int count, int gapUs) {
        this.vertx = context.vertx();
        this.response = context.response();
        this.count = count;
        // Timers count whole milliseconds.
        this.gapMs = (gapUs + 999) / 1000;
    }

    static void answer(RoutingContext context) {
        int count = number(context.request().getParam("count"), 1, MOST_EVENTS);
        int gapUs = number(context.request().getParam("gap_us"), 0, LONGEST_GAP_US);
        if (count < 0 || gapUs < 0) {
            context.response().setStatusCode(400).end("count must be from 1 to 10000, gap_us from 0 to 1000000");
            return;
        }
        context.response()
                .setChunked(true)
                .putHeader("Content-Type", "text/event-stream")
                .putHeader("Cache-Control", "no-cache");
        new Events(context, count, gapUs).send();
    }

    /** Sends what can be sent now. Of a client that has left, nothing calls it again. */
    private void send() {
        while (!response.closed()) {
            if (sent == count) {
                response.end("event: end\ndata: bye\n\n");
                return;
            }
            sent++;
            response.write("id: " + sent + "\nevent: tick\ndata: {\"n\":" + sent + ",\"of\":" + count + "}\n\n");
            if (gapMs > 0 && sent < count) {
                vertx.setTimer(gapMs, timer -> send());
                return;
            }
            if (response.writeQueueFull()) {
                response.drainHandler(drained -> send());
                return;
            }
        }
    }

    /** An integer from least to most, or -1. */
    private static int number(String text, int least, int most) {
        int number = text != null && text.matches("[0-9]{1,7}") ? Integer.parseInt(text) : -1;
        return least <= number && number <= most ? number : -1;
    }
}
