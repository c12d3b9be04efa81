//! Receives the orders of the caller.

use super::protocol::{Order, SupervisorCommand};
use nix::errno::Errno;
use nix::unistd::read;
use std::io;

/// The orders on standard input. It is read without the standard library's buffer, whose contents poll(2) would not see.
pub(super) struct Orders {
    bytes: Vec<u8>,
    /// Whether the input is still open.
    pub(super) open: bool,
}

impl Default for Orders {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            open: true,
        }
    }
}

impl Orders {
    /// The first line; `None` if the caller ended before it sent anything.
    pub(super) fn first(&mut self) -> io::Result<Option<SupervisorCommand>> {
        loop {
            if let Some(line) = self.line() {
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            if !self.open {
                return Ok(None);
            }
            self.read();
        }
    }

    /// Reads the available bytes.
    pub(super) fn read(&mut self) {
        let mut buffer = [0; 16_384];
        match read(io::stdin(), &mut buffer) {
            Ok(0) => self.open = false,
            Ok(length) => self.bytes.extend_from_slice(&buffer[..length]),
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.open = false,
        }
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.bytes.iter().position(|&byte| byte == b'\n')?;
        let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
        line.pop();
        Some(line)
    }

    /// The next order. An invalid line comes from another version of prony; the safe reaction is to stop.
    pub(super) fn next(&mut self) -> Option<Order> {
        self.line()
            .map(|line| serde_json::from_slice(&line).unwrap_or(Order::Stop))
    }
}
