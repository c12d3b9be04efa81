package service.current;

import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.socket.BinaryMessage;
import org.springframework.web.socket.CloseStatus;
import org.springframework.web.socket.TextMessage;
import org.springframework.web.socket.WebSocketMessage;
import org.springframework.web.socket.WebSocketSession;
import org.springframework.web.socket.config.annotation.WebSocketConfigurer;
import org.springframework.web.socket.config.annotation.WebSocketHandlerRegistry;
import org.springframework.web.socket.handler.AbstractWebSocketHandler;

/** What one member says goes to all members of its room. */
@Configuration
public class RoomConfiguration implements WebSocketConfigurer {
    static final String PATH = "/ws/room/";
    /** Messages that wait for a member who reads slowly; with one more it is dropped. */
    private static final int QUEUE_LENGTH = 256;

    @Override
    public void registerWebSocketHandlers(WebSocketHandlerRegistry registry) {
        registry.addHandler(new Rooms(), PATH + "{name}");
    }

    private static final class Rooms extends AbstractWebSocketHandler {
        private final ConcurrentMap<String, ConcurrentMap<String, Member>> rooms = new ConcurrentHashMap<>();

        private static String name(WebSocketSession session) {
            return session.getUri().getPath().substring(PATH.length());
        }

        @Override
        public void afterConnectionEstablished(WebSocketSession session) {
            Member member = new Member(session);
            rooms.compute(name(session), (name, members) -> {
                ConcurrentMap<String, Member> all = members == null ? new ConcurrentHashMap<>() : members;
                all.put(session.getId(), member);
                return all;
            });
            Thread writer = new Thread(member, "member " + session.getId());
            writer.setDaemon(true);
            writer.start();
        }

        @Override
        protected void handleTextMessage(WebSocketSession session, TextMessage message) {
            say(session, message);
        }

        @Override
        protected void handleBinaryMessage(WebSocketSession session, BinaryMessage message) {
            say(session, message);
        }

        private void say(WebSocketSession session, WebSocketMessage<?> message) {
            // One after the other, so that all members hear the same order.
            rooms.computeIfPresent(name(session), (name, members) -> {
                members.values().forEach(member -> member.hear(own(message)));
                return members;
            });
        }

        /** To send a buffer moves its position: each member gets a view of its own. */
        private static WebSocketMessage<?> own(WebSocketMessage<?> message) {
            return message instanceof BinaryMessage binary ? new BinaryMessage(binary.getPayload().duplicate()) : message;
        }

        @Override
        public void afterConnectionClosed(WebSocketSession session, CloseStatus status) {
            rooms.computeIfPresent(name(session), (name, members) -> {
                Member member = members.remove(session.getId());
                if (member != null) {
                    member.leave();
                }
                return members.isEmpty() ? null : members;
            });
        }
    }

    /** A member whose messages are sent by a thread of its own: nobody else waits for it. */
    private static final class Member implements Runnable {
        private static final WebSocketMessage<?> END = new TextMessage("");

        private final WebSocketSession session;
        private final BlockingQueue<WebSocketMessage<?>> queue = new LinkedBlockingQueue<>(QUEUE_LENGTH);

        Member(WebSocketSession session) {
            this.session = session;
        }

        void hear(WebSocketMessage<?> message) {
            if (!queue.offer(message)) {
                leave();
            }
        }

        void leave() {
            queue.clear();
            queue.offer(END);
        }

        @Override
        public void run() {
            try {
                for (WebSocketMessage<?> next = queue.take(); next != END; next = queue.take()) {
                    session.sendMessage(next);
                }
                session.close();
            } catch (IOException | IllegalStateException | InterruptedException gone) {
                // It has left: nobody is there to be told.
            }
        }
    }
}
