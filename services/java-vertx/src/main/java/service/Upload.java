package service;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Counts the bytes of a body and hashes them as they come. */
final class Upload {
    private static final long MOST = 20 << 20;

    private final MessageDigest digest = sha256();
    private long bytes;

    private Upload() {}

    static void answer(RoutingContext context) {
        Upload upload = new Upload();
        HttpServerRequest request = context.request();
        request.handler(upload::add);
        // What is too much is read all the same, and so the connection goes on.
        request.endHandler(end -> {
            if (upload.bytes > MOST) {
                context.response().setStatusCode(413).end();
            } else {
                context.json(new JsonObject()
                        .put("bytes", upload.bytes)
                        .put("sha256", HexFormat.of().formatHex(upload.digest.digest())));
            }
        });
    }

    private void add(Buffer piece) {
        bytes += piece.length();
        if (bytes <= MOST) {
            digest.update(piece.getBytes());
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException absent) {
            throw new IllegalStateException("every Java platform has SHA-256", absent);
        }
    }
}
