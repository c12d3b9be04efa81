//! The CPU speed probe: times a small fixed amount of work on the CPUs of a service, again and again while the service runs.
//!
//! A CPU of a virtual machine is often one hardware thread of a core. Work on the other thread slows it down by up to half, for
//! parts of a second or for minutes, and no kernel counter shows it: CPU time counts as if the CPU ran at full speed. The same
//! work then takes more CPU time. So the CPU time of the probe allows to correct the CPU time of a service.
//!
//! The work is done twice, and the second time counts. The first takes a quarter to a half longer, because the service has filled the caches
//! with its own code and data: longer, the more of them it uses, which says nothing about the machine.

use crate::Cpus;
use nix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two probes. At about 45 µs each they take less than one percent of a CPU.
const EVERY: Duration = Duration::from_millis(5);
/// Arithmetic steps per probe: a fifth of its time.
const STEPS: u64 = 3_000;
/// Messages through the kernel and back per probe: the most common work of services.
const MESSAGES: usize = 8;
/// Size of a message, bytes.
const MESSAGE: usize = 64;

/// Probes each of the CPUs until it is ended or dropped.
#[derive(Debug)]
pub(super) struct CpuSpeedProbe {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Option<(f64, u32)>>>,
}

impl CpuSpeedProbe {
    /// Starts the probes. Without a thread or a socket pair for a CPU it is not probed.
    pub(super) fn begin(cpus: &Cpus) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let each = |&cpu: &usize| {
            let over = Arc::clone(&over);
            let thread = thread::Builder::new().name("cpu-speed-probe".to_owned());
            thread.spawn(move || measure(cpu, &over)).ok()
        };
        Self {
            threads: cpus.as_slice().iter().filter_map(each).collect(),
            over,
        }
    }

    /// Ends the probes: mean CPU time of a probe over all CPUs, ns; `None` if there was none.
    pub(super) fn end(mut self) -> Option<f64> {
        self.stop();
        let threads = std::mem::take(&mut self.threads);
        let found = threads.into_iter().filter_map(|thread| thread.join().ok()?);
        let (sum, count) = found.fold((0.0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        (count > 0).then(|| sum / f64::from(count))
    }

    fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.threads.iter().for_each(|thread| thread.thread().unpark());
    }
}

/// A window that is begun again without its end must not leave its probes running.
impl Drop for CpuSpeedProbe {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Total CPU time of all probes on a CPU, ns, and their number.
fn measure(cpu: usize, over: &AtomicBool) -> Option<(f64, u32)> {
    crate::supervisor::pin_thread(0, &Cpus::from_iter([cpu])).ok()?;
    let mut ends = UnixStream::pair().ok()?;
    let (mut sum, mut count) = (0.0, 0);
    loop {
        thread::park_timeout(EVERY);
        // A probe after the end of the window is discarded, unless it is the only one.
        if count > 0 && over.load(Ordering::Relaxed) {
            return Some((sum, count));
        }
        once(&mut ends)?;
        sum += once(&mut ends)? as f64;
        count += 1;
    }
}

/// Does the work once: CPU time, ns.
fn once((near, far): &mut (UnixStream, UnixStream)) -> Option<i64> {
    let began = cpu_time_ns()?;
    // Eight independent sums: the core can execute them in parallel, so they show how much of it the CPU gets.
    let mut sums: [u64; 8] = black_box([1, 2, 3, 4, 5, 6, 7, 8]);
    for step in 0..STEPS {
        for (place, sum) in (0_u32..).zip(&mut sums) {
            *sum = sum.rotate_left(place + 1) ^ step;
        }
    }
    black_box(sums);
    let mut message = [0; MESSAGE];
    for _ in 0..MESSAGES {
        near.write_all(&message).ok()?;
        far.read_exact(&mut message).ok()?;
    }
    Some(cpu_time_ns()? - began)
}

/// CPU time of this thread, ns.
fn cpu_time_ns() -> Option<i64> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sched::{CpuSet, sched_getaffinity};
    use nix::unistd::Pid;

    #[test]
    fn the_same_work_is_timed_again_and_again() {
        let mine = sched_getaffinity(Pid::from_raw(0)).expect("known");
        let cpu = (0..CpuSet::count()).find(|&cpu| mine.is_set(cpu).unwrap_or(false));
        let mean = CpuSpeedProbe::begin(&cpu.into_iter().collect())
            .end()
            .expect("a CPU of mine");
        assert!((1_000.0..10_000_000.0).contains(&mean), "{mean} ns");
    }

    #[test]
    fn a_probe_that_is_dropped_ends() {
        let probe = CpuSpeedProbe::begin(&Cpus::from_iter([0]));
        let over = Arc::downgrade(&probe.over);
        drop(probe);
        // Its thread holds the flag until it ends.
        let began = std::time::Instant::now();
        while over.strong_count() > 0 {
            assert!(began.elapsed() < Duration::from_secs(10), "it still runs");
            thread::yield_now();
        }
    }

    #[test]
    fn without_a_cpu_nothing_is_measured() {
        assert_eq!(CpuSpeedProbe::begin(&Cpus::default()).end(), None);
    }
}
