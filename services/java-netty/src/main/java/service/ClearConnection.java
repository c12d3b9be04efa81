package service;

import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerExpectContinueHandler;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;

/** HTTP/1.1. */
final class ClearConnection extends ChannelInitializer<SocketChannel> {
    /** The default, 8 KiB for all headers of a request, is tight for a hundred of them. */
    private static final int MAX_HEADER_BYTES = 64 * 1024;

    private final ApiHandler handler;

    ClearConnection(ApiHandler handler) {
        this.handler = handler;
    }

    @Override
    protected void initChannel(SocketChannel channel) {
        addHandlers(channel.pipeline(), handler);
    }

    static void addHandlers(ChannelPipeline pipeline, ApiHandler handler) {
        pipeline.addLast(
                new HttpServerCodec(new HttpDecoderConfig().setMaxHeaderSize(MAX_HEADER_BYTES)),
                new HttpServerKeepAliveHandler(),
                new HttpServerExpectContinueHandler(),
                handler);
    }
}
