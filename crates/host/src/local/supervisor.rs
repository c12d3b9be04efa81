//! A supervisor as a child process: starts it, with the pipes to the process that it runs, and receives its events.

use crate::HostError;
use crate::Stdio;
use crate::supervisor::SupervisorEvent;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::unistd::pipe2;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
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

/// Both ends of the pipes: those of the process and ours.
pub(super) struct Pipes {
    theirs: Option<(OwnedFd, OwnedFd)>,
    pub(super) ours: Option<(OwnedFd, OwnedFd)>,
}

impl Pipes {
    pub(super) fn make(stdio: Stdio) -> nix::Result<Self> {
        if stdio == Stdio::Logged {
            return Ok(Self::none());
        }
        let (their_input, our_output) = pipe2(OFlag::O_CLOEXEC)?;
        let (our_input, their_output) = pipe2(OFlag::O_CLOEXEC)?;
        Ok(Self {
            theirs: Some((their_input, their_output)),
            ours: Some((our_output, our_input)),
        })
    }

    pub(super) const fn none() -> Self {
        Self {
            theirs: None,
            ours: None,
        }
    }

    pub(super) fn theirs(&self) -> Option<(i32, i32)> {
        self.theirs
            .as_ref()
            .map(|(input, output)| (input.as_raw_fd(), output.as_raw_fd()))
    }

    /// Closes our copies of the process's ends. Otherwise its output would not end when the process does.
    pub(super) fn close_theirs(&mut self) {
        self.theirs = None;
    }
}
