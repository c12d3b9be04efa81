//! `io_uring`: one system call sends a whole batch of requests and takes in a whole batch of replies.
//!
//! One request to the kernel receives on a connection for as long as it lives (multishot), into buffers that the kernel
//! picks from a common ring. Sockets are registered, so that no request looks its file up. Work is done only when this
//! thread waits (single issuer, deferred task work), never by interrupting it.

mod buffers;

use super::socket::{self, KernelAddress};
use super::{Event, Transport};
use buffers::{Buffers, GROUP};
use io_uring::squeue::Entry;
use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// Requests that one system call hands over.
const QUEUE: u32 = 512;
/// Fewest completions that the kernel can hold for us.
const COMPLETIONS: u32 = 4096;

/// How often the end looks for completions, 10 ms each.
const LAST_LOOKS: u32 = 100;

/// The transport over `io_uring`.
pub(crate) struct Uring {
    // First, so that it is dropped first: the kernel lets go of the memory below.
    ring: IoUring,
    buffers: Buffers,
    address: Box<KernelAddress>,
    connections: Vec<Connection>,
    /// The completions of the last wait that were not looked at yet.
    ready: Vec<Completion>,
    next: usize,
    /// The buffer that the last event lent out.
    lent: Option<u16>,
    /// Requests that the kernel has not completed.
    outstanding: u64,
    /// Sends since the last wait that are expected to complete at once: the next wait is for one completion more than these,
    /// else it would end with them, before any reply is there.
    prompt_sends: u32,
    /// Counts the waits.
    waits: u64,
}

/// A connection. Its output is boxed by `Vec`, so that it stays where it is while the kernel reads it.
#[derive(Default)]
struct Connection {
    socket: Option<OwnedFd>,
    /// Counts the uses of this number, so that a completion of an earlier use is known.
    generation: u32,
    /// What the kernel is sending.
    sending: Vec<u8>,
    is_sending: bool,
    /// The wait that handed it over.
    sent_in: u64,
    /// Whether a send once took longer than the wait that handed it over: the socket was full. Its sends are not counted on.
    is_slow: bool,
    /// What is to be sent after it.
    unsent: Vec<u8>,
    /// Output of earlier uses that the kernel may still read, with the generation.
    retired: Vec<(u32, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy)]
struct Completion {
    name: u64,
    result: i32,
    flags: u32,
}

/// What a request to the kernel was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Connect = 0,
    Receive = 1,
    Send = 2,
}

const GENERATIONS: u32 = 1 << 24;

/// The name of a request: what it is about, the use of the connection, and the connection.
const fn name(kind: Kind, generation: u32, number: u32) -> u64 {
    (kind as u64) << 56 | (generation as u64) << 32 | number as u64
}

const fn read_name(name: u64) -> (Kind, u32, u32) {
    let kind = match name >> 56 {
        0 => Kind::Connect,
        1 => Kind::Receive,
        _ => Kind::Send,
    };
    (kind, (name >> 32) as u32 % GENERATIONS, name as u32)
}

impl Uring {
    /// Whether this kernel lets us use all that is needed.
    pub(crate) fn probe() -> io::Result<()> {
        let ring = new_ring(COMPLETIONS)?;
        ring.submitter().register_files_sparse(1)?;
        Buffers::register(&ring).map(|_| drop(ring))
    }

    fn push(&mut self, entry: &Entry) -> io::Result<()> {
        loop {
            // SAFETY: every address in our requests lives as long as this transport: the peer's address is boxed, and
            // output is kept until its completion.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                self.outstanding += 1;
                return Ok(());
            }
            self.ring.submit()?;
        }
    }

    fn receive(&mut self, number: u32) -> io::Result<()> {
        let generation = self.connections[number as usize].generation;
        let entry = opcode::RecvMulti::new(Fixed(number), GROUP)
            .build()
            .user_data(name(Kind::Receive, generation, number));
        self.push(&entry)
    }

    fn send_next(&mut self, number: u32) {
        let connection = &mut self.connections[number as usize];
        connection.is_sending = true;
        connection.sent_in = self.waits + 1;
        self.prompt_sends += u32::from(!connection.is_slow);
        let entry = opcode::Send::new(
            Fixed(number),
            connection.sending.as_ptr(),
            connection.sending.len() as u32,
        )
        // All of it, or an error: a part is never left for us to send again.
        .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
        .build()
        .user_data(name(Kind::Send, connection.generation, number));
        // A ring that takes nothing any more says so at the next wait.
        let _ = self.push(&entry);
    }

    /// What a completion means, where it means something to the worker.
    fn understand(&mut self, completion: Completion) -> Option<Understood> {
        let (kind, generation, number) = read_name(completion.name);
        self.outstanding -= u64::from(!cqueue::more(completion.flags));
        let connection = &mut self.connections[number as usize];
        let error = || io::Error::from_raw_os_error(-completion.result);
        if connection.generation != generation || connection.socket.is_none() {
            // Of an earlier use: only its buffer matters.
            if kind == Kind::Send {
                connection.retired.retain(|(of, _)| *of != generation);
            }
            if let Some(buffer) = cqueue::buffer_select(completion.flags) {
                self.buffers.give_back(buffer);
            }
            return None;
        }
        match kind {
            Kind::Connect if completion.result < 0 => Some(Understood::ConnectFailed(number, error())),
            Kind::Connect => match self.receive(number) {
                Ok(()) => Some(Understood::Connected(number)),
                Err(error) => Some(Understood::ConnectFailed(number, error)),
            },
            Kind::Send => {
                connection.is_sending = false;
                connection.is_slow |= connection.sent_in < self.waits;
                connection.sending.clear();
                if !connection.unsent.is_empty() {
                    std::mem::swap(&mut connection.sending, &mut connection.unsent);
                    self.send_next(number);
                }
                // A failure to send shows on the receiving side too.
                None
            }
            Kind::Receive => self.understand_bytes(number, completion),
        }
    }

    fn understand_bytes(&mut self, number: u32, completion: Completion) -> Option<Understood> {
        let is_over = !cqueue::more(completion.flags);
        match completion.result {
            0 => Some(Understood::Ended(number, None)),
            1.. => {
                let buffer = cqueue::buffer_select(completion.flags);
                let buffer = buffer.expect("invariant: received bytes lie in a buffer");
                // The kernel ends a multishot request where its completions do not fit; it is asked again.
                let again = if is_over { self.receive(number).err() } else { None };
                self.lent = Some(buffer);
                match again {
                    Some(error) => Some(Understood::Ended(number, Some(error))),
                    None => Some(Understood::Received(number, buffer, completion.result as usize)),
                }
            }
            error if error == -libc::ENOBUFS => {
                // Every buffer is in use; they come back before the next wait.
                let failed = self.receive(number).err();
                failed.map(|error| Understood::Ended(number, Some(error)))
            }
            error => Some(Understood::Ended(
                number,
                Some(io::Error::from_raw_os_error(-error)),
            )),
        }
    }
}

/// An event before its bytes are lent out.
enum Understood {
    Connected(u32),
    ConnectFailed(u32, io::Error),
    Received(u32, u16, usize),
    Ended(u32, Option<io::Error>),
}

fn new_ring(completions: u32) -> io::Result<IoUring> {
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_cqsize(completions)
        .setup_clamp()
        .build(QUEUE)
}

impl Drop for Uring {
    /// The kernel may use our memory until it has completed every request.
    fn drop(&mut self) {
        (0..self.connections.len() as u32).for_each(|number| self.close(number));
        for _ in 0..LAST_LOOKS {
            if self.outstanding == 0 || self.wait(10_000_000).is_err() {
                break;
            }
            while self.next_event().is_some() {}
        }
        if self.outstanding > 0 {
            // It keeps the memory, and so do we: better than giving it to somebody else.
            self.buffers.leak();
            std::mem::forget(std::mem::take(&mut self.connections));
        }
    }
}

impl Transport for Uring {
    const NAME: &'static str = "io_uring";
    const DEFERS: bool = true;

    fn new(address: SocketAddr, connections: u32) -> io::Result<Self> {
        let ring = new_ring((connections * 2).next_power_of_two().max(COMPLETIONS))?;
        ring.submitter().register_files_sparse(connections)?;
        Ok(Self {
            buffers: Buffers::register(&ring)?,
            ring,
            address: Box::new(KernelAddress::new(address)),
            connections: (0..connections).map(|_| Connection::default()).collect(),
            ready: Vec::with_capacity(COMPLETIONS as usize),
            next: 0,
            lent: None,
            outstanding: 0,
            prompt_sends: 0,
            waits: 0,
        })
    }

    fn connect(&mut self, number: u32) -> io::Result<()> {
        let socket = socket::open(&self.address)?;
        self.ring
            .submitter()
            .register_files_update(number, &[socket.as_raw_fd()])?;
        let connection = &mut self.connections[number as usize];
        connection.generation = (connection.generation + 1) % GENERATIONS;
        connection.is_slow = false;
        connection.socket = Some(socket);
        let (address, length) = self.address.parts();
        let entry = opcode::Connect::new(Fixed(number), address, length)
            .build()
            .user_data(name(Kind::Connect, connection.generation, number));
        self.push(&entry)
    }

    fn send(&mut self, number: u32, bytes: &[u8]) {
        let connection = &mut self.connections[number as usize];
        if connection.socket.is_none() {
            return;
        }
        if connection.is_sending {
            connection.unsent.extend_from_slice(bytes);
            return;
        }
        connection.sending.extend_from_slice(bytes);
        self.send_next(number);
    }

    fn close(&mut self, number: u32) {
        if self.connections[number as usize].socket.is_none() {
            return;
        }
        // What is batched for this use of the number must not meet the next one.
        let _ = self.ring.submit();
        let connection = &mut self.connections[number as usize];
        let Some(socket) = connection.socket.take() else {
            return;
        };
        // The receive request holds the file: without this the connection would stay open as long as it does.
        // SAFETY: no memory is involved.
        unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
        connection.unsent.clear();
        let sending = std::mem::take(&mut connection.sending);
        if std::mem::take(&mut connection.is_sending) {
            connection.retired.push((connection.generation, sending));
        }
        // The table lets go of the file; where that fails the next use of the number replaces it.
        let _ = self.ring.submitter().register_files_update(number, &[-1]);
    }

    fn wait(&mut self, timeout_ns: u64) -> io::Result<()> {
        if let Some(buffer) = self.lent.take() {
            self.buffers.give_back(buffer);
        }
        self.buffers.publish();
        self.ready.clear();
        self.next = 0;
        self.waits += 1;
        let wanted = std::mem::take(&mut self.prompt_sends) as usize + 1;
        let submitted = if timeout_ns == 0 {
            let pending = self.ring.submission().len() as u32;
            let flags = EnterFlags::GETEVENTS.bits();
            // SAFETY: no argument beside the numbers.
            unsafe {
                self.ring
                    .submitter()
                    .enter::<libc::sigset_t>(pending, 0, flags, None)
            }
        } else {
            let timeout = Timespec::new()
                .sec(timeout_ns / 1_000_000_000)
                .nsec((timeout_ns % 1_000_000_000) as u32);
            self.ring
                .submitter()
                .submit_with_args(wanted, &SubmitArgs::new().timespec(&timeout))
        };
        if let Err(error) = submitted {
            match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
                _ => return Err(error),
            }
        }
        self.ready.extend(self.ring.completion().map(|entry| Completion {
            name: entry.user_data(),
            result: entry.result(),
            flags: entry.flags(),
        }));
        Ok(())
    }

    fn next_event(&mut self) -> Option<Event<'_>> {
        if let Some(buffer) = self.lent.take() {
            self.buffers.give_back(buffer);
        }
        let understood = loop {
            let completion = *self.ready.get(self.next)?;
            self.next += 1;
            if let Some(understood) = self.understand(completion) {
                break understood;
            }
        };
        Some(match understood {
            Understood::Connected(number) => Event::Connected(number),
            Understood::ConnectFailed(number, error) => Event::ConnectFailed(number, error),
            Understood::Received(number, buffer, length) => {
                Event::Received(number, self.buffers.bytes(buffer, length))
            }
            Understood::Ended(number, error) => Event::Ended(number, error),
        })
    }
}
