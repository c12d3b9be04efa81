package service;

import io.undertow.util.HeaderMap;
import java.util.Locale;

/** A page that shows the headers of its request. */
final class Snoop {
    private Snoop() {}

    static String page(HeaderMap headers) {
        StringBuilder page = new StringBuilder("<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n");
        headers.forEach(values -> values.forEach(value -> page.append("HEADER: ")
                .append(escape(values.getHeaderName().toString().toLowerCase(Locale.ROOT)))
                .append(" = ")
                .append(escape(value))
                .append('\n')));
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
