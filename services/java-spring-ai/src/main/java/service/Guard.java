package service;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Set;
import java.util.regex.Pattern;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

/** Refuses foreign Origins and unknown revisions, which the starter does not look at. */
@Component
public class Guard extends OncePerRequestFilter {
    private static final Pattern LOCAL = Pattern.compile("https?://(localhost|127\\.0\\.0\\.1|\\[::1])(:[0-9]+)?");
    private static final Set<String> REVISIONS = Set.of("2025-03-26", "2025-06-18", "2025-11-25");

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        String origin = request.getHeader("Origin");
        String revision = request.getHeader("MCP-Protocol-Version");
        if (origin != null && !LOCAL.matcher(origin).matches()) {
            response.sendError(HttpStatus.FORBIDDEN.value());
        } else if (revision != null && !REVISIONS.contains(revision)) {
            response.sendError(HttpStatus.BAD_REQUEST.value());
        } else {
            chain.doFilter(request, response);
        }
    }
}
