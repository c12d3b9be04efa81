//! Exit codes, and how an error is told.

use crate::signals;
use prony_bench::BenchError;
use std::error::Error;
use std::fmt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Exit code 0.
    Fine,
    /// Exit code 3: an objective, check or comparison failed.
    ObjectiveFailed,
    /// Exit code 130 or 143: Ctrl-C or TERM ended it before its time; what there is was said, and nothing was judged.
    Interrupted,
}

/// Exit code after Ctrl-C, as shells have it: 128 and the number of the signal.
pub(crate) const INTERRUPTED: u8 = 130;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Fine => Self::SUCCESS,
            Exit::ObjectiveFailed => Self::from(3),
            Exit::Interrupted => Self::from(signals::code()),
        }
    }
}

/// Bad usage or input: exit code 2. Wrap an error in it with [`bad_input`].
#[derive(Debug)]
pub(crate) struct BadInput(anyhow::Error);

impl fmt::Display for BadInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&told(&self.0))
    }
}

impl Error for BadInput {}

/// Marks an error as the user's: exit code 2 instead of 1.
pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> anyhow::Error {
    anyhow::Error::new(BadInput(error.into()))
}

/// An error with its causes, each of them once: the text of many errors holds that of their cause.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Tells the user what failed, and gives the exit code.
pub(crate) fn explain(error: &anyhow::Error) -> ExitCode {
    eprintln!("prony: {}", told(error));
    let bench = || error.chain().find_map(<dyn Error>::downcast_ref::<BenchError>);
    if error.chain().any(<dyn Error>::is::<BadInput>) || bench().is_some_and(BenchError::is_bad_input) {
        ExitCode::from(2)
    } else if bench().is_some_and(BenchError::is_interrupted) {
        Exit::Interrupted.into()
    } else {
        ExitCode::FAILURE
    }
}
