//! Arrivals of an open load that found no free slot on their own thread. Any thread of the process with a free slot
//! takes them, the oldest first: all threads serve one queue, so the result does not depend on the number of threads.
//!
//! An arrival that finds a slot on its own thread bypasses this queue. A thread that sleeps with a free slot is
//! woken.

use crate::worker::slots::DueRequest;
use prony_load::Job;
use prony_records::Phase;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The queue of arrivals that wait for a slot on any thread.
#[derive(Debug)]
pub(crate) struct Backlog {
    waiting: Mutex<VecDeque<DelayedRequest>>,
    capacity: usize,
    /// Length of the queue, readable without its lock.
    count: AtomicUsize,
    /// Open connections of all threads.
    open: AtomicU32,
    /// Threads without further arrivals of their own.
    dry: AtomicU32,
    threads: Vec<Thread>,
}

#[derive(Debug)]
struct DelayedRequest {
    phase: Phase,
    due: DueRequest,
}

/// The shared state of a thread.
#[derive(Debug)]
#[repr(align(128))]
struct Thread {
    /// Whether it has a free slot.
    has_free_slot: AtomicBool,
    /// An eventfd that wakes the thread.
    bell: File,
}

/// One thread's handle of the backlog.
#[derive(Debug)]
pub(in crate::worker) struct Share {
    backlog: Arc<Backlog>,
    thread: usize,
    phase: Phase,
    /// Whether this thread has announced a free slot to the others.
    has_free_slot: bool,
    is_dry: bool,
}

impl Backlog {
    /// The backlog of a load; `None` if its threads cannot share arrivals.
    pub(crate) fn of(job: &Job) -> io::Result<Option<Arc<Self>>> {
        let prony_load::Load::Open {
            backlog,
            members: None,
            ..
        } = job.load
        else {
            return Ok(None);
        };
        if job.threads < 2 {
            return Ok(None);
        }
        let capacity: u64 = (0..job.threads)
            .map(|thread| job.partition(thread).share(backlog))
            .sum();
        let threads = (0..job.threads)
            .map(|_| Thread::new())
            .collect::<io::Result<_>>()?;
        Ok(Some(Arc::new(Self {
            waiting: Mutex::default(),
            capacity: usize::try_from(capacity).unwrap_or(usize::MAX),
            count: AtomicUsize::new(0),
            open: AtomicU32::new(0),
            dry: AtomicU32::new(0),
            threads,
        })))
    }

    /// The file that becomes readable when a thread should check the queue.
    pub(in crate::worker) fn bell(&self, thread: u32) -> BorrowedFd<'_> {
        self.threads[thread as usize].bell.as_fd()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<DelayedRequest>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a thread that has a free slot, the next one after `thread`.
    fn wake_another(&self, thread: usize) {
        let (before, after) = self.threads.split_at(thread);
        let others = after[1..].iter().chain(before);
        if let Some(other) = others
            .into_iter()
            .find(|other| other.has_free_slot.load(Ordering::SeqCst))
        {
            // The write fails only if the counter is full; the thread is woken then, too.
            let _ = (&other.bell).write(&1_u64.to_ne_bytes());
        }
    }
}

impl Thread {
    fn new() -> io::Result<Self> {
        // SAFETY: no memory is involved.
        let bell = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if bell < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            has_free_slot: AtomicBool::new(false),
            // SAFETY: the kernel has just returned this descriptor.
            bell: File::from(unsafe { OwnedFd::from_raw_fd(bell) }),
        })
    }
}

impl Share {
    pub(in crate::worker) fn new(backlog: Arc<Backlog>, thread: u32) -> Self {
        Self {
            backlog,
            thread: thread as usize,
            phase: Phase::WarmUp,
            has_free_slot: false,
            is_dry: false,
        }
    }

    /// Starts this thread's next phase. Arrivals of the warm-up that are due after its end are dropped.
    pub(in crate::worker) fn enter(&mut self, phase: Phase, begin: u64) {
        self.phase = phase;
        if phase == Phase::Measurement {
            let mut waiting = self.backlog.lock();
            waiting.retain(|one| one.phase != Phase::WarmUp || one.due.intended < begin);
            self.backlog.count.store(waiting.len(), Ordering::SeqCst);
        }
    }

    /// Whether any arrival waits.
    pub(in crate::worker) fn is_waiting(&self) -> bool {
        self.backlog.count.load(Ordering::Relaxed) > 0
    }

    /// Takes the oldest arrival, unless it belongs to a phase that this thread has not entered.
    pub(in crate::worker) fn take(&self) -> Option<DueRequest> {
        self.take_if(|_| true)
    }

    fn take_if(&self, wanted: impl Fn(&DueRequest) -> bool) -> Option<DueRequest> {
        if !self.is_waiting() {
            return None;
        }
        let mut waiting = self.backlog.lock();
        let is_ours = |one: &mut DelayedRequest| rank(one.phase) <= rank(self.phase) && wanted(&one.due);
        let due = waiting.pop_front_if(is_ours)?.due;
        self.backlog.count.store(waiting.len(), Ordering::SeqCst);
        Some(due)
    }

    /// Takes the oldest arrival, if it was due by `limit`, under the same condition as [`Share::take`].
    pub(in crate::worker) fn take_due_by(&self, limit: u64) -> Option<DueRequest> {
        self.take_if(|due| due.intended <= limit)
    }

    /// Queues an arrival for the first thread with a free slot. Returns it as an error if the queue is full.
    pub(in crate::worker) fn put(&self, due: DueRequest) -> Result<(), DueRequest> {
        let mut waiting = self.backlog.lock();
        if waiting.len() >= self.backlog.capacity {
            return Err(due);
        }
        // Threads check their clocks at different times, so arrivals may be out of order.
        let place = waiting.partition_point(|one| one.due.intended <= due.intended);
        waiting.insert(
            place,
            DelayedRequest {
                phase: self.phase,
                due,
            },
        );
        self.backlog.count.store(waiting.len(), Ordering::SeqCst);
        drop(waiting);
        self.backlog.wake_another(self.thread);
        Ok(())
    }

    /// Announces whether this thread has a free slot before it sleeps. Returns whether it must not sleep, because an
    /// arrival waits that it can take.
    pub(in crate::worker) fn announce_free_slot(&mut self, has_free_slot: bool) -> bool {
        if has_free_slot != self.has_free_slot {
            self.has_free_slot = has_free_slot;
            self.backlog.threads[self.thread]
                .has_free_slot
                .store(has_free_slot, Ordering::SeqCst);
        }
        if self.backlog.count.load(Ordering::SeqCst) == 0 {
            return false;
        }
        if !has_free_slot {
            // It may have been woken for an arrival for which it no longer has a slot.
            self.backlog.wake_another(self.thread);
        }
        has_free_slot
    }

    /// Called when a connection of this thread has opened.
    pub(in crate::worker) fn opened(&self) {
        self.backlog.open.fetch_add(1, Ordering::Relaxed);
    }

    /// Called when a connection of this thread accepts no further requests.
    pub(in crate::worker) fn closed(&self) {
        self.backlog.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether any thread has an open connection.
    pub(in crate::worker) fn any_open(&self) -> bool {
        self.backlog.open.load(Ordering::Relaxed) > 0
    }

    /// Called when this thread has no further arrivals of its own. Returns whether that is true of all threads.
    pub(in crate::worker) fn all_dry(&mut self) -> bool {
        if !std::mem::replace(&mut self.is_dry, true) {
            self.backlog.dry.fetch_add(1, Ordering::SeqCst);
        }
        self.backlog.dry.load(Ordering::SeqCst) as usize == self.backlog.threads.len()
    }
}

/// The order of phases.
const fn rank(phase: Phase) -> u8 {
    match phase {
        Phase::WarmUp => 0,
        Phase::Measurement => 1,
        Phase::Drain => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn backlog(threads: u32, capacity: usize) -> Arc<Backlog> {
        Arc::new(Backlog {
            waiting: Mutex::default(),
            capacity,
            count: AtomicUsize::new(0),
            open: AtomicU32::new(0),
            dry: AtomicU32::new(0),
            threads: (0..threads).map(|_| Thread::new().expect("a file")).collect(),
        })
    }

    fn due(intended: u64) -> DueRequest {
        DueRequest {
            operation: 0,
            step: 0,
            number: intended,
            intended,
            late: 0,
            sequence_begin: intended,
            starts_arrival: true,
            resend_state: None,
        }
    }

    fn rings(backlog: &Backlog, thread: usize) -> bool {
        (&backlog.threads[thread].bell).read(&mut [0; 8]).is_ok()
    }

    #[test]
    fn the_oldest_goes_first_whoever_saw_it() {
        let backlog = backlog(2, 3);
        let shares = [0, 1].map(|thread| Share::new(Arc::clone(&backlog), thread));
        assert_eq!(shares[0].take().map(|due| due.intended), None);
        for (thread, intended) in [(0, 5), (1, 3), (0, 7)] {
            assert!(shares[thread].put(due(intended)).is_ok());
        }
        assert!(shares[1].put(due(9)).is_err(), "the capacity is three");
        let arrivals = std::iter::from_fn(|| shares[1].take()).map(|due| due.intended);
        assert_eq!(arrivals.collect::<Vec<_>>(), [3, 5, 7]);
    }

    #[test]
    fn who_sleeps_with_a_place_is_woken_and_passes_on_what_it_cannot_take() {
        let backlog = backlog(3, 9);
        let mut shares = [0, 1, 2].map(|thread| Share::new(Arc::clone(&backlog), thread));
        assert!(!shares[1].announce_free_slot(true) && !shares[2].announce_free_slot(true));
        assert!(shares[0].put(due(1)).is_ok());
        assert!(rings(&backlog, 1) && !rings(&backlog, 2));
        assert!(shares[1].announce_free_slot(true), "it must not sleep now");
        // Its slot has been used meanwhile.
        assert!(!shares[1].announce_free_slot(false));
        assert!(rings(&backlog, 2));
        assert!(shares[2].take().is_some() && !shares[2].announce_free_slot(true));
    }

    /// Threads enter a phase at slightly different times.
    #[test]
    fn no_thread_takes_what_belongs_to_a_phase_that_it_has_not_entered() {
        let backlog = backlog(2, 9);
        let mut shares = [0, 1].map(|thread| Share::new(Arc::clone(&backlog), thread));
        assert!(
            shares[0].put(due(99)).is_ok(),
            "seen late, due after the end of the warm-up"
        );
        shares[0].enter(Phase::Measurement, 50);
        assert!(!shares[0].is_waiting());
        assert!(shares[0].put(due(60)).is_ok());
        assert!(shares[1].take().is_none());
        shares[1].enter(Phase::Measurement, 50);
        assert!(shares[1].take().is_some());
    }
}
