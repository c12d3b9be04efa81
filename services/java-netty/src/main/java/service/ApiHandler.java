package service;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.METHOD_NOT_ALLOWED;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.function.IntFunction;
import java.util.regex.Pattern;

/** Answers each request as soon as its head is there; no operation reads a body. A WebSocket is left to {@link Echo} and {@link Room}. */
@Sharable
final class ApiHandler extends SimpleChannelInboundHandler<HttpObject> {
    private static final String COUNT = "/api/count/";
    private static final String FIB = "/api/fib/";
    private static final CharSequence TEXT = HttpHeaderValues.TEXT_PLAIN;
    private static final CharSequence HTML = "text/html; charset=utf-8";
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    private final CurrentDate date;

    ApiHandler(CurrentDate date) {
        this.date = date;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        if (message instanceof HttpRequest request) {
            if (request.uri().equals(Echo.PATH)) {
                Echo.begin(context.pipeline());
            } else if (Room.isRoom(request.uri())) {
                Room.begin(context.pipeline());
            } else {
                FullHttpResponse response = answer(context, request);
                // The codec of HTTP/1.1 leaves out the body itself, that of HTTP/2 does not.
                if (request.method().equals(HttpMethod.HEAD)) {
                    response.content().clear();
                }
                context.write(response);
                return;
            }
            context.fireChannelRead(request);
            context.pipeline().remove(this);
        }
    }
    /** One flush for all the requests that arrived together. */
    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    /** The peer is gone or sends what no one can read: nothing is left to answer. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }

    private FullHttpResponse answer(ChannelHandlerContext context, HttpRequest request) {
        if (request.decoderResult().isFailure()) {
            FullHttpResponse response = reply(context, BAD_REQUEST, TEXT, "bad request");
            HttpUtil.setKeepAlive(response, false);
            return response;
        }
        try {
            return route(context, request, new QueryStringDecoder(request.uri()).path());
        } catch (IllegalArgumentException malformedEscape) {
            return reply(context, BAD_REQUEST, TEXT, "bad request");
        }
    }

    private FullHttpResponse route(ChannelHandlerContext context, HttpRequest request, String path) {
        if (path.equals("/api/test")) {
            return get(context, request, TEXT, "Hello, World!");
        } else if (path.equals("/")) {
            return get(context, request, HTML, Snoop.page(request.headers()));
        } else if (path.startsWith(COUNT)) {
            return sequence(context, request, path.substring(COUNT.length()), Sequence::count);
        } else if (path.startsWith(FIB)) {
            return sequence(context, request, path.substring(FIB.length()), Sequence::fib);
        }
        return reply(context, NOT_FOUND, TEXT, "not found");
    }

    private FullHttpResponse sequence(
            ChannelHandlerContext context, HttpRequest request, String length, IntFunction<String> numbers) {
        return LENGTH.matcher(length).matches()
                ? get(context, request, TEXT, numbers.apply(Integer.parseInt(length)))
                : reply(context, NOT_FOUND, TEXT, "not found");
    }

    private FullHttpResponse get(ChannelHandlerContext context, HttpRequest request, CharSequence type, String body) {
        return request.method().equals(HttpMethod.GET) || request.method().equals(HttpMethod.HEAD)
                ? reply(context, OK, type, body)
                : reply(context, METHOD_NOT_ALLOWED, TEXT, "method not allowed");
    }

    private FullHttpResponse reply(
            ChannelHandlerContext context, HttpResponseStatus status, CharSequence type, String body) {
        // Out of the channel's pool of buffers.
        ByteBuf content = ByteBufUtil.writeUtf8(context.alloc(), body);
        FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, content);
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, type)
                .setInt(HttpHeaderNames.CONTENT_LENGTH, content.readableBytes())
                .set(HttpHeaderNames.DATE, date.now());
        return response;
    }
}
