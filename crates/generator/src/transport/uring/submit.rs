//! Everything that goes to the kernel with a wait, and what comes back.

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

/// Parcels that one call hands over at first.
pub(super) const FIRST_AT_ONCE: usize = 8;
/// How long a call should take that hands parcels over: the time of each is that of its middle, ns.
const CALL: Range<u64> = 60_000..160_000;

/// How many parcels the next call hands over, after one that took so long.
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
            // SAFETY: every address in our requests lives as long as this transport: the peers' addresses are boxed, rests are
            // kept until their completion, and the outbox is cleared only after what it holds was submitted.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.ring.submit()?;
        }
    }

    /// Pushes a request that completes.
    pub(super) fn push_counted(&mut self, entry: &Entry) -> io::Result<()> {
        self.push(entry)?;
        self.outstanding += 1;
        Ok(())
    }

    /// Tells the kernel which sockets there are now, neighbours with one call, and connects the new ones.
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

    /// Hands the whole outbox over. The kernel sends one parcel after the other, which takes milliseconds for hundreds of them: so
    /// a few go with each call, and the clock is read around it. The last ones go with the wait.
    pub(super) fn push_parcels(&mut self) -> io::Result<()> {
        if self.outbox.len() == 0 {
            return Ok(());
        }
        // What else is batched, as new connections, takes time as well.
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
                self.parcel_ns = took / pushed as u64;
                (begin, first, pushed) = (begin + took, place, 0);
            }
            let wire = &self.wires[parcel.connection as usize];
            // What the socket takes, it takes at once; only a part or nothing of it is told.
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

    /// Notes that parcels have left, or leave, in the middle of the call that hands them over.
    fn note_left(&mut self, places: Range<usize>, when: u64) {
        for place in places {
            let number = self.outbox.parcel(place).connection;
            self.wires[number as usize].left = when;
        }
    }

    /// Submits what is batched, and waits for a completion.
    pub(super) fn enter(&mut self, timeout_ns: u64) -> io::Result<()> {
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

    /// Takes in what has completed. What a socket left over of a parcel is kept, as long as the outbox still has it.
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
            // Any other failure shows on the receiving side too, where it is told.
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
            // All of it, or an error: a part is never left for us to send again.
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(name(Kind::Rest, wire.generation, number));
        // A ring that takes nothing any more says so at the next wait.
        let _ = self.push_counted(&entry);
    }
}
