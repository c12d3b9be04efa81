//! Processes that end by themselves: the commands of builds, and scripts.

use prony_host::{Ending, Process};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// How the wait for a process ended.
pub(crate) enum Ended {
    /// It ended.
    Itself(Ending),
    /// The user had enough.
    Cancelled,
    /// It goes on.
    TooLong,
}

/// Waits until a process has ended.
pub(crate) fn until_ended(
    process: &mut dyn Process,
    within: Duration,
    is_cancelled: impl Fn() -> bool,
) -> Ended {
    let began = Instant::now();
    loop {
        if let Some(ending) = process.ended() {
            return Ended::Itself(ending);
        }
        if is_cancelled() {
            return Ended::Cancelled;
        }
        if began.elapsed() > within {
            return Ended::TooLong;
        }
        thread::sleep(LOOK);
    }
}

/// A word of a shell's command line.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/:=@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
