package service;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jetty.alpn.server.ALPNServerConnectionFactory;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http2.server.HTTP2ServerConnectionFactory;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import sun.misc.Signal;

/** hello and sequence on Jetty's own handlers, without servlets. */
public final class Server {
    public static void main(String[] args) throws Exception {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        org.eclipse.jetty.server.Server server = new org.eclipse.jetty.server.Server();
        HttpConfiguration configuration = new HttpConfiguration();
        // The default, 8 KiB for all headers of a request, is tight for a hundred of them.
        configuration.setRequestHeaderSize(64 * 1024);
        String port = System.getenv().getOrDefault("PORT", "8080");
        listen(port, new ServerConnector(server, new HttpConnectionFactory(configuration)));
        if (System.getenv("TLS_PORT") != null) {
            listen(System.getenv("TLS_PORT"), secure(server, configuration));
        }

        server.setHandler(new GracefulHandler(new Api()));
        server.setStopTimeout(5_000);
        server.setStopAtShutdown(true);
        server.start();
    }

    private static void listen(String port, ServerConnector connector) {
        connector.setHost(System.getenv().getOrDefault("HOST", "127.0.0.1"));
        connector.setPort(Integer.parseInt(port));
        // Hundreds of connections may come at once; the default is 50.
        connector.setAcceptQueueSize(4096);
        connector.getServer().addConnector(connector);
    }

    /** HTTP/2 or HTTP/1.1, as the client prefers. */
    private static ServerConnector secure(org.eclipse.jetty.server.Server server, HttpConfiguration clear)
            throws Exception {
        HttpConfiguration configuration = new HttpConfiguration(clear);
        configuration.addCustomizer(new SecureRequestCustomizer());
        SslContextFactory.Server tls = new SslContextFactory.Server();
        tls.setKeyStore(Identity.keyStore());
        tls.setKeyStorePassword(Identity.PASSWORD);
        HttpConnectionFactory http1 = new HttpConnectionFactory(configuration);
        ALPNServerConnectionFactory alpn = new ALPNServerConnectionFactory();
        alpn.setDefaultProtocol(http1.getProtocol());
        return new ServerConnector(
                server,
                new SslConnectionFactory(tls, alpn.getProtocol()),
                alpn,
                new HTTP2ServerConnectionFactory(configuration),
                http1);
    }

    /** The paths of the contracts. None of them blocks. */
    private static final class Api extends Handler.Abstract.NonBlocking {
        private static final Pattern SEQUENCE = Pattern.compile("/api/(count|fib)/(10000|[0-9]{1,4})");

        @Override
        public boolean handle(Request request, Response response, Callback callback) {
            String body = body(request.getHttpURI().getCanonicalPath());
            if (body == null) {
                Response.writeError(request, response, callback, HttpStatus.NOT_FOUND_404);
            } else if (HttpMethod.GET.is(request.getMethod()) || HttpMethod.HEAD.is(request.getMethod())) {
                response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/plain");
                Content.Sink.write(response, true, body, callback);
            } else {
                Response.writeError(request, response, callback, HttpStatus.METHOD_NOT_ALLOWED_405);
            }
            return true;
        }

        private static String body(String path) {
            if ("/api/test".equals(path)) {
                return "Hello, World!";
            }
            Matcher sequence = SEQUENCE.matcher(path);
            if (!sequence.matches()) {
                return null;
            }
            int n = Integer.parseInt(sequence.group(2));
            return sequence.group(1).equals("count") ? service.Sequence.count(n) : service.Sequence.fib(n);
        }
    }
}
