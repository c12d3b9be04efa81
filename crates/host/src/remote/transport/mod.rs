//! Ways to an agent: each ends as two streams of bytes on which an agent has announced itself.

mod child;
mod elf;
mod explain;
mod pipe;
mod ssh;
mod upload;

use super::Progress;
use crate::HostError;
use crate::wire::{Greeting, Marker};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
pub use pipe::Pipe;
pub use ssh::Ssh;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::time::Instant;
pub use upload::{Binary, WhySilent};

/// A way to a host.
pub trait Transport: Send + Sync {
    /// Reaches an agent on the host, which is called `host` in messages. Brings prony's binary there first where it is not
    /// there; `tell` hears how far it has come. Ends within bounded time.
    fn open(&self, host: &str, tell: &dyn Fn(Progress)) -> Result<Channel, HostError>;

    /// Whether the agent is on this machine, so that loopback leads to its services.
    fn is_local(&self) -> bool {
        false
    }
}

/// What carries a channel, and ends with it.
pub trait Conduit: Send + std::fmt::Debug {
    /// Closes it, whatever the other side does: both streams end. Takes bounded time.
    fn end(&mut self);

    /// Why it ended, as far as it says so itself; waits a moment for that.
    fn said(&mut self) -> Option<String>;
}

/// Two streams of bytes to an agent that has announced itself.
#[derive(Debug)]
pub struct Channel {
    /// What the agent writes.
    pub input: File,
    /// What the agent reads.
    pub output: File,
    /// What carries them.
    pub conduit: Box<dyn Conduit>,
    /// The protocol that the agent speaks.
    pub protocol: u32,
    /// What came behind its announcement already.
    pub rest: Vec<u8>,
}

/// Why no marker came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// The stream ended.
    Ended,
    /// The time was over.
    Late,
    /// Too much else came.
    Babble,
}

impl Channel {
    /// Two streams on which nothing was read yet.
    pub fn new(input: File, output: File, conduit: Box<dyn Conduit>) -> Self {
        Self {
            input,
            output,
            conduit,
            protocol: 0,
            rest: Vec::new(),
        }
    }

    /// Reads until an agent, or a script of prony, announces itself. With the error comes what came instead.
    pub fn await_marker(&mut self, until: Instant) -> Result<Marker, (Silence, Option<String>)> {
        let mut greeting = Greeting::default();
        let mut bytes = std::mem::take(&mut self.rest);
        let mut buffer = vec![0; 16 << 10];
        loop {
            match greeting.push(&bytes) {
                Ok(Some((marker, rest))) => {
                    self.rest = rest;
                    if let Marker::Agent { protocol } = marker {
                        self.protocol = protocol;
                    }
                    return Ok(marker);
                }
                Ok(None) => {}
                Err(()) => return Err((Silence::Babble, greeting.junk())),
            }
            let length = match ready(&self.input, PollFlags::POLLIN, until) {
                Ok(true) => self.input.read(&mut buffer).unwrap_or(0),
                Ok(false) => return Err((Silence::Late, greeting.junk())),
                Err(_) => 0,
            };
            if length == 0 {
                return Err((Silence::Ended, greeting.junk()));
            }
            bytes = buffer[..length].to_vec();
        }
    }
}

/// Whether a file can be read or written before the time is over.
fn ready(file: &File, wanted: PollFlags, until: Instant) -> io::Result<bool> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(file.as_fd(), wanted)];
        match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
