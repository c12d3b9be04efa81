//! The API key. It is read from the environment only, and masked in all output: a server may echo it.

use crate::commands::load::input::JobError;
use prony_records::Recording;

/// The environment variable with the key.
const VARIABLE: &str = "PRONY_API_KEY";
/// Replaces the key.
const MASK: &str = "***";
/// Number of leading bytes by which the key is recognized in a text that was cut.
const BEGIN: usize = 8;

/// A key. It cannot be shown by mistake: it is not `Debug`.
pub(super) struct Key(String);

impl Key {
    /// Reads the key, if there is one.
    pub(super) fn of_environment() -> Result<Option<Self>, JobError> {
        let Some(value) = std::env::var_os(VARIABLE) else {
            return Ok(None);
        };
        let value = value.into_string().map_err(|_| JobError::Key(VARIABLE))?;
        Self::read(&value)
    }

    fn read(value: &str) -> Result<Option<Self>, JobError> {
        let value = value.trim();
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(JobError::Key(VARIABLE));
        }
        Ok((!value.is_empty()).then(|| Self(value.to_owned())))
    }

    /// The value of `Authorization`.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Masks the key in a text, even if only the start of the key is there.
    pub(super) fn mask(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let both = rest.bytes().zip(self.0.bytes());
            let same = both.take_while(|(one, other)| one == other).count();
            if same >= BEGIN.min(self.0.len()) {
                masked.push_str(MASK);
                rest = &rest[same..];
            } else {
                masked.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
        masked
    }
}

/// Masks the key in texts from the server.
pub(in crate::commands::load) fn mask(recording: &mut Recording) {
    let Ok(Some(key)) = Key::of_environment() else {
        return;
    };
    for wrong in &mut recording.unexpected_replies {
        for text in [&mut wrong.what, &mut wrong.expected, &mut wrong.got] {
            *text = key.mask(text);
        }
    }
    for warning in &mut recording.warnings {
        warning.text = key.mask(&warning.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_removed_from_any_text() {
        let key = Key::read(" sk-abcdefghijkl\n").ok().flatten().expect("a key");
        assert_eq!(key.bearer(), "Bearer sk-abcdefghijkl");
        for (text, masked) in [
            ("", ""),
            ("nothing of it: sk-abc", "nothing of it: sk-abc"),
            ("`sk-abcdefghijkl` is wrong", "`***` is wrong"),
            ("sk-abcdefghijklsk-abcdefghijkl", "******"),
            ("ü sk-abcdefgh… (900 bytes)", "ü ***… (900 bytes)"),
            ("sk-sk-abcdefghijkl", "sk-***"),
        ] {
            assert_eq!(key.mask(text), masked);
        }
    }

    #[test]
    fn what_is_no_header_is_no_key() {
        for wrong in ["two words", "a\nb", "schlüssel"] {
            let error = Key::read(wrong).err().expect("no key").to_string();
            assert!(error.contains(VARIABLE) && !error.contains(wrong), "{error}");
        }
        assert!(Key::read(" \n").is_ok_and(|key| key.is_none()));
    }
}
