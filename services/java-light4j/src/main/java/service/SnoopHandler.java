package service;

import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;
import java.util.Locale;

public class SnoopHandler implements HttpHandler {
    @Override
    public void handleRequest(HttpServerExchange exchange) {
        StringBuilder page = new StringBuilder("<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n");
        exchange.getRequestHeaders().forEach(values -> values.forEach(value -> page.append("HEADER: ")
                .append(escape(values.getHeaderName().toString().toLowerCase(Locale.ROOT)))
                .append(" = ")
                .append(escape(value))
                .append('\n')));
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/html; charset=utf-8");
        exchange.getResponseSender().send(page.append("</pre>\n").toString());
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;")
                .replace("'", "&#39;");
    }
}
