//! The frame of every page, and tables. Text becomes markup only here.

use super::paths;
use crate::formats::escaped;
use crate::palette::themes;
use std::sync::LazyLock;

/// These pages run no script that could know a preference: they follow the system.
static STYLE: LazyLock<String> = LazyLock::new(|| {
    let (light, dark) = themes();
    let own = include_str!("style.css");
    format!("{light}@media screen and (prefers-color-scheme: dark) {{\n:root {{{dark}}}\n{own}")
});
/// Pages run no scripts and load nothing, not even from their own host.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// A page of the site. `up` leads from it to the folder of the first page: empty, or `../`.
pub(super) fn page(title: &str, up: &str, body: &str) -> String {
    let title = escaped(title);
    let (first, services, feed) = (paths::FIRST, paths::SERVICES, paths::FEED);
    let style = STYLE.as_str();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} – prony</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"alternate\" type=\"application/atom+xml\" title=\"Runs\" href=\"{up}{feed}\">\n\
         <style>{style}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
         <header class=\"bar\"><div><a class=\"mark\" href=\"{up}{first}\">prony</a>\
         <nav aria-label=\"Site\"><a href=\"{up}{first}\">Rankings</a> <a href=\"{up}{services}\">Services</a> \
         <a href=\"{up}{feed}\">Feed</a></nav></div></header>\n\
         <main id=\"main\">\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

/// A link within the site; the text is escaped.
pub(super) fn link(address: &str, text: &str) -> String {
    format!("<a href=\"{}\">{}</a>", escaped(address), escaped(text))
}

/// A number in a table, which stays on one line; `–` if it is not known.
pub(super) fn number(shown: Option<String>) -> String {
    let shown = shown.unwrap_or_else(|| "–".to_owned());
    format!("<span class=\"figure\">{}</span>", escaped(&shown))
}

/// A sentence in which back-quotes enclose code, and no line breaks within `± 2 %`; the text is escaped.
pub(super) fn prose(text: &str) -> String {
    let text = text.replace("± ", "±\u{a0}").replace(" %", "\u{a0}%");
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped(&text);
    }
    let shown = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", escaped(part)),
    });
    shown.collect()
}

/// A table that scrolls by itself on a narrow screen. The first cell of each row is its heading; cells are markup.
/// `label` must be unique on the page.
pub(super) fn table(label: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let label = escaped(label);
    let heads: String = heads
        .iter()
        .map(|head| format!("<th scope=\"col\">{}</th>", escaped(head)))
        .collect();
    let mut out = format!(
        "<div class=\"table-frame\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n"
    );
    for row in rows {
        let cells = row.iter().enumerate().map(|(at, cell)| match at {
            0 => format!("<th scope=\"row\">{cell}</th>"),
            _ => format!("<td>{cell}</td>"),
        });
        out += &format!("<tr>{}</tr>\n", cells.collect::<String>());
    }
    out + "</tbody></table></div>\n"
}
