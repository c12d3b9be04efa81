//! Ctrl-C once: stop the load, wait for requests in flight, and report the result so far. Twice: exit at once.

use crate::exit::INTERRUPTED;
use anyhow::Context as _;
use prony_records::Command;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use std::sync::mpsc::{self, Receiver};

/// Commands that the user sends with Ctrl-C, for the lifetime of the process.
pub(super) fn commands() -> anyhow::Result<Receiver<Command>> {
    let mut signals = Signals::new([SIGINT]).context("cannot listen for Ctrl-C")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for (count, _) in signals.forever().enumerate() {
            // After the end of a load nothing receives commands, and there is nothing to wait for either.
            if count > 0 || sender.send(Command::Stop).is_err() {
                signal_hook::low_level::exit(INTERRUPTED.into());
            }
            eprintln!(
                "\nprony: stopping and waiting for the replies in flight; press Ctrl-C again to exit at once"
            );
        }
    });
    Ok(receiver)
}
