//! The socket of a connection, and the encoding of request IDs.

use super::outbox::NOWHERE;
use std::os::fd::OwnedFd;

/// The socket of a connection.
pub(super) struct UringSocket {
    pub(super) socket: Option<OwnedFd>,
    /// Counts the uses of this number, to recognize completions of an earlier use.
    pub(super) generation: u32,
    /// The address to connect to with the next wait.
    pub(super) connects: Option<(*const libc::sockaddr, libc::socklen_t)>,
    /// Its parcel in the outbox.
    pub(super) parcel: u32,
    /// When its last bytes were sent.
    pub(super) left: u64,
    /// The rest that a full socket did not accept: the kernel is sending it. The `Vec` keeps its address stable.
    pub(super) rest: Vec<u8>,
    /// Bytes to send after that.
    pub(super) unsent: Vec<u8>,
    /// Remainders of earlier uses that the kernel may still read, with their generation.
    pub(super) retired: Vec<(u32, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub(super) name: u64,
    pub(super) result: i32,
    pub(super) flags: u32,
}

/// The kind of a request to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Connect = 0,
    Receive = 1,
    /// A parcel of the outbox: it posts a completion only if the socket did not accept all of it.
    Send = 2,
    /// The rest of a parcel.
    Rest = 3,
    /// Wake-up by other threads. Each write to the file posts a completion, so it need not be read.
    Bell = 4,
}

pub(super) const GENERATIONS: u32 = 1 << 24;

/// The ID of a request: its kind, the generation of the connection, and the connection.
pub(super) const fn name(kind: Kind, generation: u32, number: u32) -> u64 {
    (kind as u64) << 56 | (generation as u64) << 32 | number as u64
}

pub(super) const fn read_name(name: u64) -> (Kind, u32, u32) {
    let kind = match name >> 56 {
        0 => Kind::Connect,
        1 => Kind::Receive,
        2 => Kind::Send,
        3 => Kind::Rest,
        _ => Kind::Bell,
    };
    (kind, (name >> 32) as u32 % GENERATIONS, name as u32)
}

impl UringSocket {
    pub(super) const fn new() -> Self {
        Self {
            socket: None,
            generation: 0,
            connects: None,
            parcel: NOWHERE,
            left: 0,
            rest: Vec::new(),
            unsent: Vec::new(),
            retired: Vec::new(),
        }
    }
}
