package service;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler.HandshakeComplete;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.regex.Pattern;

/** What one member says goes to all members of its room. */
final class Room {
    private static final String PATH = "/ws/room/";
    private static final Pattern ROOM = Pattern.compile(PATH + "[A-Za-z0-9_-]{1,64}");

    private static final int LONGEST_HANDSHAKE = 8192;
    private static final int LONGEST_MESSAGE = 1024 * 1024;
    /** A member for whom more bytes wait reads too slowly, and is dropped. */
    private static final int LONGEST_QUEUE = 16 * 1024 * 1024;

    private static final WebSocketServerProtocolConfig CONFIG = WebSocketServerProtocolConfig.newBuilder()
            .websocketPath(PATH.substring(0, PATH.length() - 1))
            .checkStartsWith(true)
            .maxFramePayloadLength(LONGEST_MESSAGE)
            // Otherwise a connection that was closed for what came is closed once more, with 1000.
            .sendCloseFrame(null)
            .build();
    private static final ConcurrentMap<String, Room> ROOMS = new ConcurrentHashMap<>();

    /** All of a room is done by one event loop: that is the order for all. */
    private final EventLoop loop;
    private final ChannelGroup members;
    private int count;

    private Room(EventLoop loop) {
        this.loop = loop;
        this.members = new DefaultChannelGroup(loop);
    }

    static boolean isRoom(String uri) {
        return ROOM.matcher(uri).matches();
    }

    /** Lets a connection speak WebSocket from here on. */
    static void begin(ChannelPipeline pipeline) {
        pipeline.addLast(
                new HttpObjectAggregator(LONGEST_HANDSHAKE),
                new WebSocketServerProtocolHandler(CONFIG),
                new WebSocketFrameAggregator(LONGEST_MESSAGE),
                new Member());
    }

    private static Room enter(String name, Channel channel) {
        return ROOMS.compute(name, (key, known) -> {
            Room room = known == null ? new Room(channel.eventLoop()) : known;
            room.count++;
            room.loop.execute(() -> room.members.add(channel));
            return room;
        });
    }

    private static void leave(String name) {
        // The group forgets a channel that is closed by itself.
        ROOMS.computeIfPresent(name, (key, room) -> --room.count == 0 ? null : room);
    }

    private void say(WebSocketFrame frame) {
        loop.execute(() -> {
            members.close(member -> !member.isWritable());
            members.writeAndFlush(frame);
        });
    }

    private static final class Member extends SimpleChannelInboundHandler<WebSocketFrame> {
        private String name;
        private Room room;

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (event instanceof HandshakeComplete handshake) {
                Channel channel = context.channel();
                channel.config().setOption(
                        ChannelOption.WRITE_BUFFER_WATER_MARK,
                        new WriteBufferWaterMark(LONGEST_QUEUE / 2, LONGEST_QUEUE));
                name = handshake.requestUri().substring(PATH.length());
                room = enter(name, channel);
            }
            context.fireUserEventTriggered(event);
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, WebSocketFrame frame) {
            room.say(frame.retain());
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            if (room != null) {
                leave(name);
            }
            context.fireChannelInactive();
        }

        /** The peer is gone or sends what no one can read; it was told so. */
        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }
}
