//! Starts a supervisor, and receives its notices.

use super::pipes::Pipes;
use crate::HostError;
use crate::supervisor::SupervisorEvent;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The callback for notices that were not requested.
pub(super) type NotificationSink = Arc<Mutex<Option<Box<dyn Fn() + Send>>>>;

pub(super) fn spawn(supervisor: &[OsString], pipes: &Pipes) -> Result<Child, HostError> {
    let failed = |error| HostError::Supervisor {
        program: supervisor
            .first()
            .map(|program| program.to_string_lossy().into_owned())
            .unwrap_or_default(),
        error,
    };
    let Some((program, arguments)) = supervisor.split_first() else {
        return Err(failed(std::io::ErrorKind::NotFound.into()));
    };
    let inherited = pipes.theirs();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    // SAFETY: two system calls between fork and exec, on descriptors that this function's caller holds open.
    unsafe {
        command.pre_exec(move || {
            for fd in inherited.iter().flat_map(|(input, output)| [*input, *output]) {
                // Only the supervisor inherits them, not a process that another thread starts at this moment.
                fcntl(BorrowedFd::borrow_raw(fd), FcntlArg::F_SETFD(FdFlag::empty()))?;
            }
            Ok(())
        });
    }
    command.spawn().map_err(failed)
}

/// Reads the notices in a separate thread, so that a supervisor never waits for us to read.
pub(super) fn listen(
    output: impl Read + Send + 'static,
    news: NotificationSink,
) -> Receiver<SupervisorEvent> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let Ok(notice) = serde_json::from_str(&line) else {
                return;
            };
            let unasked = matches!(
                notice,
                SupervisorEvent::Ended(_) | SupervisorEvent::LogLost { .. }
            );
            if sender.send(notice).is_err() {
                return;
            }
            if unasked && let Some(tell) = &*news.lock().unwrap_or_else(PoisonError::into_inner) {
                tell();
            }
        }
    });
    receiver
}
