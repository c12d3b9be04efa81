package service;

import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.transport.DefaultServerTransportSecurityValidator;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import jakarta.servlet.DispatcherType;
import java.util.EnumSet;
import java.util.List;
import org.eclipse.jetty.ee11.servlet.FilterHolder;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.ServerConnector;
import sun.misc.Signal;

/** A server of the Model Context Protocol with its official SDK for Java, as a servlet in Jetty. */
public final class Server {
    private static final List<String> LOCAL = List.of("http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*");

    public static void main(String[] args) throws Exception {
        // The JVM's own handler of the signal exits with 143.
        Signal.handle(new Signal("TERM"), signal -> System.exit(0));
        HttpServletStreamableServerTransportProvider servlet = HttpServletStreamableServerTransportProvider.builder()
                .mcpEndpoint("/mcp")
                // Otherwise every Origin is served.
                .securityValidator(DefaultServerTransportSecurityValidator.builder().allowedOrigins(LOCAL).build())
                .build();
        McpServer.sync(servlet)
                .serverInfo("java-mcp", "1")
                .capabilities(ServerCapabilities.builder().tools(false).resources(false, false).prompts(false).build())
                .tools(Features.tools())
                .resourceTemplates(Features.resource())
                .prompts(Features.prompt())
                .build();
        serve(servlet);
    }

    private static void serve(HttpServletStreamableServerTransportProvider servlet) throws Exception {
        ServletContextHandler context = new ServletContextHandler();
        FilterHolder filter = new FilterHolder(new Revisions(servlet.protocolVersions()));
        filter.setAsyncSupported(true);
        context.addFilter(filter, "/mcp", EnumSet.of(DispatcherType.REQUEST));
        ServletHolder holder = new ServletHolder(servlet);
        holder.setAsyncSupported(true);
        context.addServlet(holder, "/mcp");

        org.eclipse.jetty.server.Server server = new org.eclipse.jetty.server.Server();
        HttpConfiguration configuration = new HttpConfiguration();
        // The default, 8 KiB for all headers of a request, is tight for a hundred of them.
        configuration.setRequestHeaderSize(64 * 1024);
        ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(configuration));
        connector.setHost(System.getenv().getOrDefault("HOST", "127.0.0.1"));
        connector.setPort(Integer.parseInt(System.getenv().getOrDefault("PORT", "8080")));
        // Hundreds of connections may come at once; the default is 50.
        connector.setAcceptQueueSize(4096);
        server.addConnector(connector);
        CanonicalPaths paths = new CanonicalPaths();
        paths.setHandler(context);
        server.setHandler(paths);
        server.setStopTimeout(5_000);
        server.setStopAtShutdown(true);
        server.start();
    }
}
