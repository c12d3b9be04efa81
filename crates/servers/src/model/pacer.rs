//! One clock for all streams: wakes the task of a stream when its next event is due, never earlier.
//!
//! The runtime's own timers count in milliseconds. The kernel's timers (`timerfd`) are exact, so one of them is set to the earliest
//! event of all streams. But in a virtual machine an idle CPU wakes late. The last moments before an event are therefore spent awake.

use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd as _, AsRawFd, RawFd};
use std::sync::Mutex;
use std::task::Waker;
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How long before an event the timer expires: an idle CPU of a virtual machine may need as long to wake up.
const AWAKE: Duration = Duration::from_micros(100);

pub(crate) struct Pacer {
    timer: AsyncFd<Timer>,
    waiting: Mutex<WakeQueue>,
}

/// The kernel's timer, in the form that the runtime waits for.
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// The tasks that wait, by the moment when they are due.
#[derive(Default)]
struct WakeQueue {
    moments: BinaryHeap<Reverse<WakeRequest>>,
    /// Tells equal moments apart.
    next: u64,
}

struct WakeRequest {
    due: Instant,
    number: u64,
    waker: Waker,
}

impl WakeRequest {
    const fn key(&self) -> (Instant, u64) {
        (self.due, self.number)
    }
}

impl PartialEq for WakeRequest {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for WakeRequest {}

impl PartialOrd for WakeRequest {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WakeRequest {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Pacer {
    pub(super) fn new() -> std::io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        // SAFETY: `Timer` owns its descriptor, always returns the same one, and only dropping it closes it.
        let timer = unsafe { AsyncFd::register_with_interest(Timer(timer), Interest::READABLE) }?;
        Ok(Self {
            timer,
            waiting: Mutex::default(),
        })
    }

    /// Wakes a task when this moment has come.
    pub(super) fn wake_at(&self, due: Instant, waker: Waker) {
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        let is_earliest = waiting
            .moments
            .peek()
            .is_none_or(|Reverse(earliest)| due < earliest.due);
        waiting.moments.push(Reverse(WakeRequest { due, number, waker }));
        if is_earliest {
            self.set(due);
        }
    }

    /// Wakes the tasks that are due, again and again. Returns only an error of the timer.
    pub(super) async fn drive(&self) -> std::io::Result<()> {
        loop {
            let mut ready = self.timer.readable().await?;
            ready.clear_ready();
            // It may have been set again meanwhile: then it has nothing to read, and becomes readable later.
            let _ = self.timer.get_ref().0.wait();
            while self.wake_due() {
                tokio::task::yield_now().await;
                // The load generator may share this CPU.
                std::thread::yield_now();
            }
        }
    }

    /// Wakes the tasks that are due. Whether the next one is due so soon that the CPU must stay awake; otherwise sets the timer.
    fn wake_due(&self) -> bool {
        let mut waiting = self.lock();
        let now = Instant::now();
        while let Some(Reverse(earliest)) = waiting.moments.peek() {
            if earliest.due > now {
                let is_soon = earliest.due - now <= AWAKE;
                if !is_soon {
                    self.set(earliest.due);
                }
                return is_soon;
            }
            if let Some(Reverse(moment)) = waiting.moments.pop() {
                moment.waker.wake();
            }
        }
        false
    }

    /// Sets the timer to shortly before this moment. A timer of no length would be switched off.
    fn set(&self, due: Instant) {
        let from_now = due.saturating_duration_since(Instant::now() + AWAKE);
        let from_now = from_now.max(Duration::from_nanos(1));
        let expiration = Expiration::OneShot(TimeSpec::from_duration(from_now));
        self.timer
            .get_ref()
            .0
            .set(expiration, TimerSetTimeFlags::empty())
            .expect("invariant: a timer takes every positive length");
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WakeQueue> {
        self.waiting
            .lock()
            .expect("invariant: nothing panics while tasks are added or woken")
    }
}
