//! Submission of requests with a wait, and collection of completions.

use super::outbox::NOWHERE;
use super::socket_state::{Completion, Kind, name, read_name};
use super::{QUEUE, Uring};
use crate::clock::now_ns;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{EnterFlags, opcode};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

/// Initial number of parcels submitted by one call.
pub(super) const FIRST_AT_ONCE: usize = 8;
/// Target duration of a call that submits parcels, ns: the send time of each parcel is taken as the middle of its
/// call.
const CALL: Range<u64> = 60_000..160_000;

/// The number of parcels for the next call, given the duration of the last one.
fn next_at_once(at_once: usize, took: u64) -> usize {
    if took > CALL.end {
        (at_once / 2).max(1)
    } else if took < CALL.start {
        (at_once * 2).min(QUEUE as usize)
    } else {
        at_once
    }
}

impl Uring {
    fn push(&mut self, entry: &Entry) -> io::Result<()> {
        loop {
            // SAFETY: every address in our requests lives as long as this transport: the peers' addresses are boxed,
            // remainders are kept until their completion, and the outbox is cleared only after its contents were
            // submitted.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.ring.submit()?;
        }
    }

    /// Pushes a request that posts a completion.
    pub(super) fn push_counted(&mut self, entry: &Entry) -> io::Result<()> {
        self.push(entry)?;
        self.outstanding += 1;
        Ok(())
    }

    /// Registers the changed sockets with the kernel, neighbours with one call, and connects the new ones.
    pub(super) fn tell_changes(&mut self) -> io::Result<()> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        for run in changed.chunk_by(|one, next| one + 1 == *next) {
            let socket = |number: &u32| self.wires[*number as usize].socket.as_ref();
            let fds: Vec<RawFd> = run
                .iter()
                .map(|number| socket(number).map_or(-1, AsRawFd::as_raw_fd))
                .collect();
            self.ring.submitter().register_files_update(run[0], &fds)?;
        }
        for &number in &changed {
            let wire = &mut self.wires[number as usize];
            if let Some((address, length)) = wire.connects.take() {
                let entry = opcode::Connect::new(Fixed(number), address, length)
                    .build()
                    .user_data(name(Kind::Connect, wire.generation, number));
                self.push_counted(&entry)?;
            }
        }
        changed.clear();
        self.changed = changed;
        Ok(())
    }

    /// Submits the whole outbox. The kernel sends the parcels one after the other, which takes milliseconds for
    /// hundreds of them. Therefore each call submits a few, and the clock is read around it. The last ones are
    /// submitted with the wait.
    pub(super) fn push_parcels(&mut self) -> io::Result<()> {
        if self.outbox.len() == 0 {
            return Ok(());
        }
        // Other batched requests, such as new connections, take time as well.
        if !self.ring.submission().is_empty() {
            self.ring.submit()?;
        }
        let (mut begin, mut first, mut pushed) = (now_ns(), 0, 0);
        for place in 0..self.outbox.len() {
            let parcel = self.outbox.parcel(place);
            let bytes = self.outbox.bytes(parcel);
            if bytes.is_empty() {
                continue;
            }
            let (address, length) = (bytes.as_ptr(), bytes.len() as u32);
            if pushed == self.at_once {
                self.ring.submit()?;
                let took = now_ns() - begin;
                self.note_left(first..place, begin + took / 2);
                self.at_once = next_at_once(self.at_once, took);
                // A pause of the machine says nothing about the next call.
                self.parcel_ns = took.min(CALL.end) / pushed as u64;
                (begin, first, pushed) = (begin + took, place, 0);
            }
            let wire = &self.wires[parcel.connection as usize];
            // Only partial and failed sends post a completion.
            let entry = opcode::Send::new(Fixed(parcel.connection), address, length)
                .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL)
                .build()
                .flags(Flags::SKIP_SUCCESS)
                .user_data(name(Kind::Send, wire.generation, parcel.connection));
            self.push(&entry)?;
            pushed += 1;
        }
        self.note_left(
            first..self.outbox.len(),
            begin + self.parcel_ns * pushed as u64 / 2,
        );
        Ok(())
    }

    /// Records the send time of parcels: the middle of the call that submits them.
    fn note_left(&mut self, parcels: Range<usize>, when: u64) {
        for index in parcels {
            let number = self.outbox.parcel(index).connection;
            self.wires[number as usize].left = when;
        }
    }

    /// Submits batched requests, and waits for a completion.
    pub(super) fn enter(&mut self, timeout_ns: u64) -> io::Result<()> {
        let submitted = if timeout_ns == 0 {
            let pending = self.ring.submission().len() as u32;
            let flags = EnterFlags::GETEVENTS.bits();
            // SAFETY: the call takes no pointers.
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
                .submit_with_args(1, &SubmitArgs::new().timespec(&timeout))
        };
        match submitted {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// Collects completions. The rest of a partially sent parcel is kept while the outbox still has its bytes.
    pub(super) fn collect(&mut self) {
        let (wires, outbox) = (&mut self.wires, &self.outbox);
        let mut over = Vec::new();
        for entry in self.ring.completion() {
            let completion = Completion {
                name: entry.user_data(),
                result: entry.result(),
                flags: entry.flags(),
            };
            let (kind, generation, number) = read_name(completion.name);
            if kind != Kind::Send {
                self.ready.push(completion);
                continue;
            }
            let wire = &mut wires[number as usize];
            // Any other failure is also reported on the receiving side.
            let goes_on = completion.result >= 0 || completion.result == -libc::EAGAIN;
            if wire.generation == generation && wire.parcel != NOWHERE && goes_on {
                let bytes = outbox.bytes(outbox.parcel(wire.parcel as usize));
                wire.rest
                    .extend_from_slice(&bytes[completion.result.max(0) as usize..]);
                if !wire.rest.is_empty() {
                    over.push(number);
                }
            }
        }
        for number in over {
            self.send_rest(number);
        }
    }

    fn send_rest(&mut self, number: u32) {
        let wire = &self.wires[number as usize];
        let entry = opcode::Send::new(Fixed(number), wire.rest.as_ptr(), wire.rest.len() as u32)
            // All of it, or an error: the kernel never leaves a part to be sent again.
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(name(Kind::Rest, wire.generation, number));
        // If the ring does not accept requests any more, the next wait reports that.
        let _ = self.push_counted(&entry);
    }
}
