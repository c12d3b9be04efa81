//! `/api/%74est` names the same resource as `/api/test` (RFC 3986, 6.2.2.2); the router compares paths as they were sent.

use iron::{IronResult, Request, Url, url};

/// Decodes the percent-encoded bytes of a path that needed no encoding.
pub fn decode_unreserved(request: &mut Request) -> IronResult<()> {
    if request.url.as_ref().path().contains('%') {
        let mut url: url::Url = request.url.clone().into();
        let plain = decode(url.path());
        url.set_path(&plain);
        request.url = Url::from_generic_url(url).expect("only the path has changed");
    }
    Ok(())
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
