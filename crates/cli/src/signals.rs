//! Ctrl-C once: finish the trial and report. Twice, or TERM: stop now and report the results so far.

use anyhow::Context as _;
use prony_runner::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

/// The last signal that requested the end; 0 before the first.
static HEARD: AtomicI32 = AtomicI32::new(0);

/// The exit code after a signal: 130 after Ctrl-C, 143 after TERM.
pub(crate) fn code() -> u8 {
    match HEARD.load(Ordering::SeqCst) {
        0 => 128 + SIGINT as u8,
        signal => 128 + signal as u8,
    }
}

/// Listens for signals in a thread, for the lifetime of the process.
pub(crate) fn listen() -> anyhow::Result<Cancel> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for signals")?;
    let cancel = Cancel::new();
    let asked = cancel.clone();
    thread::spawn(move || {
        for signal in &mut signals {
            HEARD.store(signal, Ordering::SeqCst);
            match signal {
                SIGINT if asked.ask() == 1 => {
                    eprintln!("\nprony: stopping after this trial; press Ctrl-C again to stop now");
                }
                SIGINT => eprintln!("\nprony: stopping now"),
                _ => asked.ask_now(),
            }
        }
    });
    Ok(cancel)
}
