//! Text for places with a syntax of their own: strings of JSON, path segments and query values.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_encode};

/// All but the unreserved characters (RFC 3986, section 2.3).
const RESERVED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What a path segment must not contain as it is: all but `pchar` (RFC 3986, section 3.3).
const PATH: AsciiSet = RESERVED
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// What the value of a query must not contain as it is. `&`, `=` and `;` separate values, and `+` is read as a space.
const QUERY: AsciiSet = RESERVED
    .remove(b':')
    .remove(b'@')
    .remove(b'/')
    .remove(b'?')
    .remove(b',')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*');

/// The text for the inside of a JSON string.
///
/// ```
/// assert_eq!(prony_load::escape::json_string("a \"b\""), r#"a \"b\""#);
/// ```
pub fn json_string(text: &str) -> String {
    let mut quoted = Vec::new();
    write_json(text, &mut quoted);
    let mut quoted = String::from_utf8(quoted).expect("invariant: JSON is UTF-8");
    quoted.pop();
    quoted.remove(0);
    quoted
}

/// The bytes, percent-encoded for one segment of a path.
///
/// ```
/// assert_eq!(prony_load::escape::path("a/b c".as_bytes()), "a%2Fb%20c");
/// ```
pub fn path(bytes: &[u8]) -> String {
    path_text(bytes).to_string()
}

/// The bytes, percent-encoded for a value of a query.
///
/// ```
/// assert_eq!(prony_load::escape::query("a/b+c".as_bytes()), "a/b%2Bc");
/// ```
pub fn query(bytes: &[u8]) -> String {
    query_text(bytes).to_string()
}

/// Appends the text as a JSON string with its quotes.
pub(crate) fn write_json(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("invariant: writing a text to memory does not fail");
}

pub(crate) fn path_text(bytes: &[u8]) -> PercentEncode<'_> {
    percent_encode(bytes, &PATH)
}

pub(crate) fn query_text(bytes: &[u8]) -> PercentEncode<'_> {
    percent_encode(bytes, &QUERY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    #[test]
    fn each_place_has_its_own_characters() {
        let all: String = (' '..='~').collect();
        assert_eq!(
            path(all.as_bytes()),
            "%20!%22%23$%25&'()*+,-.%2F0123456789:;%3C=%3E%3F@ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D%5E_\
             %60abcdefghijklmnopqrstuvwxyz%7B%7C%7D~"
        );
        assert_eq!(
            query(all.as_bytes()),
            "%20!%22%23$%25%26'()*%2B,-./0123456789:%3B%3C%3D%3E?@ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D%5E_\
             %60abcdefghijklmnopqrstuvwxyz%7B%7C%7D~"
        );
        assert_eq!(path("é\n\u{7f}".as_bytes()), "%C3%A9%0A%7F");
        assert_eq!(json_string("\"\\\n\u{1}é/"), "\\\"\\\\\\n\\u0001é/");
    }

    /// Texts with the characters that need care.
    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![any::<String>(), "[\"\\\\\\x00-\\x20%&=+;#?/é\u{1f600}a]{0,20}"]
    }

    proptest! {
        #[test]
        fn decoding_gives_the_value_again(text in any_text()) {
            let quoted = format!("\"{}\"", json_string(&text));
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).expect("a string"), text.clone());
            for encoded in [path(text.as_bytes()), query(text.as_bytes())] {
                let decoded: Vec<u8> = percent_decode_str(&encoded).collect();
                prop_assert_eq!(decoded, text.as_bytes());
            }
        }

        #[test]
        fn any_bytes_are_encoded(bytes in any::<Vec<u8>>()) {
            for encoded in [path(&bytes), query(&bytes)] {
                prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert_eq!(percent_decode_str(&encoded).collect::<Vec<u8>>(), bytes.clone());
            }
        }
    }
}
