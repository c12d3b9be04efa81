package service;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.METHOD_NOT_ALLOWED;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;

import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.DateFormatter;
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
import java.util.Date;
import java.util.function.IntFunction;
import java.util.regex.Pattern;

/** Answers each request as soon as its head is there; no operation reads a body. */
@Sharable
final class ApiHandler extends SimpleChannelInboundHandler<HttpObject> {
    private static final CharSequence TEXT = HttpHeaderValues.TEXT_PLAIN;
    private static final CharSequence HTML = "text/html; charset=utf-8";
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        if (message instanceof HttpRequest request) {
            context.write(answer(request));
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

    private static FullHttpResponse answer(HttpRequest request) {
        if (request.decoderResult().isFailure()) {
            FullHttpResponse response = reply(BAD_REQUEST, TEXT, "bad request");
            HttpUtil.setKeepAlive(response, false);
            return response;
        }
        try {
            return route(request, new QueryStringDecoder(request.uri()).path());
        } catch (IllegalArgumentException malformedEscape) {
            return reply(BAD_REQUEST, TEXT, "bad request");
        }
    }

    private static FullHttpResponse route(HttpRequest request, String path) {
        if (path.equals("/api/test")) {
            return get(request, TEXT, "Hello, World!");
        } else if (path.equals("/")) {
            return get(request, HTML, Snoop.page(request.headers()));
        } else if (path.startsWith("/api/count/")) {
            return sequence(request, path.substring("/api/count/".length()), Sequence::count);
        } else if (path.startsWith("/api/fib/")) {
            return sequence(request, path.substring("/api/fib/".length()), Sequence::fib);
        }
        return reply(NOT_FOUND, TEXT, "not found");
    }

    private static FullHttpResponse sequence(HttpRequest request, String length, IntFunction<String> numbers) {
        return LENGTH.matcher(length).matches()
                ? get(request, TEXT, numbers.apply(Integer.parseInt(length)))
                : reply(NOT_FOUND, TEXT, "not found");
    }

    /** The codec leaves the body out of an answer to HEAD. */
    private static FullHttpResponse get(HttpRequest request, CharSequence type, String body) {
        return request.method().equals(HttpMethod.GET) || request.method().equals(HttpMethod.HEAD)
                ? reply(OK, type, body)
                : reply(METHOD_NOT_ALLOWED, TEXT, "method not allowed");
    }

    private static FullHttpResponse reply(HttpResponseStatus status, CharSequence type, String body) {
        FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status);
        int length = ByteBufUtil.writeUtf8(response.content(), body);
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, type)
                .setInt(HttpHeaderNames.CONTENT_LENGTH, length)
                .set(HttpHeaderNames.DATE, DateFormatter.format(new Date()));
        return response;
    }
}
