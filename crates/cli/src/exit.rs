//! Exit codes, and how errors are reported.

use crate::colour;
use crate::output::{print, print_note};
use crate::signals;
use prony_config::ConfigError;
use prony_config::format::Diagnostics;
use prony_generator::EngineError;
use prony_records::SCHEMA;
use prony_runner::CommandError;
use serde::Serialize;
use serde_json::{Value, json};
use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::io::IsTerminal as _;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Exit code 0.
    Fine,
    /// Exit code 3: an objective, check or comparison failed.
    ObjectiveFailed,
    /// Exit code 2: files are wrong, and their errors were shown.
    Invalid,
    /// Exit code 130 or 143: Ctrl-C or TERM stopped the command early. Results so far were printed, but nothing was judged.
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Invalid => 2,
            Self::ObjectiveFailed => 3,
            Self::Interrupted => signals::code(),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The kind of an error in JSON output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorKind {
    /// The command line is wrong.
    Usage,
    /// The input is wrong: a file, a URL, a name.
    Input,
    /// No connection could be made.
    Connect,
    /// Anything else.
    Internal,
}

/// The user stopped a load before there was anything to report.
#[derive(Debug, thiserror::Error)]
#[error("stopped before the measurement began: there is nothing to report")]
pub(crate) struct StoppedEarly;

/// Bad usage or input: exit code 2. Wrap an error in it with [`bad_input`].
#[derive(Debug)]
pub(crate) struct BadInput(anyhow::Error);

impl fmt::Display for BadInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&error_text(&self.0))
    }
}

impl Error for BadInput {}

/// The errors of files that are the cause of an error, with paths relative to the working directory.
pub(crate) fn files_of(error: &anyhow::Error) -> Option<Diagnostics> {
    let found = error.chain().find_map(|cause| {
        if let Some(BadInput(inner)) = cause.downcast_ref() {
            return files_of(inner);
        }
        match (cause.downcast_ref(), cause.downcast_ref()) {
            (Some(CommandError::Files(found)), _) | (_, Some(ConfigError::Files(found))) => {
                Some(found.clone())
            }
            _ => None,
        }
    })?;
    Some(relative(found))
}

/// The errors with paths relative to the working directory.
pub(crate) fn relative(found: Diagnostics) -> Diagnostics {
    match std::env::current_dir() {
        Ok(here) => found.relative_to(&here),
        Err(_) => found,
    }
}

/// Shows the errors of files on standard error.
pub(crate) fn show_files(found: &Diagnostics) {
    eprintln!("{}", found.text(colour::of_errors(&std::io::stderr())));
}

/// The errors of files in JSON output.
pub(crate) fn files_json(found: &Diagnostics) -> Value {
    json!({ "kind": ErrorKind::Input, "text": found.summary(), "advice": null, "files": found })
}

/// Marks an error as one that the user can fix: exit code 2 instead of 1.
pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> anyhow::Error {
    anyhow::Error::new(BadInput(error.into()))
}

/// Whether the command line has `--json`, even if it is otherwise invalid.
pub(crate) fn wants_json(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut before_dashes = arguments.take_while(|argument| argument != "--");
    before_dashes.any(|argument| argument == "--json")
}

/// Reports an invalid command line, or prints the help that it asks for.
pub(crate) fn usage(error: &clap::Error, json: bool) -> ExitCode {
    let is_error = error.use_stderr();
    if is_error {
        let has_colours = std::io::stderr().is_terminal() && colour::is_allowed();
        let text = error.render();
        let text = if has_colours {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        // The value of an argument may be a secret.
        print_note(text.trim_end());
    } else {
        // A lost terminal is no reason to end differently.
        let _ = error.print();
    }
    if is_error && json {
        let text = error.to_string();
        let (text, advice) = text.split_once("\n\n").unwrap_or((text.as_str(), ""));
        let text = text.trim_start_matches("error: ").trim();
        tell_json(
            2,
            ErrorKind::Usage,
            text,
            Some(advice.trim()).filter(|advice| !advice.is_empty()),
        );
    }
    ExitCode::from(error.exit_code() as u8)
}

/// The object that `--json` prints if there is no result.
pub(crate) fn error_json(exit: Exit, kind: ErrorKind, text: &str, advice: Option<&str>) -> Value {
    let mut all = object(exit.code(), kind, text, advice);
    if exit == Exit::ObjectiveFailed {
        all["verdict"] = "failed".into();
        all["warnings"] = json!([]);
    }
    all
}

fn object(exit: u8, kind: ErrorKind, text: &str, advice: Option<&str>) -> Value {
    json!({ "schema": SCHEMA, "exit": exit, "error": { "kind": kind, "text": text, "advice": advice } })
}

fn tell_json(exit: u8, kind: ErrorKind, text: &str, advice: Option<&str>) {
    // The exit code reports the error even if printing fails.
    let _ = print(&object(exit, kind, text, advice).to_string());
}

/// An error with its causes, each only once: the texts of many errors contain the text of their cause.
pub(crate) fn error_text(error: &anyhow::Error) -> String {
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

/// Reports to the user what failed, and returns the exit code.
pub(crate) fn explain(error: &anyhow::Error, json: bool) -> ExitCode {
    let files = files_of(error);
    match &files {
        Some(files) => show_files(files),
        None => eprintln!("prony: {}", error_text(error)),
    }
    let bench = || error.chain().find_map(<dyn Error>::downcast_ref::<CommandError>);
    let engine = || error.chain().find_map(<dyn Error>::downcast_ref::<EngineError>);
    let (code, kind) = if files.is_some()
        || error.chain().any(<dyn Error>::is::<BadInput>)
        || bench().is_some_and(CommandError::is_bad_input)
    {
        (2, ErrorKind::Input)
    } else if error.is::<StoppedEarly>() || bench().is_some_and(CommandError::is_interrupted) {
        (Exit::Interrupted.code(), ErrorKind::Internal)
    } else if matches!(engine(), Some(EngineError::Unreachable { .. })) {
        (1, ErrorKind::Connect)
    } else {
        (1, ErrorKind::Internal)
    };
    if json {
        let advice = engine().and_then(EngineError::advice);
        let mut all = object(code, kind, &error_text(error), advice);
        if let Some(files) = files {
            all["error"] = files_json(&files);
        }
        // The exit code reports the error even if printing fails.
        let _ = print(&all.to_string());
    }
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_printed_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("operation `a`: {source}")]
        struct Outer {
            source: fmt::Error,
        }
        let error = bad_input(Outer { source: fmt::Error });
        let cause = fmt::Error.to_string();
        assert_eq!(error_text(&error), format!("operation `a`: {cause}"));
        let wrapped = error.context("reading");
        assert_eq!(error_text(&wrapped), format!("reading: operation `a`: {cause}"));
    }

    #[test]
    fn json_is_wanted_before_the_dashes_only() {
        let wants = |line: &str| wants_json(line.split(' ').map(OsString::from));
        assert!(wants("prony load --json x"));
        assert!(!wants("prony load x -- --json"));
    }
}
