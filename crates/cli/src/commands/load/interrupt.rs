//! Ctrl-C once: end the load now, wait for what is under way, and say what there is. Twice: end at once.

use crate::exit::INTERRUPTED;
use anyhow::Context as _;
use prony_records::Command;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use std::sync::mpsc::{self, Receiver};

/// Commands that a person gives with Ctrl-C, as long as the process lives.
pub(super) fn commands() -> anyhow::Result<Receiver<Command>> {
    let mut signals = Signals::new([SIGINT]).context("cannot listen for Ctrl-C")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for (count, _) in signals.forever().enumerate() {
            // A load that is over already takes no command any more: then there is nothing to wait for either.
            if count > 0 || sender.send(Command::Stop).is_err() {
                signal_hook::low_level::exit(INTERRUPTED.into());
            }
            eprintln!(
                "\nprony: ending now and waiting for the replies under way; press Ctrl-C again to give them up"
            );
        }
    });
    Ok(receiver)
}
