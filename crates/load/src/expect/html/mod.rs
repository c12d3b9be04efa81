//! HTML pages: lines compared by their visible text, and tables.

mod table;

pub(super) use table::CompiledTable;
pub use table::HtmlTable;

use super::{Mismatch, excerpt};

/// Looks for a line of HTML whose visible text is `expected`.
pub(super) fn line(expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    let wanted = String::from_utf8_lossy(expected);
    let mut bare = None;
    for line in body.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // The text may start on the same line as the tag that opens it.
        let line = line.strip_prefix(b"<pre>").unwrap_or(line);
        if line == expected && !line.iter().any(|byte| matches!(byte, b'<' | b'>' | b'&')) {
            return Ok(());
        }
        let text = String::from_utf8_lossy(line);
        if reads_as(&text, &wanted) {
            return Ok(());
        }
        if text == wanted {
            bare = Some(text.into_owned());
        }
    }
    let expected = format!("a line that reads `{}`, escaped for HTML", excerpt(expected));
    Err(match bare {
        Some(line) => Mismatch::new("body: not escaped for HTML", expected, line),
        None => Mismatch::new(format!("body: no line `{wanted}`"), expected, excerpt(body)),
    })
}

/// Whether a piece of HTML without tags shows this text. It does not if it contains an unescaped character that must
/// be escaped.
fn reads_as(html: &str, wanted: &str) -> bool {
    let (mut html, mut wanted) = (html, wanted);
    loop {
        let Some(at) = html.find(['<', '>', '&']) else {
            return html == wanted;
        };
        let read = html[at..]
            .strip_prefix('&')
            .and_then(|reference| reference.split_once(';'))
            .and_then(|(name, after)| Some((character(name)?, after)));
        let Some((character, after)) = read else {
            return false;
        };
        let Some(left) = wanted
            .strip_prefix(&html[..at])
            .and_then(|left| left.strip_prefix(character))
        else {
            return false;
        };
        (html, wanted) = (after, left);
    }
}

/// The character of a reference without its `&` and `;`: the five named references that escaping needs, and all
/// numeric ones.
fn character(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}
