//! `/api/%74est` names the same resource as `/api/test` (RFC 3986, 6.2.2.2).

use poem::http::Uri;
use poem::http::uri::PathAndQuery;

/// The URI without the percent-encoding of bytes that needed none; `None` if it has none.
pub fn decode_unreserved(uri: &Uri) -> Option<Uri> {
    if !uri.path().contains('%') {
        return None;
    }
    let mut plain = decode(uri.path());
    if let Some(query) = uri.query() {
        plain.push('?');
        plain.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(plain).ok()?);
    Uri::from_parts(parts).ok()
}

fn decode(path: &str) -> String {
    let mut pieces = path.split('%');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let byte = piece.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                plain.push(char::from(byte));
                plain.push_str(&piece[2..]);
            }
            _ => {
                plain.push('%');
                plain.push_str(piece);
            }
        }
    }
    plain
}
