//! Transports: each starts an agent and returns two byte streams on which it has announced itself.

mod child;
mod explain;
mod ssh;
mod upload;

use super::Progress;
use crate::HostError;
use crate::wire::{GreetingReader, Marker};
pub use child::Pipe;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
pub use ssh::Ssh;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::time::Instant;
pub use upload::{Binary, HandshakeErrorFn};

pub trait Transport: Send + Sync {
    /// Starts an agent on the host, whose name in messages is `host`. Copies prony's binary there first if it is missing, and
    /// calls `tell` with the progress. Returns within bounded time.
    fn open(&self, host: &str, tell: &dyn Fn(Progress)) -> Result<Channel, HostError>;

    /// Whether the agent is on this machine, so that its services are reachable over loopback.
    fn is_local(&self) -> bool {
        false
    }
}

/// The carrier of a channel. The channel ends with it.
pub trait TransportGuard: Send + std::fmt::Debug {
    /// Closes it, whatever the other side does: both streams end. Takes bounded time.
    fn end(&mut self);

    /// Why it ended, as reported by the carrier itself. Waits briefly for that.
    fn said(&mut self) -> Option<String>;
}

/// Two byte streams to an agent that has announced itself.
#[derive(Debug)]
pub struct Channel {
    /// The output of the agent.
    pub input: File,
    /// The input of the agent.
    pub output: File,
    /// The carrier of both streams.
    pub conduit: Box<dyn TransportGuard>,
    /// The protocol version of the agent.
    pub protocol: u32,
    /// Bytes that were received after the announcement.
    pub rest: Vec<u8>,
}

/// Why no marker arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandshakeFailure {
    /// The stream ended.
    Ended,
    /// The timeout expired.
    Late,
    /// Too many other bytes arrived.
    Babble,
}

impl Channel {
    /// A channel on which nothing was read yet.
    pub fn new(input: File, output: File, conduit: Box<dyn TransportGuard>) -> Self {
        Self {
            input,
            output,
            conduit,
            protocol: 0,
            rest: Vec::new(),
        }
    }

    /// Reads until an agent or the bootstrap script announces itself. The error contains the output received instead.
    pub fn await_marker(&mut self, until: Instant) -> Result<Marker, (HandshakeFailure, Option<String>)> {
        let mut greeting = GreetingReader::default();
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
                Err(()) => return Err((HandshakeFailure::Babble, greeting.junk())),
            }
            let length = match ready(&self.input, PollFlags::POLLIN, until) {
                Ok(true) => self.input.read(&mut buffer).unwrap_or(0),
                Ok(false) => return Err((HandshakeFailure::Late, greeting.junk())),
                Err(_) => 0,
            };
            if length == 0 {
                return Err((HandshakeFailure::Ended, greeting.junk()));
            }
            bytes = buffer[..length].to_vec();
        }
    }
}

/// Waits until a file is readable or writable. `false`: the deadline has passed.
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
