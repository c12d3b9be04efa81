package service;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import sun.misc.Signal;

/** hello, sequence, snoop, echo and room on Netty: one event loop accepts, WORKERS event loops serve. */
public final class Server {
    public static void main(String[] args) throws InterruptedException, SSLException {
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
        ServerBootstrap bootstrap = new ServerBootstrap().group(acceptor, group).channel(loops.channel());
        List<Channel> listeners = new ArrayList<>();
        listeners.add(bootstrap.childHandler(new ClearConnection(handler)).bind(host, port).sync().channel());
        if (System.getenv("TLS_PORT") != null) {
            int tlsPort = Integer.parseInt(System.getenv("TLS_PORT"));
            bootstrap.childHandler(new SecureConnection(SecureConnection.context(), handler));
            listeners.add(bootstrap.bind(host, tlsPort).sync().channel());
        }

        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            listeners.forEach(listener -> listener.close().awaitUninterruptibly());
            acceptor.shutdownGracefully(0, 1, TimeUnit.SECONDS);
            group.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
        }));
        listeners.get(0).closeFuture().sync();
    }
}
