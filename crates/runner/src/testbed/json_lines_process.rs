//! A prony process on a host of a testbed that exchanges lines of JSON over its standard streams.

use crate::testbed::Member;
use prony_host::{HostError, InheritedVariables, Process, ProcessSpec, RolePlacement, Stdio};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::Duration;
use std::{io, thread};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// A line with more bytes is a long one.
const LONG: usize = 1 << 20;
/// Maximum size of its log in bytes.
const LOG_BYTES: u64 = 1 << 20;

/// The task of a prony process on a host.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// Its name in messages: `the generator`.
    pub name: &'a str,
    pub arguments: &'a [&'a str],
    /// Its working directory; `None` for the folder of its log.
    pub folder: Option<&'a Path>,
    /// Its CPUs; `None` for all.
    pub place: Option<&'a RolePlacement>,
    /// The file for its standard error.
    pub log: &'a Path,
}

/// A prony process on a host that runs one task and reports events. It is stopped when dropped.
pub struct JsonLinesProcess {
    who: String,
    process: Box<dyn Process>,
    input: Option<Box<dyn Write + Send>>,
    lines: Receiver<JsonLine>,
}

/// A line with its permit to be in memory, if it is a long one.
struct JsonLine {
    text: String,
    _turn: Option<MemoryPermit>,
}

impl JsonLinesProcess {
    pub fn begin(member: &Member, task: Task<'_>) -> Result<Self, HostError> {
        Self::among(member, task, None)
    }

    /// Starts it as one of many processes whose long lines share the permits of `semaphore`. The caller must keep reading from all
    /// processes: none may wait for long.
    pub(crate) fn among(
        member: &Member,
        task: Task<'_>,
        semaphore: Option<Arc<MemorySemaphore>>,
    ) -> Result<Self, HostError> {
        let place = task.place.cloned().unwrap_or_default();
        let spec = ProcessSpec {
            name: task.name.to_owned(),
            command: member.prony(task.arguments),
            folder: task.folder.map_or_else(|| member.logs.clone(), PathBuf::from),
            inherited: InheritedVariables::All,
            cpus: place.cpus,
            batch_policy: place.batch_policy,
            supervisor_cpus: place.keepers,
            stdio: Stdio::Piped,
            log: member.logs.join(task.log),
            log_bytes: LOG_BYTES,
            grace: GRACE,
            ..ProcessSpec::default()
        };
        let mut process = member.host.start(&spec)?;
        let (input, output) = process.take_pipes().ok_or_else(|| HostError::Start {
            name: spec.name,
            reason: "it has no pipes".to_owned(),
        })?;
        Ok(Self {
            who: if member.name.is_empty() {
                task.name.to_owned()
            } else {
                format!("{} on {}", task.name, member.name)
            },
            process,
            input: Some(input),
            lines: listen(output, semaphore),
        })
    }

    /// The name of the task and its host, for messages.
    pub fn who(&self) -> &str {
        &self.who
    }

    /// The process, for example to read its resource usage.
    pub(crate) fn process(&mut self) -> &mut dyn Process {
        &mut *self.process
    }

    /// Sends a value. Errors are not reported here: a process that no longer reads is reported as ended when the next message is received.
    pub fn send(&mut self, value: &impl Serialize) {
        let mut line = serde_json::to_string(value).expect("invariant: messages are plain data");
        line.push('\n');
        if let Some(input) = &mut self.input
            && input
                .write_all(line.as_bytes())
                .and_then(|()| input.flush())
                .is_err()
        {
            self.input = None;
        }
    }

    /// Receives the next value; `None` after this timeout. The error says which process ended, and why.
    pub fn receive<T: DeserializeOwned>(&mut self, within: Duration) -> Result<Option<T>, String> {
        let line_read = match self.lines.recv_timeout(within) {
            Ok(line_read) => line_read,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err(self.why_gone()),
        };
        serde_json::from_str(&line_read.text).map(Some).map_err(|error| {
            let begin: String = line_read.text.chars().take(200).collect();
            format!(
                "unexpected message from {}: `{begin}` ({error}): do both have the same version of prony?",
                self.who
            )
        })
    }

    fn why_gone(&mut self) -> String {
        let ended = self
            .process
            .stop()
            .map_or_else(|error| error.to_string(), |ending| ending.to_string());
        let last = self.process.log_tail(3).join(" | ");
        let colon = if last.is_empty() { "" } else { ": " };
        format!("{} {ended}{colon}{last}", self.who)
    }
}

/// Reads in a separate thread, so that the process never waits for its reader, except for the permit of a long line.
fn listen(output: Box<dyn Read + Send>, semaphore: Option<Arc<MemorySemaphore>>) -> Receiver<JsonLine> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        while let Ok(Some(line_read)) = line(&mut output, semaphore.as_ref()) {
            if sender.send(line_read).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The next line; `None` at the end.
fn line(output: &mut impl BufRead, semaphore: Option<&Arc<MemorySemaphore>>) -> io::Result<Option<JsonLine>> {
    let mut bytes = Vec::new();
    // The first part of a long line is read before there is a permit, because its length is not known in advance.
    (&mut *output).take(LONG as u64).read_until(b'\n', &mut bytes)?;
    let mut permit = None;
    if bytes.len() == LONG && bytes.last() != Some(&b'\n') {
        permit = semaphore.map(MemorySemaphore::take);
        output.read_until(b'\n', &mut bytes)?;
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    while bytes.last().is_some_and(|last| matches!(last, b'\n' | b'\r')) {
        bytes.pop();
    }
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(Some(JsonLine { text, _turn: permit }))
}

/// A semaphore for long lines. At the end of a long load every worker sends some MiB at the same moment; workers without a
/// permit wait before their line is read.
#[derive(Debug)]
pub(crate) struct MemorySemaphore {
    free: Mutex<usize>,
    given_back: Condvar,
}

/// A permit to keep a long line in memory, released when dropped.
#[derive(Debug)]
pub(crate) struct MemoryPermit(Arc<MemorySemaphore>);

impl MemorySemaphore {
    /// Permits `at_a_time` long lines in memory.
    pub(crate) fn new(at_a_time: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Mutex::new(at_a_time),
            given_back: Condvar::new(),
        })
    }

    /// Waits for a permit.
    pub(super) fn take(self: &Arc<Self>) -> MemoryPermit {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.given_back.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        MemoryPermit(Arc::clone(self))
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn lines_are_read_as_they_are() {
        let mut text: &[u8] = b"one\n\ntwo\r\nthe last";
        let mut read = || {
            line(&mut text, None)
                .expect("text")
                .map(|line_read| line_read.text)
        };
        assert_eq!(read().as_deref(), Some("one"));
        assert_eq!(read().as_deref(), Some(""));
        assert_eq!(read().as_deref(), Some("two"));
        assert_eq!(read().as_deref(), Some("the last"));
        assert_eq!(read(), None);
        assert!(line(&mut &b"\xff\n"[..], None).is_err());
    }

    /// A reader of one line with this many bytes, which counts how many such lines are being read.
    struct LongLine(usize, Arc<AtomicUsize>);

    impl Read for LongLine {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(self.0);
            buffer[..length].fill(b'x');
            if length > 0 && self.0 == length {
                buffer[length - 1] = b'\n';
            }
            self.0 -= length;
            self.1.fetch_add(length, Ordering::Relaxed);
            Ok(length)
        }
    }

    #[test]
    fn long_lines_of_many_are_in_memory_in_turns() {
        const LENGTH: usize = 3 * LONG;
        const AT_A_TIME: usize = 2;
        let semaphore = MemorySemaphore::new(AT_A_TIME);
        let read = Arc::new(AtomicUsize::new(0));
        let all: Vec<Receiver<JsonLine>> = (0..12)
            .map(|_| {
                listen(
                    Box::new(LongLine(LENGTH, Arc::clone(&read))),
                    Some(Arc::clone(&semaphore)),
                )
            })
            .collect();
        let mut left: Vec<&Receiver<JsonLine>> = all.iter().collect();
        let mut taken = 0;
        while !left.is_empty() {
            left.retain(|lines| {
                let Ok(line_read) = lines.try_recv() else {
                    return true;
                };
                assert_eq!(line_read.text.len(), LENGTH - 1);
                // At most two complete lines, including this one, and the first part of every other line.
                let begun = (all.len() - taken - AT_A_TIME) * (LONG + (64 << 10));
                let most = (taken + AT_A_TIME) * LENGTH + begun;
                assert!(read.load(Ordering::Relaxed) <= most);
                taken = (taken + 1).min(all.len() - AT_A_TIME);
                false
            });
            thread::yield_now();
        }
        assert_eq!(read.load(Ordering::Relaxed), all.len() * LENGTH);
    }
}
