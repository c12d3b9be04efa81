//! Ctrl-C once: finish the trial and report. Twice, or TERM: stop now and report what there is.

use anyhow::Context as _;
use prony_trial::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::thread;

/// Listens in a thread of its own, as long as the process lives.
pub(crate) fn listen(cancel: &Cancel) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for signals")?;
    let cancel = cancel.clone();
    thread::spawn(move || {
        for signal in &mut signals {
            match signal {
                SIGINT if cancel.ask() == 1 => {
                    eprintln!("\nprony: ending after this trial; press Ctrl-C again to stop now");
                }
                SIGINT => eprintln!("\nprony: stopping now"),
                _ => cancel.ask_now(),
            }
        }
    });
    Ok(())
}
