//! Paths of the files of a site. A name becomes a file name that every file system and every URL accepts unchanged, and
//! different names never become the same one.

use prony_records::ServiceId;

/// The page of all rankings.
pub(super) const FIRST: &str = "index.html";
/// The page of all services.
pub(super) const SERVICES: &str = "services.html";
pub(super) const FEED: &str = "feed.xml";

/// Longer names are cut, characters: a file system accepts 255 including the extension.
const LONG: usize = 120;
/// Characters that are kept of a name that is cut.
const KEPT: usize = 96;

/// The page with the report of a run.
pub(super) fn run_page(run: &str) -> String {
    format!("boards/{}.html", name(run))
}

/// The page of a service over all rankings.
pub(super) fn service_page(service: &str) -> String {
    format!("services/{}.html", name(service))
}

/// The page of the changes from the previous run to this one.
pub(super) fn changes_page(run: &str) -> String {
    format!("changes/{}.html", name(run))
}

/// The badge of a service in a ranking. Its path does not contain the run, so it stays valid after the next run.
pub(super) fn badge(id: &ServiceId, suite: &str, board: &str) -> String {
    let board = format!("{}-{}", name(suite), slug(board));
    format!(
        "badges/{}/{}/{}.svg",
        name(&id.service),
        name(&id.variant),
        cut(board)
    )
}

/// Letters, digits, `-`, `_` and `.` stay; every other byte becomes `~` and two hexadecimal digits.
fn name(text: &str) -> String {
    let mut out = String::new();
    for (at, byte) in text.bytes().enumerate() {
        // A file whose name starts with a dot is hidden, and two dots are the parent folder.
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && at > 0);
        if plain {
            out.push(char::from(byte));
        } else {
            out += &format!("~{byte:02x}");
        }
    }
    if out.is_empty() {
        out.push('~');
    }
    cut(out)
}

/// Cuts a name that is too long, and appends a number that distinguishes it from others.
fn cut(text: String) -> String {
    if text.len() <= LONG {
        return text;
    }
    // FNV-1a: the same on every machine and in every version.
    let number = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}~{number:016x}", &text[..KEPT])
}

/// Words joined by `-`.
fn slug(text: &str) -> String {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// Text as part of a URL.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn usual_names_stay_as_they_are() {
        assert_eq!(
            run_page("2026-11-21T08-30-00-quick"),
            "boards/2026-11-21T08-30-00-quick.html"
        );
        assert_eq!(service_page("go-nethttp"), "services/go-nethttp.html");
        let id = ServiceId {
            service: "axum".to_owned(),
            variant: "0.8".to_owned(),
        };
        assert_eq!(
            badge(&id, "quick", "hello · closed loop on 64 connections"),
            "badges/axum/0.8/quick-hello-closed-loop-on-64-connections.svg"
        );
    }

    #[test]
    fn no_name_leaves_its_folder() {
        assert_eq!(
            service_page("../../etc/passwd"),
            "services/~2e.~2f..~2fetc~2fpasswd.html"
        );
        assert_eq!(service_page(""), "services/~.html");
        assert_eq!(encoded("a b/c+é"), "a%20b%2Fc%2B%C3%A9");
    }

    proptest! {
        #[test]
        fn different_names_stay_different(one in ".{0,200}", other in ".{0,200}") {
            prop_assert_eq!(one == other, name(&one) == name(&other));
            prop_assert!(name(&one).len() <= LONG);
        }
    }
}
