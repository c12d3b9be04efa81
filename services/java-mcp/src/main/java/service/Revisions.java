package service;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;

/** Refuses requests of a revision that the server does not have, which the SDK does not look at. */
final class Revisions extends HttpFilter {
    private final transient List<String> supported;

    Revisions(List<String> supported) {
        this.supported = supported;
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        String revision = request.getHeader("MCP-Protocol-Version");
        if (revision == null || supported.contains(revision)) {
            chain.doFilter(request, response);
        } else {
            response.sendError(HttpServletResponse.SC_BAD_REQUEST, "unsupported MCP-Protocol-Version");
        }
    }
}
