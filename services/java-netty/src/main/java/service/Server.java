package service;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerExpectContinueHandler;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import java.util.concurrent.TimeUnit;
import sun.misc.Signal;

/** hello, sequence, snoop, echo and room on Netty: one event loop accepts, WORKERS event loops serve. */
public final class Server {
    /** The default, 8 KiB for all headers of a request, is tight for a hundred of them. */
    private static final int MAX_HEADER_BYTES = 64 * 1024;

    public static void main(String[] args) throws InterruptedException {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
        String processors = String.valueOf(Runtime.getRuntime().availableProcessors());
        int workers = Integer.parseInt(System.getenv().getOrDefault("WORKERS", processors));

        EventLoops loops = Boolean.getBoolean("nio") ? EventLoops.nio() : EventLoops.epoll();
        EventLoopGroup acceptor = loops.group(1);
        EventLoopGroup group = loops.group(workers);
        ApiHandler handler = new ApiHandler(new CurrentDate(group));
        ServerBootstrap bootstrap = new ServerBootstrap()
                .group(acceptor, group)
                .channel(loops.channel())
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(
                                new HttpServerCodec(new HttpDecoderConfig().setMaxHeaderSize(MAX_HEADER_BYTES)),
                                new HttpServerKeepAliveHandler(),
                                new HttpServerExpectContinueHandler(),
                                handler);
                    }
                });
        Channel listener = bootstrap.bind(host, port).sync().channel();

        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            listener.close().awaitUninterruptibly();
            acceptor.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            group.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
        }));
        listener.closeFuture().sync();
    }
}
