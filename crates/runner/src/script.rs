//! Waits for processes that end by themselves: commands of builds, and scripts.

use prony_host::{Ending, Process};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which the process is checked.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) enum Ended {
    /// The process has ended.
    Itself(Ending),
    Cancelled,
    /// The timeout has expired; the process is still running.
    TooLong,
}

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

/// Quotes a word for a shell command line.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/:=@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
