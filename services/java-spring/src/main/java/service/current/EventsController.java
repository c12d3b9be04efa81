package service.current;

import jakarta.annotation.PreDestroy;
import java.io.IOException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/** Numbered events, each sent when its time has come, by as many threads as there are processors. */
@RestController
public class EventsController {
    public record Tick(int n, int of) {}

    private final ScheduledExecutorService threads =
            Executors.newScheduledThreadPool(Runtime.getRuntime().availableProcessors());

    @GetMapping("/events")
    public SseEmitter events(@RequestParam String count, @RequestParam("gap_us") String gap) {
        int of = number(count, 1, 10_000);
        int gapUs = number(gap, 0, 1_000_000);
        // It lasts as long as it lasts.
        SseEmitter emitter = new SseEmitter(0L);
        threads.execute(() -> send(emitter, 1, of, gapUs));
        return emitter;
    }

    private void send(SseEmitter emitter, int first, int of, int gapUs) {
        try {
            for (int n = first; n <= of; n++) {
                emitter.send(SseEmitter.event().id(String.valueOf(n)).name("tick").data(new Tick(n, of)));
                if (gapUs > 0 && n < of) {
                    int next = n + 1;
                    threads.schedule(() -> send(emitter, next, of, gapUs), gapUs, TimeUnit.MICROSECONDS);
                    return;
                }
            }
            emitter.send(SseEmitter.event().name("end").data("bye"));
            emitter.complete();
        } catch (IOException | IllegalStateException left) {
            // The client has left, and the container has seen it, too: nothing goes on for it.
        }
    }

    /** Spring's own conversion takes 0x10 for a number. */
    private static int number(String text, int least, int most) {
        int number = text.matches("[0-9]{1,7}") ? Integer.parseInt(text) : -1;
        if (number < least || number > most) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST);
        }
        return number;
    }

    @PreDestroy
    void stop() {
        threads.shutdownNow();
    }
}
