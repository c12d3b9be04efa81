//! The secret that a request to `prony serve` must know: other users of the machine reach the port, too.

use crate::exit::bad_input;
use anyhow::{Context as _, anyhow};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Random bytes of a token.
const BYTES: usize = 32;
/// Lengths of a token in a file.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=256;

/// A token: letters, digits and `-`, `_`, `.`, `~`, which need no encoding in a URL. It is never shown by `Debug`.
pub(super) struct Token(String);

impl Token {
    /// A new one, which cannot be guessed.
    pub(super) fn random() -> Self {
        let bytes: [u8; BYTES] = rand::random();
        Self(bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }

    /// The token in a file. The file is created with a new token, for its owner alone, if it does not exist.
    pub(super) fn of_file(path: &Path) -> anyhow::Result<Self> {
        match Self::create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::read(path),
            created => created
                .with_context(|| format!("cannot write the token file {}", path.display()))
                .map_err(bad_input),
        }
    }

    fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let token = Self::random();
        writeln!(file, "{}", token.0)?;
        Ok(token)
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(*LENGTHS.end() as u64 + 16).read_to_string(&mut text))
            .with_context(|| format!("cannot read the token file {}", path.display()))
            .map_err(bad_input)?;
        let token = text.trim();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.~".contains(letter);
        if LENGTHS.contains(&token.len()) && token.chars().all(plain) {
            return Ok(Self(token.to_owned()));
        }
        Err(bad_input(anyhow!(
            "{} has no token → Write {} to {} random letters and digits into it, or delete it, and prony creates it.",
            path.display(),
            LENGTHS.start(),
            LENGTHS.end()
        )))
    }

    /// The token, to be shown or sent.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is the token. How long that takes says nothing about how much of it is right.
    pub(super) fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let differences = own
            .iter()
            .zip(given)
            .fold(0, |sum, (own, given)| sum | (own ^ given));
        own.len() == given.len() && differences == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn tokens_differ_and_are_recognised() {
        let (one, other) = (Token::random(), Token::random());
        assert_eq!(one.reveal().len(), 2 * BYTES);
        assert!(one.is(one.reveal()) && !one.is(other.reveal()));
        assert!(!one.is("") && !one.is(&one.reveal()[1..]) && !one.is(&format!("{}0", one.reveal())));
    }

    #[test]
    fn a_file_gives_its_token_and_is_created_for_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let created = Token::of_file(&path).expect("creates it");
        assert!(Token::of_file(&path).expect("reads it").is(created.reveal()));
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for text in [
            "",
            "short",
            "with a space in the middle of the token",
            &"x".repeat(257),
        ] {
            std::fs::write(&path, text).expect("writes");
            let Err(refused) = Token::of_file(&path) else {
                panic!("{text} is no token");
            };
            assert!(refused.to_string().contains("has no token"), "{refused}");
        }
    }
}
