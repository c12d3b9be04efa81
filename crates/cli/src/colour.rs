//! Colours of text on a terminal: which there are, and whether they are wanted.

use prony_config::format::DiagnosticColours;
use std::io::IsTerminal;

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

/// Whether the environment allows colours: not with `NO_COLOR`, nor on a terminal that knows none.
pub(crate) fn is_allowed() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !forbidden && !dumb
}

/// The colours of errors in files, for a stream that is a terminal or is not.
pub(crate) fn of_errors(stream: &impl IsTerminal) -> DiagnosticColours {
    if stream.is_terminal() && is_allowed() {
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
