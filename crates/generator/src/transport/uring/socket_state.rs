//! The socket of a connection, and how requests to the kernel are named after it.

use super::outbox::NOWHERE;
use std::os::fd::OwnedFd;

/// The socket of a connection.
pub(super) struct Wire {
    pub(super) socket: Option<OwnedFd>,
    /// Counts the uses of this number, so that a completion of an earlier use is known.
    pub(super) generation: u32,
    /// Where it is to be connected to with the next wait.
    pub(super) connects: Option<(*const libc::sockaddr, libc::socklen_t)>,
    /// Where its bytes stand in the outbox.
    pub(super) parcel: u32,
    /// When the last of its bytes left.
    pub(super) left: u64,
    /// What a full socket left over: the kernel is sending it. Boxed by `Vec`, so that it stays where it is.
    pub(super) rest: Vec<u8>,
    /// What is to be sent after that.
    pub(super) unsent: Vec<u8>,
    /// Rests of earlier uses that the kernel may still read, with the generation.
    pub(super) retired: Vec<(u32, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub(super) name: u64,
    pub(super) result: i32,
    pub(super) flags: u32,
}

/// What a request to the kernel was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Connect = 0,
    Receive = 1,
    /// A parcel of the outbox: it completes only where the socket did not take all of it.
    Send = 2,
    /// What a socket left over.
    Rest = 3,
    /// What other threads wake this one with. Each write to it completes, so that it need not be read.
    Bell = 4,
}

pub(super) const GENERATIONS: u32 = 1 << 24;

/// The name of a request: what it is about, the use of the connection, and the connection.
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

impl Wire {
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
