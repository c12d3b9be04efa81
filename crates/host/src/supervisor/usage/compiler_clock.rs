//! The CPU time of compiler threads. They come and go, so it is read with every sample, and what ended threads used is kept.

use crate::compiler_threads::{CompilerKind, CompilerThreads};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Samples in which a thread may still get its name: runtimes start a thread and name it then.
const UNNAMED: u8 = 10;

/// The CPU time of the compiler threads of a process tree.
#[derive(Debug, Default)]
pub(in crate::supervisor) struct CompilerClock {
    names: CompilerThreads,
    threads: HashMap<i32, Thread>,
    /// CPU time of compiler threads that have ended, ns.
    ended_ns: u64,
    kind: Option<CompilerKind>,
    /// Number of the current sample.
    sample: u64,
}

#[derive(Debug)]
struct Thread {
    /// The sample in which it was seen last.
    seen: u64,
    state: ThreadState,
}

#[derive(Debug)]
enum ThreadState {
    /// Not a compiler thread so far; its name is read this number of times more.
    Other(u8),
    /// A compiler thread with its CPU time, ns.
    Compiler(u64),
}

/// The CPU time of compiler threads so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::supervisor) struct CompilerTime {
    pub(in crate::supervisor) cpu_ns: u64,
    pub(in crate::supervisor) kind: CompilerKind,
}

impl CompilerClock {
    pub(in crate::supervisor) fn new(names: CompilerThreads) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Reads the threads of these processes.
    pub(in crate::supervisor) fn read(&mut self, processes: &[i32]) {
        self.sample += 1;
        for pid in processes {
            let folder = format!("/proc/{pid}/task");
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                    continue;
                };
                self.read_thread(thread, &entry.path());
            }
        }
        let (sample, mut ended_ns) = (self.sample, 0);
        self.threads.retain(|_, thread| {
            let lives = thread.seen == sample;
            if let (false, ThreadState::Compiler(ns)) = (lives, &thread.state) {
                ended_ns += ns;
            }
            lives
        });
        self.ended_ns += ended_ns;
    }

    fn read_thread(&mut self, number: i32, folder: &Path) {
        let new = Thread {
            seen: 0,
            state: ThreadState::Other(UNNAMED),
        };
        let thread = self.threads.entry(number).or_insert(new);
        thread.seen = self.sample;
        if let ThreadState::Other(reads @ 1..) = &mut thread.state {
            *reads -= 1;
            let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
            if let Some(kind) = self.names.kind(name.trim_end()) {
                self.kind = self.kind.max(Some(kind));
                thread.state = ThreadState::Compiler(0);
            }
        }
        if let ThreadState::Compiler(ns) = &mut thread.state {
            *ns = run_ns(folder).unwrap_or(*ns);
        }
    }

    /// CPU time up to the last sample; `None` if there was no compiler thread so far.
    pub(in crate::supervisor) fn time(&self) -> Option<CompilerTime> {
        let cpu_ns = |thread: &Thread| match thread.state {
            ThreadState::Compiler(ns) => ns,
            ThreadState::Other(_) => 0,
        };
        self.kind.map(|kind| CompilerTime {
            cpu_ns: self.ended_ns + self.threads.values().map(cpu_ns).sum::<u64>(),
            kind,
        })
    }
}

/// Time that a thread ran, ns: the first number of its `schedstat`.
fn run_ns(folder: &Path) -> Option<u64> {
    let text = fs::read_to_string(folder.join("schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    /// A thread of this name that works for this long and then ends when told to.
    fn compiler(
        name: &str,
        work: Duration,
    ) -> (thread::JoinHandle<()>, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let (done, is_done) = mpsc::channel();
        let (end, ends) = mpsc::channel();
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let began = Instant::now();
            while began.elapsed() < work {
                std::hint::spin_loop();
            }
            let _ = done.send(());
            let _ = ends.recv();
        });
        (spawned.expect("a thread"), is_done, end)
    }

    #[test]
    fn time_of_ended_threads_is_kept_and_other_threads_do_not_count() {
        let own = [std::process::id() as i32];
        let mut clock = CompilerClock::new(CompilerThreads::with(&["toy compiler".to_owned()]));
        clock.read(&own);
        assert_eq!(clock.time(), None, "no such thread yet");
        let (worker, other_done, other_end) = compiler("other work", Duration::from_millis(50));
        let (thread, done, end) = compiler("toy compiler 1", Duration::from_millis(50));
        done.recv().expect("worked");
        other_done.recv().expect("worked");
        clock.read(&own);
        let first = clock.time().expect("a compiler thread");
        assert_eq!(first.kind, CompilerKind::Compiles);
        assert!((1_000_000..=60_000_000).contains(&first.cpu_ns), "{first:?}");
        drop((end, other_end));
        thread.join().expect("ended");
        worker.join().expect("ended");
        clock.read(&own);
        let after = clock.time().expect("it is kept");
        assert_eq!(after, first);
    }
}
