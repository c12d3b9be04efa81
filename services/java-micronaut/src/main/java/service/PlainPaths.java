package service;

import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.http.netty.channel.ChannelPipelineCustomizer;
import io.micronaut.http.server.netty.NettyServerCustomizer;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.regex.Pattern;

/** Micronaut compares a path as it was sent: one with escapes that need not be there would be unknown. */
@Singleton
public class PlainPaths implements BeanCreatedEventListener<NettyServerCustomizer.Registry> {
    @Override
    public NettyServerCustomizer.Registry onCreated(BeanCreatedEvent<NettyServerCustomizer.Registry> event) {
        NettyServerCustomizer.Registry registry = event.getBean();
        registry.register(new Customizer(null));
        return registry;
    }

    private record Customizer(Channel channel) implements NettyServerCustomizer {
        @Override
        public NettyServerCustomizer specializeForChannel(Channel channel, ChannelRole role) {
            return new Customizer(channel);
        }

        @Override
        public void onStreamPipelineBuilt() {
            channel.pipeline()
                    .addAfter(ChannelPipelineCustomizer.HANDLER_HTTP_SERVER_CODEC, "plain-paths", Decoder.SHARED);
        }
    }

    @ChannelHandler.Sharable
    private static final class Decoder extends ChannelInboundHandlerAdapter {
        private static final Decoder SHARED = new Decoder();

        /** The letters, the digits, and -._~ (RFC 3986, 2.3). */
        private static final Pattern UNRESERVED =
                Pattern.compile("%(2D|2E|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E)", Pattern.CASE_INSENSITIVE);

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (message instanceof HttpRequest request && request.uri().indexOf('%') >= 0) {
                request.setUri(UNRESERVED.matcher(request.uri()).replaceAll(escape ->
                        String.valueOf((char) Integer.parseInt(escape.group(1), 16))));
            }
            context.fireChannelRead(message);
        }
    }
}
