//! Secrets in requests and replies: which names stand for a secret, and how a text is shown without one.
//!
//! A secret is found in two ways. By its *name*: the value of the header `Authorization`, of the parameter `access_token`, of the
//! member `password` ([`is_secret`], [`mask_named`]). And by its *value*, where the user gave it to prony as a secret: then it is
//! masked wherever it reappears ([`KnownSecrets`]).

mod names;
mod patterns;

pub use names::{is_secret, is_secret_parameter};
pub use patterns::{mask_header, mask_named, mask_path, mask_query};

use crate::escape;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::BTreeSet;

/// Replaces a secret.
pub const MASK: &str = "***";

/// A shorter value is no secret: it would be found in any text, and can be guessed.
const SHORTEST: usize = 5;
/// A shorter value is masked only as a word of its own.
const PART_OF_WORDS: usize = 8;
/// Number of leading bytes by which a value is recognized in a text that was cut.
const BEGIN: usize = 8;

/// The values that the user gave as secrets. They cannot be shown by mistake: this is not `Debug`.
#[derive(Clone, Default)]
pub struct KnownSecrets(
    /// The longest first: a secret may contain another.
    Vec<String>,
);

impl KnownSecrets {
    /// None.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a value, in all forms in which a text may repeat it.
    pub fn add(&mut self, value: &str) {
        let bytes = value.as_bytes();
        let forms = BTreeSet::from([
            value.to_owned(),
            escape::json_string(value),
            escape::path(bytes),
            escape::query(bytes),
            percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC).to_string(),
            // As `excerpt` shows it.
            value.escape_debug().to_string(),
            STANDARD.encode(bytes),
        ]);
        // A short number is found among figures; JSON without one of its figures is no JSON.
        let is_figure = |form: &str| {
            form.len() < PART_OF_WORDS
                && serde_json::from_str::<Value>(form).is_ok_and(|value| !value.is_string())
        };
        let is_new = |form: &String| form.len() >= SHORTEST && !is_figure(form) && !self.0.contains(form);
        let new: Vec<String> = forms.into_iter().filter(is_new).collect();
        self.0.extend(new);
        self.0.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    /// Adds the value of a header, without its scheme: `Bearer` of a token is no secret.
    pub fn add_header(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("cookie") {
            let cookies = value.split(';').filter_map(|cookie| cookie.split_once('='));
            cookies.for_each(|(_, value)| self.add(value.trim()));
            return self.add(value);
        }
        let token = match value.split_once(' ') {
            Some((scheme, token)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => token.trim(),
            _ => value,
        };
        self.add(token);
    }

    /// Adds the secrets in the query of a path or URL.
    pub fn add_query(&mut self, path: &str) {
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        for (_, value) in pairs.filter(|(name, _)| is_secret_parameter(name)) {
            self.add(value);
            let decoded = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
            self.add(&decoded);
        }
    }

    /// The text without these values, even if only the start of one is left where the text was cut.
    pub fn mask(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let word_before = masked.ends_with(is_word);
            let found = self
                .0
                .iter()
                .find_map(|secret| leading(rest, secret, word_before));
            if let Some(length) = found {
                masked.push_str(MASK);
                rest = &rest[length..];
            } else {
                masked.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
        masked
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric()
}

/// The length of a secret, or of what is left of it, at the start of a text.
fn leading(text: &str, secret: &str, word_before: bool) -> Option<usize> {
    if let Some(after) = text.strip_prefix(secret) {
        let inside_word = word_before || after.starts_with(is_word);
        return (secret.len() >= PART_OF_WORDS || !inside_word).then_some(secret.len());
    }
    let both = text.bytes().zip(secret.bytes());
    let same = both.take_while(|(one, other)| one == other).count();
    // Bytes can agree within a letter, where no text is cut.
    let cut = text
        .get(same..)
        .is_some_and(|after| after.is_empty() || after.starts_with('…'));
    (same >= BEGIN && cut).then_some(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(values: &[&str]) -> KnownSecrets {
        let mut known = KnownSecrets::new();
        for value in values {
            known.add(value);
        }
        known
    }

    #[test]
    fn a_known_value_is_removed_from_any_text() {
        let known = known(&["sk-abcdefghijkl"]);
        for (text, masked) in [
            ("", ""),
            ("nothing of it: sk-abc", "nothing of it: sk-abc"),
            ("`sk-abcdefghijkl` is wrong", "`***` is wrong"),
            ("sk-abcdefghijklsk-abcdefghijkl", "******"),
            ("ü sk-abcdefgh… (900 bytes)", "ü ***… (900 bytes)"),
            ("the end: sk-abcdefg", "the end: ***"),
            ("sk-abcdefg is another", "sk-abcdefg is another"),
            ("sk-sk-abcdefghijkl", "sk-***"),
        ] {
            assert_eq!(known.mask(text), masked);
        }
    }

    #[test]
    fn a_value_is_found_in_the_forms_in_which_texts_have_it() {
        let known = known(&["p\"ss/wo rd+ü"]);
        for text in [
            "a p\"ss/wo rd+ü b",
            r#"{"got": "p\"ss/wo rd+ü"}"#,
            "/x?a=p%22ss/wo%20rd%2B%C3%BC",
            "/x?a=p%22ss%2Fwo%20rd%2B%C3%BC",
            "Basic cCJzcy93byByZCvDvA==",
        ] {
            assert!(known.mask(text).contains(MASK), "{text}");
        }
    }

    #[test]
    fn a_short_value_is_masked_as_a_word_and_a_shorter_one_not_at_all() {
        let known = known(&["valid", "abcd", "12345", "false"]);
        assert_eq!(known.mask("valid, `valid`: 3 invalid"), "***, `***`: 3 invalid");
        assert_eq!(known.mask("abcd 12345 false"), "abcd 12345 false");
    }

    #[test]
    fn of_two_secrets_the_longer_one_is_removed_first() {
        let known = known(&["abcdefgh", "abcdefgh-ijkl"]);
        assert_eq!(known.mask("abcdefgh-ijkl abcdefgh"), "*** ***");
    }

    #[test]
    fn headers_and_queries_hold_secrets() {
        let mut known = KnownSecrets::new();
        known.add_header("Authorization", "Bearer token-1-token");
        known.add_header("Cookie", "sid=token-2-token; theme=dark-blue");
        known.add_query("/a?b=visible-value&access_token=token%2D3%2Dtoken");
        assert_eq!(
            known.mask("Bearer token-1-token, token-2-token, token-3-token, visible-value"),
            "Bearer ***, ***, ***, visible-value"
        );
    }
}
