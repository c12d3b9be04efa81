//! `io_uring`: one system call sends a whole batch of requests and receives a whole batch of replies.
//!
//! One multishot request receives on a connection for its whole lifetime, into buffers that the kernel picks from a
//! common ring. Sockets are registered files, so no request looks them up. The kernel completes work only while this
//! thread waits (single issuer, deferred task work), and never interrupts it.
//!
//! Bytes are only sent within [`Transport::wait`]. A send that the socket accepts completely is done when the call
//! returns, and posts no completion; the rest that a full socket does not accept is submitted again, and completes
//! once it is sent.

mod buffers;
mod outbox;
mod socket_state;
mod submit;
#[cfg(test)]
mod tests;

use super::dial::{Dialer, Network, Route};
use super::socket;
use super::{Event, Transport};
use buffers::{Buffers, GROUP};
use io_uring::types::{CancelBuilder, Fd, Fixed, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use outbox::{NOWHERE, Outbox};
use socket_state::{Completion, GENERATIONS, Kind, UringSocket, name, read_name};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};

/// Most requests submitted by one system call.
const QUEUE: u32 = 512;
/// Smallest size of the completion queue.
const COMPLETIONS: u32 = 4096;

/// How often the destructor polls for completions, 10 ms each.
const LAST_LOOKS: u32 = 100;

/// The transport based on `io_uring`.
pub(crate) struct Uring {
    // First, so that it is dropped first: the kernel then releases the memory below.
    ring: IoUring,
    buffers: Buffers,
    dial: Dialer,
    wires: Vec<UringSocket>,
    outbox: Outbox,
    /// Parcels submitted per call, limited so that the send time of each is known.
    at_once: usize,
    /// Send time per parcel in the last call that submitted this number of parcels, ns.
    parcel_ns: u64,
    /// Connections whose socket differs from the registered one.
    changed: Vec<u32>,
    /// Completions of the last wait that were not processed yet.
    ready: Vec<Completion>,
    next: usize,
    /// The buffer lent out by the last event.
    lent: Option<u16>,
    /// The file with which other threads wake this one.
    bell: Option<RawFd>,
    /// Requests that the kernel has not completed.
    outstanding: u64,
}

impl Uring {
    /// Whether this kernel supports everything that is needed.
    pub(crate) fn probe() -> io::Result<()> {
        let ring = new_ring(COMPLETIONS)?;
        ring.submitter().register_files_sparse(1)?;
        Buffers::register(&ring, 1).map(|_| drop(ring))
    }

    fn receive(&mut self, number: u32) -> io::Result<()> {
        let generation = self.wires[number as usize].generation;
        let entry = opcode::RecvMulti::new(Fixed(number), GROUP)
            .build()
            .user_data(name(Kind::Receive, generation, number));
        self.push_counted(&entry)
    }

    fn watch_bell(&mut self) -> io::Result<()> {
        let Some(bell) = self.bell else { return Ok(()) };
        let entry = opcode::PollAdd::new(Fd(bell), libc::POLLIN as u32)
            .multi(true)
            .build()
            .user_data(name(Kind::Bell, 0, 0));
        self.push_counted(&entry)
    }

    /// Interprets a completion; returns an event if the worker needs to know about it.
    fn understand(&mut self, completion: Completion) -> Option<CompletionEvent> {
        let (kind, generation, number) = read_name(completion.name);
        self.outstanding -= u64::from(!cqueue::more(completion.flags));
        if kind == Kind::Bell {
            if !cqueue::more(completion.flags) && completion.result >= 0 {
                // If the ring does not accept requests any more, the next wait reports that.
                let _ = self.watch_bell();
            }
            return None;
        }
        let wire = &mut self.wires[number as usize];
        let error = || io::Error::from_raw_os_error(-completion.result);
        if wire.generation != generation || wire.socket.is_none() {
            // It belongs to an earlier use: only its buffer matters.
            if kind == Kind::Rest {
                wire.retired.retain(|(of, _)| *of != generation);
            }
            if let Some(buffer) = cqueue::buffer_select(completion.flags) {
                self.buffers.release(buffer);
            }
            return None;
        }
        match kind {
            Kind::Connect if completion.result < 0 => Some(CompletionEvent::ConnectFailed(number, error())),
            Kind::Connect => match self.receive(number) {
                Ok(()) => Some(CompletionEvent::Connected(number)),
                Err(error) => Some(CompletionEvent::ConnectFailed(number, error)),
            },
            Kind::Send | Kind::Bell => None,
            Kind::Rest => {
                // The memory is not kept: few sockets are ever full, and the remainder may be large.
                wire.rest = Vec::new();
                let unsent = std::mem::take(&mut wire.unsent);
                if !unsent.is_empty() {
                    wire.parcel = self.outbox.add(number, wire.parcel, &unsent);
                }
                None
            }
            Kind::Receive => self.understand_bytes(number, completion),
        }
    }

    fn understand_bytes(&mut self, number: u32, completion: Completion) -> Option<CompletionEvent> {
        let is_over = !cqueue::more(completion.flags);
        match completion.result {
            0 => Some(CompletionEvent::Ended(number, None)),
            1.. => {
                let buffer = cqueue::buffer_select(completion.flags);
                let buffer = buffer.expect("invariant: received bytes lie in a buffer");
                // The kernel ends a multishot request if its completions do not fit; start a new one.
                let again = if is_over { self.receive(number).err() } else { None };
                self.lent = Some(buffer);
                match again {
                    Some(error) => Some(CompletionEvent::Ended(number, Some(error))),
                    None => Some(CompletionEvent::Received(
                        number,
                        buffer,
                        completion.result as usize,
                    )),
                }
            }
            error if error == -libc::ENOBUFS => {
                // All offered buffers are in use; they are returned before the next wait.
                self.buffers.want_more();
                let failed = self.receive(number).err();
                failed.map(|error| CompletionEvent::Ended(number, Some(error)))
            }
            error => Some(CompletionEvent::Ended(
                number,
                Some(io::Error::from_raw_os_error(-error)),
            )),
        }
    }
}

/// An event before its bytes are lent out.
enum CompletionEvent {
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
    /// Waits for outstanding requests: the kernel may use our memory until it has completed them.
    fn drop(&mut self) {
        let _ = self
            .ring
            .submitter()
            .register_sync_cancel(Some(Timespec::new().sec(1)), CancelBuilder::any());
        for _ in 0..LAST_LOOKS {
            if self.outstanding == 0 || self.wait(10_000_000).is_err() {
                break;
            }
            while self.next_event().is_some() {}
        }
        if self.outstanding > 0 {
            // The kernel still uses the memory, so leak it: it must not be reused.
            self.buffers.leak();
            std::mem::forget(std::mem::take(&mut self.wires));
        }
        // Unregister the sockets, so that they are closed when this transport is dropped.
        let _ = self.ring.submitter().unregister_files();
    }
}

impl Transport for Uring {
    const NAME: &'static str = "io_uring";
    const DEFERS: bool = true;

    fn new(route: &Route, connections: u32) -> io::Result<Self> {
        let ring = new_ring(connections.saturating_mul(4).next_power_of_two().max(COMPLETIONS))?;
        ring.submitter().register_files_sparse(connections)?;
        Ok(Self {
            buffers: Buffers::register(&ring, connections)?,
            ring,
            dial: Dialer::new(route)?,
            wires: (0..connections).map(|_| UringSocket::new()).collect(),
            outbox: Outbox::default(),
            at_once: submit::FIRST_AT_ONCE,
            parcel_ns: 0,
            changed: Vec::new(),
            ready: Vec::with_capacity(COMPLETIONS as usize),
            next: 0,
            lent: None,
            bell: None,
            outstanding: 0,
        })
    }

    fn listen(&mut self, bell: BorrowedFd<'_>) -> io::Result<()> {
        self.bell = Some(bell.as_raw_fd());
        self.watch_bell()
    }

    fn connect(&mut self, number: u32) -> io::Result<()> {
        let (socket, address) = self.dial.open()?;
        let wire = &mut self.wires[number as usize];
        wire.generation = (wire.generation + 1) % GENERATIONS;
        wire.socket = Some(socket);
        wire.connects = Some(address.parts());
        self.changed.push(number);
        Ok(())
    }

    fn send(&mut self, number: u32, bytes: &[u8]) {
        let wire = &mut self.wires[number as usize];
        if wire.socket.is_none() {
            return;
        }
        if wire.rest.is_empty() {
            wire.parcel = self.outbox.add(number, wire.parcel, bytes);
        } else {
            wire.unsent.extend_from_slice(bytes);
        }
    }

    fn send_all(&mut self, number: u32, bytes: &mut Vec<u8>) {
        let wire = &mut self.wires[number as usize];
        if wire.socket.is_some() && wire.rest.is_empty() {
            wire.parcel = self.outbox.add_all(number, wire.parcel, bytes);
        } else {
            self.send(number, bytes);
            bytes.clear();
        }
    }

    fn close(&mut self, number: u32) {
        if self.wires[number as usize].socket.is_none() {
            return;
        }
        // Batched requests for this use of the number must not apply to the next one. There are no send requests
        // among them.
        if !self.ring.submission().is_empty() {
            let _ = self.ring.submit();
        }
        let wire = &mut self.wires[number as usize];
        let Some(socket) = wire.socket.take() else { return };
        self.dial.over(&socket);
        if wire.parcel != NOWHERE {
            // The last bytes, such as a close frame, are still sent, as far as the socket accepts them.
            let bytes = self.outbox.bytes(self.outbox.parcel(wire.parcel as usize));
            socket::send_now(&socket, bytes);
            self.outbox.empty(wire.parcel);
            wire.parcel = NOWHERE;
        }
        // The receive request holds the file: without this, the connection would stay open as long as the request.
        // SAFETY: no memory is involved.
        unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
        wire.connects = None;
        wire.unsent = Vec::new();
        let rest = std::mem::take(&mut wire.rest);
        if !rest.is_empty() {
            wire.retired.push((wire.generation, rest));
        }
        self.changed.push(number);
    }

    fn wait(&mut self, timeout_ns: u64) -> io::Result<()> {
        if let Some(buffer) = self.lent.take() {
            self.buffers.release(buffer);
        }
        self.buffers.publish();
        self.ready.clear();
        self.next = 0;
        self.tell_changes()?;
        self.push_parcels()?;
        self.enter(timeout_ns)?;
        self.collect();
        // A kernel short of memory or queue space accepts the rest later; until then the outbox is needed.
        while !self.ring.submission().is_empty() && self.outbox.len() > 0 {
            self.enter(0)?;
            self.collect();
        }
        // Completions that did not fit wait behind those just taken.
        while self.ring.submission().cq_overflow() {
            self.enter(0)?;
            self.collect();
        }
        for place in 0..self.outbox.len() {
            let number = self.outbox.parcel(place).connection;
            self.wires[number as usize].parcel = NOWHERE;
        }
        self.outbox.clear();
        Ok(())
    }

    fn left_at(&self, number: u32) -> u64 {
        self.wires[number as usize].left
    }

    fn next_event(&mut self) -> Option<Event<'_>> {
        if let Some(buffer) = self.lent.take() {
            self.buffers.release(buffer);
        }
        let understood = loop {
            let completion = *self.ready.get(self.next)?;
            self.next += 1;
            if let Some(understood) = self.understand(completion) {
                break understood;
            }
        };
        Some(match understood {
            CompletionEvent::Connected(number) => Event::Connected(number),
            CompletionEvent::ConnectFailed(number, error) => Event::ConnectFailed(number, error),
            CompletionEvent::Received(number, buffer, length) => {
                Event::Received(number, self.buffers.bytes(buffer, length))
            }
            CompletionEvent::Ended(number, error) => Event::Ended(number, error),
        })
    }

    fn network(&self) -> Network {
        self.dial
            .network(self.wires.iter().filter_map(|wire| wire.socket.as_ref()))
    }
}
