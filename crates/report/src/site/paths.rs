//! Where the files of a site lie. A name becomes a file name that every file system and every address takes as it stands, and
//! two names never become the same one.

use prony_records::ServiceId;

/// The page of all boards.
pub(super) const FIRST: &str = "index.html";
/// The page of all services.
pub(super) const SERVICES: &str = "services.html";
/// The feed.
pub(super) const FEED: &str = "feed.xml";

/// Characters from which on a name is cut: a file system takes 255 with the ending.
const LONG: usize = 120;
/// What is kept of a name that is cut.
const KEPT: usize = 96;

/// The report of a run.
pub(super) fn run_page(run: &str) -> String {
    format!("boards/{}.html", name(run))
}

/// A service over all boards.
pub(super) fn service_page(service: &str) -> String {
    format!("services/{}.html", name(service))
}

/// What changed from the run before to this one.
pub(super) fn changes_page(run: &str) -> String {
    format!("changes/{}.html", name(run))
}

/// The badge of a service on a board. It says nothing of a run: it stays where it is when the next one comes.
pub(super) fn badge(id: &ServiceId, suite: &str, board: &str) -> String {
    let board = format!("{}-{}", name(suite), worded(board));
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
        // A file that begins with a dot is hidden, and two dots are the folder above.
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

/// What is too long keeps its begin, and a number that tells it from others.
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

/// Words with `-` between them.
fn worded(text: &str) -> String {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// Text as a part of an address.
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
