//! Waits for processes that end by themselves: commands of builds, and scripts.

use prony_host::{ExitReport, Process};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which the process is checked.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) enum ScriptExit {
    /// The process has ended.
    Itself(ExitReport),
    Cancelled,
    /// The timeout has expired; the process is still running.
    TooLong,
}

pub(crate) fn until_ended(
    process: &mut dyn Process,
    within: Duration,
    is_cancelled: impl Fn() -> bool,
) -> ScriptExit {
    let began = Instant::now();
    loop {
        if let Some(ending) = process.ended() {
            return ScriptExit::Itself(ending);
        }
        if is_cancelled() {
            return ScriptExit::Cancelled;
        }
        if began.elapsed() > within {
            return ScriptExit::TooLong;
        }
        thread::sleep(LOOK);
    }
}

/// Quotes a word for a shell command line.
pub(crate) fn quoted(word: &str) -> String {
    // A process with a NUL in its arguments does not start, and that error is the better message.
    let shell = shlex::Quoter::new().allow_nul(true);
    shell
        .quote(word)
        .expect("invariant: only NUL cannot be quoted")
        .into_owned()
}
