//! Sends and receives bytes. Knows sockets and the kernel, but neither protocols nor requests.

mod dial;
pub(crate) mod epoll;
mod socket;
pub(crate) mod uring;

pub(crate) use dial::{Network, Peer, Route, is_own_shortage};

use std::io;
use std::os::fd::BorrowedFd;

/// An event on a connection. The worker assigns connection numbers, from 0.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// The connection is established.
    Connected(u32),
    /// The connection could not be established.
    ConnectFailed(u32, io::Error),
    /// Bytes were received.
    Received(u32, &'a [u8]),
    /// The peer closed its side (`None`), or the connection broke.
    Ended(u32, Option<io::Error>),
}

/// A way to send and receive bytes on many connections.
pub(crate) trait Transport: Sized {
    /// The name in recordings.
    const NAME: &'static str;

    /// Whether bytes are only sent by the next wait, and all events of a wait are seen together when it ends;
    /// otherwise each is sent and seen at its own time.
    const DEFERS: bool;

    /// Creates a transport for connections `0..connections`, which take the peers and sources of the route one after
    /// the other.
    fn new(route: &Route, connections: u32) -> io::Result<Self>;

    /// Lets waits end when this file becomes readable, too: other threads write to it.
    fn listen(&mut self, bell: BorrowedFd<'_>) -> io::Result<()>;

    /// Starts connecting. The connection must not be in use.
    fn connect(&mut self, connection: u32) -> io::Result<()>;

    /// Sends all bytes, after those sent before; the rest that the socket does not accept now is sent later. Failures
    /// are reported by an event, not here.
    fn send(&mut self, connection: u32, bytes: &[u8]);

    /// Sends all that `bytes` holds, and leaves it empty. It may be a different allocation afterwards.
    fn send_all(&mut self, connection: u32, bytes: &mut Vec<u8>) {
        self.send(connection, bytes);
        bytes.clear();
    }

    /// Closes immediately. No event of this use of the number follows.
    fn close(&mut self, connection: u32);

    /// Sends batched bytes and waits until there is an event, but not longer than `timeout_ns`.
    fn wait(&mut self, timeout_ns: u64) -> io::Result<()>;

    /// When the last bytes sent on a connection left, if that is not when they were handed over (see
    /// [`Transport::DEFERS`]).
    fn left_at(&self, _connection: u32) -> u64 {
        0
    }

    /// The next event of the last wait.
    fn next_event(&mut self) -> Option<Event<'_>>;

    /// Statistics of the connections so far.
    fn network(&self) -> Network;
}
