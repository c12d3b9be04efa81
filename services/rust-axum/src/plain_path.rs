//! `/api/%74est` names the same resource as `/api/test` (RFC 3986, 6.2.2.2).

use axum::http::Request;
use axum::http::uri::PathAndQuery;

/// Decodes the percent-encoded bytes of a path that needed no encoding.
pub fn decode_unreserved<B>(mut request: Request<B>) -> Request<B> {
    let Some(path_and_query) = request.uri().path_and_query() else {
        return request;
    };
    if !path_and_query.path().contains('%') {
        return request;
    }
    let mut plain = decode(path_and_query.path());
    if let Some(query) = path_and_query.query() {
        plain.push('?');
        plain.push_str(query);
    }
    if let Ok(plain) = PathAndQuery::try_from(plain) {
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(plain);
        *request.uri_mut() = parts.try_into().expect("only the path has changed");
    }
    request
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
