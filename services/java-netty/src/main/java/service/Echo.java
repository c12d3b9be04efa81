package service;

import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;

/** Each message of a WebSocket comes back; pings and closes are answered by the handlers of Netty before this one. */
@Sharable
final class Echo extends SimpleChannelInboundHandler<WebSocketFrame> {
    static final String PATH = "/ws/echo";

    private static final int LONGEST_HANDSHAKE = 8192;
    private static final int LONGEST_MESSAGE = 1024 * 1024;
    private static final Echo INSTANCE = new Echo();
    private static final WebSocketServerProtocolConfig CONFIG = WebSocketServerProtocolConfig.newBuilder()
            .websocketPath(PATH)
            .maxFramePayloadLength(LONGEST_MESSAGE)
            // Otherwise a connection that was closed for what came is closed once more, with 1000.
            .sendCloseFrame(null)
            .build();

    /** Lets a connection speak WebSocket from here on. */
    static void begin(ChannelPipeline pipeline) {
        pipeline.addLast(
                new HttpObjectAggregator(LONGEST_HANDSHAKE),
                new WebSocketServerProtocolHandler(CONFIG),
                new WebSocketFrameAggregator(LONGEST_MESSAGE),
                INSTANCE);
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, WebSocketFrame frame) {
        context.write(frame.retain());
    }

    /** One flush for all the messages that arrived together. */
    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    /** The peer is gone or sends what no one can read; it was told so. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }
}
