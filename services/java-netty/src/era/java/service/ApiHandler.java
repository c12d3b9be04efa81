package service;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.CONTINUE;
import static io.netty.handler.codec.http.HttpResponseStatus.METHOD_NOT_ALLOWED;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.util.CharsetUtil;
import java.util.function.IntFunction;
import java.util.regex.Pattern;

/** Answers each request as soon as its head is there; no operation reads a body. */
final class ApiHandler extends SimpleChannelInboundHandler<HttpObject> {
    private static final String COUNT = "/api/count/";
    private static final String FIB = "/api/fib/";
    private static final String TEXT = "text/plain";
    private static final String HTML = "text/html; charset=utf-8";
    private static final Pattern LENGTH = Pattern.compile("10000|[0-9]{1,4}");

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        if (!(message instanceof HttpRequest)) {
            return;
        }
        HttpRequest request = (HttpRequest) message;
        if (HttpHeaders.is100ContinueExpected(request)) {
            context.write(new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, CONTINUE));
        }
        FullHttpResponse response = answer(request);
        if (request.getMethod().equals(HttpMethod.HEAD)) {
            response.content().clear();
        }
        if (request.getDecoderResult().isSuccess() && HttpHeaders.isKeepAlive(request)) {
            response.headers().set(HttpHeaders.Names.CONNECTION, HttpHeaders.Values.KEEP_ALIVE);
            context.write(response);
        } else {
            context.write(response).addListener(ChannelFutureListener.CLOSE);
        }
    }

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
        if (request.getDecoderResult().isFailure()) {
            return reply(BAD_REQUEST, TEXT, "bad request");
        }
        try {
            return route(request, path(request.getUri()));
        } catch (IllegalArgumentException malformedEscape) {
            return reply(BAD_REQUEST, TEXT, "bad request");
        }
    }

    /** Without the query, and its escapes undone, which the decoder of 4.0 leaves to its user. */
    private static String path(String uri) {
        int query = uri.indexOf('?');
        return QueryStringDecoder.decodeComponent(query < 0 ? uri : uri.substring(0, query));
    }

    private static FullHttpResponse route(HttpRequest request, String path) {
        if (path.equals("/api/test")) {
            return get(request, TEXT, "Hello, World!");
        } else if (path.equals("/")) {
            return get(request, HTML, Snoop.page(request.headers()));
        } else if (path.startsWith(COUNT)) {
            return sequence(request, path.substring(COUNT.length()), Sequence::count);
        } else if (path.startsWith(FIB)) {
            return sequence(request, path.substring(FIB.length()), Sequence::fib);
        }
        return reply(NOT_FOUND, TEXT, "not found");
    }

    private static FullHttpResponse sequence(HttpRequest request, String length, IntFunction<String> numbers) {
        return LENGTH.matcher(length).matches()
                ? get(request, TEXT, numbers.apply(Integer.parseInt(length)))
                : reply(NOT_FOUND, TEXT, "not found");
    }

    private static FullHttpResponse get(HttpRequest request, String type, String body) {
        return request.getMethod().equals(HttpMethod.GET) || request.getMethod().equals(HttpMethod.HEAD)
                ? reply(OK, type, body)
                : reply(METHOD_NOT_ALLOWED, TEXT, "method not allowed");
    }

    private static FullHttpResponse reply(HttpResponseStatus status, String type, String body) {
        ByteBuf content = Unpooled.copiedBuffer(body, CharsetUtil.UTF_8);
        FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, content);
        response.headers().set(HttpHeaders.Names.CONTENT_TYPE, type);
        response.headers().set(HttpHeaders.Names.CONTENT_LENGTH, String.valueOf(content.readableBytes()));
        return response;
    }
}
