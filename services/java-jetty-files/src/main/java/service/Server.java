package service;

import java.nio.file.Path;
import org.eclipse.jetty.http.CompressedContentFormat;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.ContextHandler;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.eclipse.jetty.server.handler.ResourceHandler;
import org.eclipse.jetty.util.resource.ResourceFactory;
import sun.misc.Signal;

/** Files by Jetty's resource handler. */
public final class Server {
    public static void main(String[] args) throws Exception {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        org.eclipse.jetty.server.Server server = new org.eclipse.jetty.server.Server();
        HttpConfiguration configuration = new HttpConfiguration();
        // The default, 8 KiB for all headers of a request, is tight for a hundred of them.
        configuration.setRequestHeaderSize(64 * 1024);
        ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(configuration));
        connector.setHost(variable("HOST", "127.0.0.1"));
        connector.setPort(Integer.parseInt(variable("PORT", "8080")));
        // Hundreds of connections may come at once; the default is 50.
        connector.setAcceptQueueSize(4096);
        server.addConnector(connector);

        ContextHandler context = new ContextHandler(files(server), "/files");
        server.setHandler(new GracefulHandler(context));
        server.setStopTimeout(5_000);
        server.setStopAtShutdown(true);
        server.start();
    }

    private static ResourceHandler files(org.eclipse.jetty.server.Server server) {
        ResourceHandler files = new ResourceHandler();
        files.setBaseResource(ResourceFactory.of(server).newResource(Path.of(variable("FILES_DIR", "."))));
        files.setDirAllowed(false);
        files.setEtags(true);
        if (Boolean.parseBoolean(variable("PRECOMPRESSED", "false"))) {
            files.setPrecompressedFormats(CompressedContentFormat.BR, CompressedContentFormat.GZIP);
        }
        return files;
    }

    private static String variable(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }
}
