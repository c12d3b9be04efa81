package service;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpServerCodec;
import java.util.concurrent.TimeUnit;
import sun.misc.Signal;

/** hello, sequence and snoop on Netty 4.0 and the first of 4.1, after Netty's own example of the time. */
public final class Server {
    private static final int MAX_LINE = 4096;
    /** The default, 8 KiB for all headers of a request, is tight for a hundred of them. */
    private static final int MAX_HEADER_BYTES = 64 * 1024;
    private static final int MAX_CHUNK = 8192;

    public static void main(String[] args) throws InterruptedException {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
        String processors = String.valueOf(Runtime.getRuntime().availableProcessors());
        int workers = Integer.parseInt(System.getenv().getOrDefault("WORKERS", processors));

        EventLoopGroup acceptor = new NioEventLoopGroup(1);
        EventLoopGroup group = new NioEventLoopGroup(workers);
        ServerBootstrap bootstrap = new ServerBootstrap()
                .group(acceptor, group)
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(
                                new HttpServerCodec(MAX_LINE, MAX_HEADER_BYTES, MAX_CHUNK), new ApiHandler());
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
