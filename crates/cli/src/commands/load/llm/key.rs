//! The API key. It is read from the environment only.

use crate::commands::load::input::JobError;
use prony_runner::secrets;

/// The environment variable with the key.
const VARIABLE: &str = "PRONY_API_KEY";

/// Makes the key known as a secret, whatever the command is: a server may repeat it.
pub(crate) fn remember_key() {
    if let Some(value) = std::env::var_os(VARIABLE) {
        secrets::add(|known| known.add(value.to_string_lossy().trim()));
    }
}

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_header_is_no_key() {
        for wrong in ["two words", "a\nb", "schlüssel"] {
            let error = Key::read(wrong).err().expect("no key").to_string();
            assert!(error.contains(VARIABLE) && !error.contains(wrong), "{error}");
        }
        assert!(Key::read(" \n").is_ok_and(|key| key.is_none()));
    }
}
