//! Ctrl-C once: finish the trial, or stop the load and wait for the requests in flight, and report. Twice, or TERM: stop now; a run
//! reports the results so far.

use anyhow::Context as _;
use prony_records::Command;
use prony_runner::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// The last signal that requested the end; 0 before the first.
static LAST_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The exit code after a signal, as in shells 128 plus its number: 130 after Ctrl-C, 143 after TERM.
pub(crate) fn code() -> u8 {
    match LAST_SIGNAL.load(Ordering::SeqCst) {
        0 => 128 + SIGINT as u8,
        signal => 128 + signal as u8,
    }
}

/// Listens for signals in a thread, for the lifetime of the process.
pub(crate) fn listen() -> anyhow::Result<Cancel> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for signals")?;
    let cancel = Cancel::new();
    let requests = cancel.clone();
    thread::spawn(move || {
        for signal in &mut signals {
            LAST_SIGNAL.store(signal, Ordering::SeqCst);
            match signal {
                SIGINT if requests.ask() == 1 => {
                    eprintln!("\nprony: stopping after this trial; press Ctrl-C again to stop now");
                }
                SIGINT => eprintln!("\nprony: stopping now"),
                _ => requests.ask_now(),
            }
        }
    });
    Ok(cancel)
}

/// The commands of a load that the user sends with Ctrl-C, for the lifetime of the process, and those of the sender.
pub(crate) fn load_commands() -> anyhow::Result<(Sender<Command>, Receiver<Command>)> {
    let mut signals = Signals::new([SIGINT]).context("cannot listen for Ctrl-C")?;
    let (sender, receiver) = mpsc::channel();
    let others = sender.clone();
    thread::spawn(move || {
        for (count, _) in signals.forever().enumerate() {
            // After the end of a load nothing receives commands, and there is nothing to wait for either.
            if count > 0 || sender.send(Command::Stop).is_err() {
                signal_hook::low_level::exit(128 + SIGINT);
            }
            eprintln!(
                "\nprony: stopping and waiting for the replies in flight; press Ctrl-C again to exit at once"
            );
        }
    });
    Ok((others, receiver))
}
