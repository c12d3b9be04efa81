//! Reads the clocks: no other module does.

/// The time of the monotonic clock, ns. All threads share its origin.
#[inline]
pub(crate) fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Offset of the wall clock from the monotonic one, ns. It changes only when the wall clock is set or slewed.
pub(crate) fn wall_offset_ns() -> i64 {
    let before = read(libc::CLOCK_MONOTONIC);
    let wall = read(libc::CLOCK_REALTIME);
    let after = read(libc::CLOCK_MONOTONIC);
    wall as i64 - u64::midpoint(before, after) as i64
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for a timespec, and both clocks exist on every Linux.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    debug_assert_eq!(result, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU usage of a thread so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadTime {
    /// CPU time, ns.
    pub(crate) cpu_ns: u64,
    /// Time in which the thread was runnable but waited for a CPU, ns; 0 if the kernel does not report it.
    pub(crate) waiting_ns: u64,
}

impl ThreadTime {
    /// The usage of the calling thread.
    pub(crate) fn of_this_thread() -> Self {
        let waiting_ns = std::fs::read_to_string("/proc/thread-self/schedstat")
            .ok()
            .and_then(|text| text.split_whitespace().nth(1)?.parse().ok())
            .unwrap_or(0);
        Self {
            cpu_ns: read(libc::CLOCK_THREAD_CPUTIME_ID),
            waiting_ns,
        }
    }

    pub(crate) const fn since(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            waiting_ns: self.waiting_ns.saturating_sub(earlier.waiting_ns),
        }
    }
}
