//! Moves bytes. Knows sockets and the kernel, but neither protocols nor requests.

mod dial;
pub(crate) mod epoll;
mod socket;
pub(crate) mod uring;

pub(crate) use dial::{Network, Peer, Route, is_own_shortage};

use std::io;
use std::os::fd::BorrowedFd;

/// What happened on a connection. Connections have numbers, given by the worker, from 0 on.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// It is established.
    Connected(u32),
    /// It could not be established.
    ConnectFailed(u32, io::Error),
    /// Bytes came.
    Received(u32, &'a [u8]),
    /// The peer closed its side (`None`), or the connection broke.
    Ended(u32, Option<io::Error>),
}

/// A way to move bytes for many connections.
pub(crate) trait Transport: Sized {
    /// The name in recordings.
    const NAME: &'static str;

    /// Whether what is sent leaves with the next wait, and all events of a wait were seen when it ended; else each is
    /// sent and seen at its own moment.
    const DEFERS: bool;

    /// Room for connections `0..connections`, each of which takes the next way of the route.
    fn new(route: &Route, connections: u32) -> io::Result<Self>;

    /// Ends a wait also when this file becomes readable: other threads write to it.
    fn listen(&mut self, bell: BorrowedFd<'_>) -> io::Result<()>;

    /// Begins to connect. The connection must not be in use.
    fn connect(&mut self, connection: u32) -> io::Result<()>;

    /// Sends all the bytes, in order with those before; what the socket does not take now goes later. A connection that
    /// cannot send any more says so by an event, not here.
    fn send(&mut self, connection: u32, bytes: &[u8]);

    /// The same of all that `bytes` holds. It is empty afterwards, and may be other memory.
    fn send_all(&mut self, connection: u32, bytes: &mut Vec<u8>) {
        self.send(connection, bytes);
        bytes.clear();
    }

    /// Closes at once. No event of this use of the number comes afterwards.
    fn close(&mut self, connection: u32);

    /// Sends what is batched and waits for events: until there is one, at most `timeout_ns`.
    fn wait(&mut self, timeout_ns: u64) -> io::Result<()>;

    /// When what was sent last on a connection left, where that is not when it was handed over (see [`Transport::DEFERS`]).
    fn left_at(&self, _connection: u32) -> u64 {
        0
    }

    /// The next event of the last wait.
    fn next_event(&mut self) -> Option<Event<'_>>;

    /// What the connections went through so far.
    fn network(&self) -> Network;
}
