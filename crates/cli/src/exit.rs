//! Exit codes, and how an error is told.

use std::fmt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Exit code 0.
    Fine,
    /// Exit code 3: an objective, check or comparison failed.
    ObjectiveFailed,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Fine => Self::SUCCESS,
            Exit::ObjectiveFailed => Self::from(3),
        }
    }
}

/// Bad usage or input: exit code 2. Wrap an error in it with [`bad_input`].
#[derive(Debug)]
pub(crate) struct BadInput(anyhow::Error);

impl fmt::Display for BadInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#}", self.0)
    }
}

impl std::error::Error for BadInput {}

/// Marks an error as the user's: exit code 2 instead of 1.
pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> anyhow::Error {
    anyhow::Error::new(BadInput(error.into()))
}

/// Tells the user what failed, and gives the exit code.
pub(crate) fn explain(error: &anyhow::Error) -> ExitCode {
    eprintln!("prony: {error:#}");
    if error.chain().any(<dyn std::error::Error>::is::<BadInput>) {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}
