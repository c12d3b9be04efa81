package service;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.util.function.IntFunction;

/** A transport: the channel that listens and the event loops that suit it. */
record EventLoops(Class<? extends ServerChannel> channel, IntFunction<EventLoopGroup> groups) {
    static EventLoops nio() {
        return new EventLoops(NioServerSocketChannel.class, NioEventLoopGroup::new);
    }

    static EventLoops epoll() {
        return new EventLoops(EpollServerSocketChannel.class, EpollEventLoopGroup::new);
    }

    EventLoopGroup group(int threads) {
        return groups.apply(threads);
    }
}
