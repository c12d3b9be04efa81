//! The pipes to a process whose input and output are piped.

use crate::Stdio;
use nix::fcntl::OFlag;
use nix::unistd::pipe2;
use std::os::fd::{AsRawFd as _, OwnedFd};

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
