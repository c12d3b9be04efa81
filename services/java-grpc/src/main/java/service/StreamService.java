package service;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import prony.stream.Stream.Message;
import prony.stream.Stream.Number;
import prony.stream.Stream.Sum;
import prony.stream.Stream.Tick;
import prony.stream.Stream.TickRequest;
import prony.stream.StreamServiceGrpc;

final class StreamService extends StreamServiceGrpc.StreamServiceImplBase {
    private static final int MOST_TICKS = 10_000;
    private static final int LONGEST_GAP_US = 1_000_000;

    private final ScheduledExecutorService timer =
            Executors.newScheduledThreadPool(Runtime.getRuntime().availableProcessors(), task -> {
                Thread thread = new Thread(task, "timer");
                thread.setDaemon(true);
                return thread;
            });

    @Override
    public void tick(TickRequest request, StreamObserver<Tick> observer) {
        if (request.getCount() < 1 || request.getCount() > MOST_TICKS) {
            refuse(observer, "count is 1 to " + MOST_TICKS);
        } else if (request.getGapUs() < 0 || request.getGapUs() > LONGEST_GAP_US) {
            refuse(observer, "gap_us is 0 to " + LONGEST_GAP_US);
        } else {
            ServerCallStreamObserver<Tick> call = (ServerCallStreamObserver<Tick>) observer;
            // Without a handler, what is sent after the client has left would throw.
            call.setOnCancelHandler(() -> {});
            Ticks ticks = new Ticks(call, request);
            if (request.getGapUs() == 0) {
                call.setOnReadyHandler(ticks::sendReady);
            } else {
                ticks.sendNext();
            }
        }
    }

    private static void refuse(StreamObserver<Tick> observer, String why) {
        observer.onError(Status.INVALID_ARGUMENT.withDescription(why).asRuntimeException());
    }

    @Override
    public StreamObserver<Number> sum(StreamObserver<Sum> observer) {
        return new StreamObserver<>() {
            private long count;
            private long total;

            @Override
            public void onNext(Number number) {
                count += 1;
                total += number.getValue();
            }

            @Override
            public void onError(Throwable cancelled) {}

            @Override
            public void onCompleted() {
                observer.onNext(Sum.newBuilder().setCount(count).setTotal(total).build());
                observer.onCompleted();
            }
        };
    }

    @Override
    public StreamObserver<Message> echo(StreamObserver<Message> observer) {
        return new StreamObserver<>() {
            @Override
            public void onNext(Message message) {
                observer.onNext(message);
            }

            @Override
            public void onError(Throwable cancelled) {}

            @Override
            public void onCompleted() {
                observer.onCompleted();
            }
        };
    }

    /** The messages of one call. */
    private final class Ticks {
        private final ServerCallStreamObserver<Tick> call;
        private final TickRequest request;
        private int sent;

        Ticks(ServerCallStreamObserver<Tick> call, TickRequest request) {
            this.call = call;
            this.request = request;
        }

        /** Sends as many as the client takes now. */
        void sendReady() {
            while (sent < request.getCount() && call.isReady()) {
                send();
            }
        }

        /** Sends one, and the next one when its time has come. */
        void sendNext() {
            if (call.isCancelled()) {
                return;
            }
            send();
            if (sent < request.getCount()) {
                timer.schedule(this::sendNext, request.getGapUs(), TimeUnit.MICROSECONDS);
            }
        }

        private void send() {
            sent += 1;
            call.onNext(Tick.newBuilder().setN(sent).setOf(request.getCount()).build());
            if (sent == request.getCount()) {
                call.onCompleted();
            }
        }
    }
}
