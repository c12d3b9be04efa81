//! Secrets in a text, by the names before them.

use super::{MASK, is_secret, is_secret_parameter};
use regex::{Captures, Regex};
use std::sync::LazyLock;

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("invariant: the pattern is a constant")
}

/// The password of a URL.
static USER_INFO: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(://[^\s/?#:@"'`\\]*):[^\s/?#@"'`\\]*@"#));
/// A parameter of a query or a form, or an environment variable.
static PAIR: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(^|[^\w%.\[\]-])([\w%.\[\]-]+)=([^\s&;,"'`\\<>(){}…]+)"#));
/// A member of JSON.
static MEMBER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"((?:^|[^\\])")([\w.-]+)("\s*:\s*")((?:[^"\\]|\\.)+)"#));
/// A member of JSON in a string of JSON, whose quotes are escaped, once or more often.
static MEMBER_IN_TEXT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(\\+")([\w.-]+)(\\+"\s*:\s*\\+")((?:[^"\\]|\\\\(?:[^"\\]|\\"))+)"#));
/// Cookies, which always have a name.
static COOKIES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i)\b((?:set-)?cookie)(["'`]?: ?["'`]?)([^\s=;:"'`\\]+=[^\r\n"'`\\]*)"#));
/// What separates a header from its value. A quoted name has a quoted value.
const SEPARATOR: &str = r#"(?:: ?["'`]?|": ?"|': ?'|`: ?`)"#;
/// The first character of the value of a header. Those excluded follow a string of JSON that ends with a colon.
const FIRST: &str = r#"[^\s"'`\\,;:\]}]"#;
/// A header whose name is no word of a sentence, with one word as its value.
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    let name = "[a-z-]+-(?:auth|csrf|credentials?|key|password|secret|signature|token)";
    pattern(&format!(r#"(?i)\b({name})({SEPARATOR})({FIRST}[^\s"'`\\]*)"#))
});
/// `Authorization` is a word of sentences: its value has a scheme, or ends the text.
static AUTHORIZATION: LazyLock<Regex> = LazyLock::new(|| {
    let (word, scheme) = (r#"[^\s"'`\\,;]"#, "basic|bearer|digest|negotiate|token|apikey");
    pattern(&format!(
        r#"(?i)\b(authorization{SEPARATOR})(?:((?:{scheme}) +){word}+|{FIRST}{word}*([\r\n"'`\\,;]|$))"#
    ))
});
/// The scheme and the token of an `Authorization` header anywhere. A word of a sentence has no digits.
static BEARER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b((?i:bearer|basic)) ([A-Za-z0-9._~+/-]*[0-9][A-Za-z0-9._~+/-]*=*)"));
/// A JSON Web Token: its header is JSON, `{"`.
static JWT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\beyJ[\w-]{8,}\.[\w-]+\.?[\w-]*"));

/// The text without the secrets that names identify: the password of a URL, parameters of a query or form, members of JSON, headers,
/// and tokens.
///
/// ```
/// use prony_load::secrets::mask_named;
/// assert_eq!(mask_named("http://me:PASSW@h/?a=b&token=c"), "http://me:***@h/?a=b&token=***");
/// assert_eq!(mask_named(r#"{"user": "me", "password": "x"}"#), r#"{"user": "me", "password": "***"}"#);
/// ```
pub fn mask_named(text: &str) -> String {
    let masked = USER_INFO.replace_all(text, format!("$1:{MASK}@"));
    let masked = PAIR.replace_all(&masked, |found: &Captures<'_>| {
        let (before, name) = (&found[1], &found[2]);
        // `key=…` in a sentence is no parameter.
        let is_parameter = before == "?" || before == "&" || before.is_empty();
        if is_secret(name) || is_parameter && is_secret_parameter(name) {
            format!("{before}{name}={MASK}")
        } else {
            found[0].to_owned()
        }
    });
    let member = |found: &Captures<'_>| {
        if is_secret(&found[2]) {
            format!("{}{}{}{MASK}", &found[1], &found[2], &found[3])
        } else {
            found[0].to_owned()
        }
    };
    let masked = MEMBER.replace_all(&masked, member);
    let masked = MEMBER_IN_TEXT.replace_all(&masked, member);
    let header = |found: &Captures<'_>| {
        if is_secret(&found[1]) {
            format!("{}{}{}", &found[1], &found[2], mask_header(&found[1], &found[3]))
        } else {
            found[0].to_owned()
        }
    };
    let masked = COOKIES.replace_all(&masked, header);
    let masked = HEADER.replace_all(&masked, header);
    let masked = AUTHORIZATION.replace_all(&masked, format!("$1${{2}}{MASK}$3"));
    let masked = BEARER.replace_all(&masked, format!("$1 {MASK}"));
    JWT.replace_all(&masked, MASK).into_owned()
}

/// The value of a header, for display: a secret without its value, but with what tells secrets apart.
///
/// ```
/// use prony_load::secrets::mask_header;
/// assert_eq!(mask_header("Authorization", "Bearer abc"), "Bearer ***");
/// assert_eq!(mask_header("Set-Cookie", "sid=abc; Path=/"), "sid=***; Path=/");
/// assert_eq!(mask_header("Content-Type", "text/plain"), "text/plain");
/// ```
pub fn mask_header(name: &str, value: &str) -> String {
    if !is_secret(name) {
        return mask_named(value);
    }
    let cookie = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={MASK}"),
        None => MASK.to_owned(),
    };
    if name.eq_ignore_ascii_case("set-cookie") {
        let (first, attributes) = value.find(';').map_or((value, ""), |at| value.split_at(at));
        return cookie(first) + attributes;
    }
    if name.to_ascii_lowercase().ends_with("cookie") {
        let cookies: Vec<String> = value.split(';').map(cookie).collect();
        return cookies.join(";");
    }
    match value.split_once(' ') {
        Some((scheme, _)) if scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            format!("{scheme} {MASK}")
        }
        _ => MASK.to_owned(),
    }
}

/// A path, without the secrets in its query.
pub fn mask_path(path: &str) -> String {
    match path.split_once('?') {
        Some((path, query)) => format!("{path}?{}", mask_query(query)),
        None => path.to_owned(),
    }
}

/// A query or the body of a form, without its secrets.
///
/// ```
/// assert_eq!(prony_load::secrets::mask_query("a=b&key=c&token"), "a=b&key=***&token");
/// ```
pub fn mask_query(query: &str) -> String {
    let masked = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if is_secret_parameter(name) && !value.is_empty() => format!("{name}={MASK}"),
        _ => pair.to_owned(),
    });
    masked.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Texts with the characters and the names that the patterns look for.
    fn any_text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just("password".to_owned()),
            Just("cookie".to_owned()),
            Just("x-api-key".to_owned()),
            Just("authorization".to_owned()),
            Just(": bearer 1".to_owned()),
            Just("://".to_owned()),
            "[\"'`\\\\:=;,&?@ \\na1ü]{0,6}",
        ];
        prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
    }

    #[test]
    fn secrets_are_found_by_their_names() {
        for (text, masked) in [
            ("http://me:PASSW@h:80/", "http://me:***@h:80/"),
            ("see http://h:80/a@b", "see http://h:80/a@b"),
            ("GET /x?access_token=abc&page=2", "GET /x?access_token=***&page=2"),
            ("key=abc&a=b", "key=***&a=b"),
            ("the rule key=abc", "the rule key=abc"),
            (
                "AWS_SECRET_ACCESS_KEY=hunter2 PORT=80",
                "AWS_SECRET_ACCESS_KEY=*** PORT=80",
            ),
            (
                r#"{"token":"a\nb","max_tokens":"9"}"#,
                r#"{"token":"***","max_tokens":"9"}"#,
            ),
            (r#"{"password": "cut off"#, r#"{"password": "***"#),
            (r#"{"token":"a\"b\\","a":"b"}"#, r#"{"token":"***","a":"b"}"#),
            (
                r#"{\"password\":\"abc\",\"a\":1}"#,
                r#"{\"password\":\"***\",\"a\":1}"#,
            ),
            (
                r#"{"got":"{\"token\": \"a\\\"b\\n\", \"a\":1}"}"#,
                r#"{"got":"{\"token\": \"***\", \"a\":1}"}"#,
            ),
            ("Authorization: Basic bWU6cA==", "Authorization: Basic ***"),
            ("Authorization: abc", "Authorization: ***"),
            ("`authorization: abc`, x", "`authorization: ***`, x"),
            (
                "so -H must not set Authorization: put it",
                "so -H must not set Authorization: put it",
            ),
            ("x-api-key: 12 | a", "x-api-key: *** | a"),
            ("x-api-key: \"12\"", "x-api-key: \"***\""),
            (r#"["x-api-key:",""]"#, r#"["x-api-key:",""]"#),
            (r#"["'x-api-key':",""]"#, r#"["'x-api-key':",""]"#),
            (r#"["authorization:"]"#, r#"["authorization:"]"#),
            (r#"{"x-api-key": 12}"#, r#"{"x-api-key": 12}"#),
            (
                "no such cookie: `sid` (cookie:sid)",
                "no such cookie: `sid` (cookie:sid)",
            ),
            (
                "set-cookie: sid=a1; Path=/; HttpOnly",
                "set-cookie: sid=***; Path=/; HttpOnly",
            ),
            ("\"cookie\": \"a=b; c=d\"", "\"cookie\": \"***\""),
            ("cookie: a=b; c=d", "cookie: a=***; c=***"),
            ("content-type: text/plain", "content-type: text/plain"),
            ("got Bearer a.1.c", "got Bearer ***"),
            ("a bearer token. Basic auth.", "a bearer token. Basic auth."),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.sig-1", "***"),
            ("token: expected a string", "token: expected a string"),
        ] {
            assert_eq!(mask_named(text), masked);
        }
    }

    proptest! {
        #[test]
        fn json_stays_json(name in any_text(), text in any_text(), after in any_text()) {
            let inner = json!({ &name: &text, "a": after }).to_string();
            for value in [
                json!({ "a": [&name, &text], &text: &after }),
                json!({ &name: 1, &text: { &after: &name } }),
                json!([inner, text]),
                json!([name]),
            ] {
                let masked = mask_named(&value.to_string());
                prop_assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{} became {}", value, masked);
            }
        }
    }
}
