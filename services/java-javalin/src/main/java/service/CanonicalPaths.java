package service;

import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** Javalin compares a path as it was sent: one with escapes that need not be there would be unknown. */
final class CanonicalPaths extends Handler.Wrapper {
    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        HttpURI uri = request.getHttpURI();
        String path = uri.getCanonicalPath();
        if (path == null || path.equals(uri.getPath())) {
            return super.handle(request, response, callback);
        }
        HttpURI canonical = HttpURI.build(uri).path(path).asImmutable();
        return super.handle(Request.serveAs(request, canonical), response, callback);
    }
}
