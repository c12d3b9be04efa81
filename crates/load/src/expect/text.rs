//! Compares and displays bytes as text.

use super::Mismatch;

/// Longest excerpt of bytes in a [`Mismatch`].
const EXCERPT: usize = 400;
/// Bytes shown before the first difference.
const BEFORE: usize = 60;

/// The first 400 bytes as text, with invalid UTF-8 escaped.
pub fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(EXCERPT)];
    let is_complete = shown.len() == bytes.len();
    let text = match std::str::from_utf8(shown) {
        Ok(text) => text.escape_debug().to_string(),
        // Only the cut split a character.
        Err(error) if !is_complete && error.error_len().is_none() => {
            String::from_utf8_lossy(&shown[..error.valid_up_to()])
                .escape_debug()
                .to_string()
        }
        Err(_) => shown.escape_ascii().to_string(),
    };
    // Quotes stay readable: the excerpt is never used as source code.
    let text = text.replace("\\\"", "\"").replace("\\'", "'");
    if is_complete {
        text
    } else {
        format!("{text}… ({} bytes)", bytes.len())
    }
}

pub(super) fn equal(expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    if expected == body {
        Ok(())
    } else {
        Err(difference(expected, body))
    }
}

/// The mismatch of two unequal byte strings, showing both around the first difference.
pub(super) fn difference(expected: &[u8], got: &[u8]) -> Mismatch {
    let place = expected
        .iter()
        .zip(got)
        .take_while(|(left, right)| left == right)
        .count();
    let fault = fault(expected, got, place);
    let what = format!("body: {fault}");
    if got.is_empty() || expected.is_empty() || place < EXCERPT - BEFORE {
        return Mismatch::new(what, excerpt(expected), excerpt(got));
    }
    let from = place - BEFORE;
    let shown = |bytes: &[u8]| format!("…{}", excerpt(&bytes[from.min(bytes.len())..]));
    Mismatch::new(what, shown(expected), shown(got))
}

fn fault(expected: &[u8], got: &[u8], place: usize) -> String {
    if got.is_empty() {
        return "empty".into();
    }
    if got.trim_ascii() == expected.trim_ascii() {
        return match got.strip_prefix(expected) {
            Some(b"\n" | b"\r\n") => "an extra newline at the end".into(),
            Some(_) => "extra white space at the end".into(),
            None => "white space at the start or end differs".into(),
        };
    }
    if place == got.len() {
        return format!("ends after {place} of {} bytes", expected.len());
    }
    if place == expected.len() {
        return format!("continues for {} bytes after the expected end", got.len() - place);
    }
    if let (Ok(text), Err(_)) = (std::str::from_utf8(expected), std::str::from_utf8(got)) {
        let latin1: String = got.iter().map(|&byte| char::from(byte)).collect();
        return if latin1 == text {
            "Latin-1 instead of UTF-8"
        } else {
            "not UTF-8"
        }
        .into();
    }
    if expected.eq_ignore_ascii_case(got) {
        return "upper and lower case differ".into();
    }
    format!("differs at byte {place}")
}

pub(super) fn contains(expected: &[u8], body: &[u8]) -> Result<(), Mismatch> {
    if find(body, expected) {
        return Ok(());
    }
    Err(Mismatch::new(
        "body",
        format!("a body with `{}` in it", excerpt(expected)),
        excerpt(body),
    ))
}

fn find(body: &[u8], wanted: &[u8]) -> bool {
    memchr::memmem::find(body, wanted).is_some()
}
