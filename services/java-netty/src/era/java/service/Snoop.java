package service;

import io.netty.handler.codec.http.HttpHeaders;
import java.util.Locale;
import java.util.Map;

/** A page that shows the headers of its request. */
final class Snoop {
    private Snoop() {}

    static String page(HttpHeaders headers) {
        StringBuilder page = new StringBuilder("<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n");
        for (Map.Entry<String, String> header : headers.entries()) {
            page.append("HEADER: ")
                    .append(escape(header.getKey().toLowerCase(Locale.ROOT)))
                    .append(" = ")
                    .append(escape(header.getValue()))
                    .append('\n');
        }
        return page.append("</pre>\n").toString();
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;")
                .replace("'", "&#39;");
    }
}
