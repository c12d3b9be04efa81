package service;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.io.File;
import javax.net.ssl.SSLException;

/** TLS with HTTP/2 or HTTP/1.1, as the client prefers. */
final class SecureConnection extends ChannelInitializer<SocketChannel> {
    private final SslContext tls;
    private final ApiHandler handler;

    SecureConnection(SslContext tls, ApiHandler handler) {
        this.tls = tls;
        this.handler = handler;
    }

    static SslContext context() throws SSLException {
        return SslContextBuilder.forServer(new File(System.getenv("TLS_CERT")), new File(System.getenv("TLS_KEY")))
                .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        Protocol.ALPN,
                        SelectorFailureBehavior.NO_ADVERTISE,
                        SelectedListenerFailureBehavior.ACCEPT,
                        ApplicationProtocolNames.HTTP_2,
                        ApplicationProtocolNames.HTTP_1_1))
                .build();
    }

    @Override
    protected void initChannel(SocketChannel channel) {
        channel.pipeline().addLast(
                tls.newHandler(channel.alloc()),
                new ApplicationProtocolNegotiationHandler(ApplicationProtocolNames.HTTP_1_1) {
                    @Override
                    protected void configurePipeline(ChannelHandlerContext context, String protocol) {
                        if (protocol.equals(ApplicationProtocolNames.HTTP_2)) {
                            context.pipeline().addLast(
                                    Http2FrameCodecBuilder.forServer().build(),
                                    new Http2MultiplexHandler(new Stream()));
                        } else {
                            ClearConnection.addHandlers(context.pipeline(), handler);
                        }
                    }

                    /** The peer speaks no TLS, or trusts another certificate: nothing is left to answer, or to log. */
                    @Override
                    protected void handshakeFailure(ChannelHandlerContext context, Throwable cause) {
                        context.close();
                    }
                });
    }

    /** A request and its reply in HTTP/2. */
    private final class Stream extends ChannelInitializer<Channel> {
        @Override
        protected void initChannel(Channel stream) {
            stream.pipeline().addLast(new Http2StreamFrameToHttpObjectCodec(true), handler);
        }
    }
}
