package service;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;

/** A transport: the channel that listens and the event loops that suit it. */
record EventLoops(Class<? extends ServerChannel> channel, IoHandlerFactory handlers) {
    static EventLoops nio() {
        return new EventLoops(NioServerSocketChannel.class, NioIoHandler.newFactory());
    }

    static EventLoops epoll() {
        return new EventLoops(EpollServerSocketChannel.class, EpollIoHandler.newFactory());
    }

    EventLoopGroup group(int threads) {
        return new MultiThreadIoEventLoopGroup(threads, handlers);
    }
}
