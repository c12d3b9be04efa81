//! Exit codes, and how errors are reported.

mod usage_error;

use crate::output::{print, print_note};
use crate::{colour, signals, text};
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
use std::io::IsTerminal;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Exit code 0.
    Fine,
    /// Exit code 1: something could not be done, as the output says.
    Failed,
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
            Self::Failed => 1,
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
    let code = error.exit_code() as u8;
    if !error.use_stderr() {
        // A lost terminal is no reason to end differently.
        let _ = print(help_text(error, &std::io::stdout()).trim_end());
        return ExitCode::from(code);
    }
    let (text, advice) = if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        print_note(help_text(error, &std::io::stderr()).trim_end());
        (
            "no command or argument was given".to_owned(),
            "See the help.".to_owned(),
        )
    } else {
        let (text, advice) = usage_error::parts(error);
        show_error(&text, Some(&advice));
        (text, advice)
    };
    if json {
        // The exit code reports the error even if printing fails.
        let _ = print(&object(code, ErrorKind::Usage, &text, Some(&advice)).to_string());
    }
    ExitCode::from(code)
}

fn help_text(error: &clap::Error, stream: &impl IsTerminal) -> String {
    let text = error.render();
    if colour::is_wanted(stream) {
        text.ansi().to_string()
    } else {
        text.to_string()
    }
}

/// Shows what is wrong, and what to do about it after an arrow. Only a terminal gets wrapped lines: programs that read an error look
/// for its words.
pub(crate) fn show_error(text: &str, advice: Option<&str>) {
    let columns = match terminal_size::terminal_size_of(std::io::stderr()) {
        Some((width, _)) => usize::from(width.0).min(text::WIDEST),
        None => usize::MAX,
    };
    let lines = format!("prony: {text}");
    let lines = lines.split('\n').map(|line| {
        let indent = line.len() - line.trim_start().len();
        text::wrapped(line, columns, 0, indent + 2)
    });
    let mut shown = lines.collect::<Vec<_>>().join("\n");
    if let Some(advice) = advice {
        let advice = text::wrapped(advice, columns, 4, 4);
        shown = format!("{shown}\n  → {advice}");
    }
    print_note(&shown);
}

/// The parts of an error: what is wrong, and what to do. Messages have an arrow between them.
fn two_parts(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(" → ") {
        Some((text, advice)) => (text, Some(advice)),
        None => (text, None),
    }
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

/// An error with its causes, each only once: the texts of many errors contain the text of their cause. Advice comes last; that of the
/// outer error knows more about what the user wants.
pub(crate) fn error_text(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let mut advice: Option<String> = None;
    for cause in error.chain().map(ToString::to_string) {
        let (cause, own) = two_parts(&cause);
        if text.is_empty() {
            cause.clone_into(&mut text);
        } else if !text.contains(cause) {
            text = format!("{text}: {cause}");
        }
        advice = advice.or_else(|| own.map(str::to_owned));
    }
    match advice {
        Some(advice) => format!("{text} → {advice}"),
        None => text,
    }
}

/// Reports to the user what failed, and returns the exit code.
pub(crate) fn explain(error: &anyhow::Error, json: bool) -> ExitCode {
    let files = files_of(error);
    let engine = || error.chain().find_map(<dyn Error>::downcast_ref::<EngineError>);
    let whole = error_text(error);
    let (text, advice) = two_parts(&whole);
    let advice = advice.or_else(|| engine().and_then(EngineError::advice));
    match &files {
        Some(files) => show_files(files),
        None => show_error(text, advice),
    }
    let bench = || error.chain().find_map(<dyn Error>::downcast_ref::<CommandError>);
    let (code, kind) = if files.is_some()
        || error.chain().any(<dyn Error>::is::<BadInput>)
        || bench().is_some_and(CommandError::is_bad_input)
    {
        (2, ErrorKind::Input)
    } else if error.is::<StoppedEarly>() || bench().is_some_and(CommandError::is_interrupted) {
        (Exit::Interrupted.code(), ErrorKind::Internal)
    } else if matches!(
        engine(),
        Some(EngineError::Unreachable { .. } | EngineError::Resolve { .. })
    ) {
        (1, ErrorKind::Connect)
    } else {
        (1, ErrorKind::Internal)
    };
    if json {
        let mut all = object(code, kind, text, advice);
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
    fn advice_comes_after_all_causes() {
        let error = anyhow::anyhow!("permission denied").context("cannot write a → Name another path.");
        assert_eq!(
            error_text(&error),
            "cannot write a: permission denied → Name another path."
        );
        let error = anyhow::anyhow!("no run `x` → Try `prony list runs`.").context("cannot show it");
        assert_eq!(
            error_text(&error),
            "cannot show it: no run `x` → Try `prony list runs`."
        );
    }

    #[test]
    fn advice_follows_the_last_arrow() {
        assert_eq!(
            two_parts("no run `a` → b → `prony list runs`"),
            ("no run `a` → b", Some("`prony list runs`"))
        );
        assert_eq!(two_parts("no run `a`"), ("no run `a`", None));
    }

    #[test]
    fn json_is_wanted_before_the_dashes_only() {
        let wants = |line: &str| wants_json(line.split(' ').map(OsString::from));
        assert!(wants("prony load --json x"));
        assert!(!wants("prony load x -- --json"));
    }
}
