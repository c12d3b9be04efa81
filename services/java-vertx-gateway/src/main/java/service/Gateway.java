package service;

import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Relays two operations to the model, with its key in place of the client's. */
final class Gateway implements Handler<HttpServerRequest> {
    private static final Map<String, HttpMethod> OPERATIONS =
            Map.of("/v1/chat/completions", HttpMethod.POST, "/v1/models", HttpMethod.GET);
    /** The headers of one connection alone (RFC 9110, 7.6.1). */
    private static final Set<String> HOP_BY_HOP = Set.of(
            "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade");

    private final HttpClient client;
    private final URI model;
    private final String authorization;

    Gateway(Vertx vertx, URI model, String key) {
        this.model = model;
        this.authorization = "Bearer " + key;
        // Five connections by default; each stream takes one.
        client = vertx.createHttpClient(new PoolOptions().setHttp1MaxSize(16_384));
    }

    @Override
    public void handle(HttpServerRequest request) {
        HttpMethod method = OPERATIONS.get(request.path());
        if (request.method() != method) {
            refuse(request.response(), method == null ? 404 : 405, "there is no such operation");
            return;
        }
        RequestOptions options = new RequestOptions()
                .setMethod(method)
                .setHost(model.getHost())
                .setPort(model.getPort())
                .setURI(model.getPath() + request.uri().substring("/v1".length()));
        // Until the connection is there.
        request.pause();
        client.request(options)
                .onSuccess(upstream -> relay(request, upstream))
                .onFailure(cause -> refuse(request.response(), 502, "the model cannot be reached"));
    }

    private void relay(HttpServerRequest request, HttpClientRequest upstream) {
        HttpServerResponse response = request.response();
        // A client that leaves cancels its stream.
        response.closeHandler(closed -> upstream.reset());
        if (response.closed()) {
            upstream.reset();
            return;
        }
        copy(request.headers(), upstream.headers());
        // Vert.x writes that of the model.
        upstream.headers().remove("Host");
        upstream.putHeader("Authorization", authorization);
        upstream.send(request)
                .onSuccess(reply -> reply(reply, response))
                .onFailure(cause -> refuse(response, 502, "the model cannot be reached"));
    }

    private static void reply(HttpClientResponse reply, HttpServerResponse response) {
        response.setStatusCode(reply.statusCode());
        copy(reply.headers(), response.headers());
        if (!response.headers().contains("Content-Length")) {
            response.setChunked(true);
        }
        // Half a reply must not look like a whole one.
        reply.pipe().endOnFailure(false).to(response).onFailure(cause -> response.reset());
    }

    private static void copy(MultiMap from, MultiMap to) {
        for (Map.Entry<String, String> header : from) {
            if (!HOP_BY_HOP.contains(header.getKey().toLowerCase(Locale.ROOT))) {
                to.add(header.getKey(), header.getValue());
            }
        }
    }

    private static void refuse(HttpServerResponse response, int status, String message) {
        if (response.headWritten() || response.closed()) {
            response.reset();
            return;
        }
        JsonObject error = new JsonObject().put("message", message).put("type", "gateway_error");
        response.setStatusCode(status)
                .putHeader("Content-Type", "application/json")
                .end(new JsonObject().put("error", error).encode());
    }
}
