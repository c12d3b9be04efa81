//! Names of runs. A name is also that of a file and of a folder, and a record may come from anyone: a name must never lead out
//! of the folder in which it is used.

/// Maximum length, bytes: file names made from it have room for a suffix.
const LONGEST: usize = 200;

/// The error for a name that no run can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot be the name of a run: {reason}", .name.escape_debug())]
pub struct RunNameError {
    name: String,
    reason: &'static str,
}

/// Checks that a run can have this name: one component of a path, on one line, and not the word `latest`.
pub fn check_run_name(name: &str) -> Result<(), RunNameError> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.len() > LONGEST {
        "it has more than 200 bytes"
    } else if name == "latest" {
        "that word means the newest run"
    } else if name.starts_with('.') || name.starts_with('-') {
        "it begins with a dot or a hyphen"
    } else if name.contains(['/', '\\']) || name.contains(char::is_control) {
        "it has a slash, a backslash or a control character"
    } else {
        return Ok(());
    };
    Err(RunNameError {
        name: name.chars().take(LONGEST).collect(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_component_of_a_path() {
        for name in [
            "2026-11-21T08-30-00-quick",
            "2026-11-21T08-30-00-my süite-2",
            "before",
            "a..b",
        ] {
            assert_eq!(check_run_name(name), Ok(()), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "../x",
            "x/../../y",
            "/etc/x",
            "a/b",
            "a\\b",
            ".hidden",
            "-x",
            "latest",
            "a\nb",
            "a\0",
            "\u{1b}[2J",
            &"x".repeat(201),
        ] {
            let error = check_run_name(name).expect_err(name).to_string();
            assert!(!error.contains(char::is_control), "{error}");
        }
    }
}
