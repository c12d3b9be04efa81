package service;

import java.util.Locale;
import org.springframework.util.MultiValueMap;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.support.ServletUriComponentsBuilder;
import org.springframework.web.util.HtmlUtils;

@RestController
public class SnoopController {
    @GetMapping(path = "/", produces = "text/html;charset=UTF-8")
    public String snoop(@RequestHeader MultiValueMap<String, String> headers) {
        // Tomcat makes no header of HTTP/2's :authority.
        if (headers.keySet().stream().noneMatch("host"::equalsIgnoreCase)) {
            headers.add("host", ServletUriComponentsBuilder.fromCurrentRequestUri().build().toUri().getAuthority());
        }
        StringBuilder page = new StringBuilder("<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n");
        headers.forEach((name, values) -> values.forEach(value -> page.append("HEADER: ")
                .append(escape(name.toLowerCase(Locale.ROOT)))
                .append(" = ")
                .append(escape(value))
                .append('\n')));
        return page.append("</pre>\n").toString();
    }

    private static String escape(String text) {
        return HtmlUtils.htmlEscape(text, "UTF-8");
    }
}
