//! Colours of text on a terminal: which there are, and whether they are wanted.

use clap::{ColorChoice, ValueEnum as _};
use prony_config::format::DiagnosticColours;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

pub(crate) const RED: &str = "\x1b[31m";
pub(crate) const GREEN: &str = "\x1b[32m";
pub(crate) const YELLOW: &str = "\x1b[33m";
const BOLD_RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// Colours texts, or leaves them as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    pub(crate) fn with(self, colour: &str, text: &str) -> String {
        if self.0 {
            format!("{colour}{text}{PLAIN}")
        } else {
            text.to_owned()
        }
    }
}

/// The value of `--color`.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Reads `--color` from the command line, even if it is otherwise invalid: its errors have colours as well.
pub(crate) fn choose(arguments: impl Iterator<Item = OsString>) {
    let _ = CHOICE.set(choice(arguments));
}

fn choice(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let mut before_dashes = arguments.take_while(|argument| argument != "--");
    let mut found = None;
    while let Some(argument) = before_dashes.next() {
        let Some(rest) = argument.to_str().and_then(|text| text.strip_prefix("--color")) else {
            continue;
        };
        found = match rest.strip_prefix('=') {
            Some(value) => Some(value.to_owned()),
            None if rest.is_empty() => before_dashes.next().and_then(|value| value.into_string().ok()),
            None => found,
        };
    }
    let found = found.and_then(|value| ColorChoice::from_str(&value, true).ok());
    found.unwrap_or(ColorChoice::Auto)
}

/// Whether text on this stream has colours. By default a terminal has them, except with `NO_COLOR` or `TERM=dumb`.
pub(crate) fn is_wanted(stream: &impl IsTerminal) -> bool {
    match CHOICE.get() {
        Some(ColorChoice::Always) => true,
        Some(ColorChoice::Never) => false,
        _ => stream.is_terminal() && is_allowed(),
    }
}

fn is_allowed() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !forbidden && !dumb
}

/// The colours of errors in files, for a stream that is a terminal or is not.
pub(crate) fn of_errors(stream: &impl IsTerminal) -> DiagnosticColours {
    if is_wanted(stream) {
        DiagnosticColours {
            error: BOLD_RED,
            mark: RED,
            help: GREEN,
            end: PLAIN,
        }
    } else {
        DiagnosticColours::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_choice_before_the_dashes_counts() {
        for (line, expected) in [
            ("prony load x", ColorChoice::Auto),
            ("prony load x --color never", ColorChoice::Never),
            ("prony --color=always load x", ColorChoice::Always),
            ("prony --color=always load x --color never", ColorChoice::Never),
            ("prony load x --color", ColorChoice::Auto),
            ("prony load x --color blue", ColorChoice::Auto),
            ("prony load x -- --color never", ColorChoice::Auto),
        ] {
            let arguments = line.split(' ').map(OsString::from);
            assert_eq!(choice(arguments), expected, "{line}");
        }
    }
}
