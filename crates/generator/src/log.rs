//! Writes a log with one line for each measured request, or for a share of them. A separate thread writes the file,
//! so that no worker waits for a disk.

use crate::EngineError;
use prony_load::{Job, LogFormat};
use prony_merge::LogPart;
use prony_protocols::request_values::mix;
use prony_records::Outcome;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::JoinHandle;

/// Lines that a worker hands over at once.
const BATCH: usize = 4096;
/// Batches that may wait for the disk. Beyond that, lines are dropped and counted: the load must not wait.
const WAITING: usize = 256;

/// The result of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestLogEntry {
    pub(crate) operation: u16,
    /// When it was due, ns since the start of the measurement; negative: before it. The other times have the same
    /// origin.
    pub(crate) due: i64,
    /// `None` if it was never sent.
    pub(crate) sent: Option<i64>,
    pub(crate) ended: i64,
    pub(crate) outcome: Outcome,
    /// The status of a complete reply.
    pub(crate) status: Option<u16>,
    /// Length of the reply's body.
    pub(crate) bytes: u64,
}

impl RequestLogEntry {
    /// The line of a request that was due at `due` and was not sent.
    pub(crate) const fn unsent(operation: u16, due: i64, outcome: Outcome) -> Self {
        Self {
            operation,
            due,
            sent: None,
            ended: due,
            outcome,
            status: None,
            bytes: 0,
        }
    }
}

/// The log of one worker.
#[derive(Debug)]
pub(crate) struct Logbook {
    lines: Vec<RequestLogEntry>,
    to_writer: SyncSender<Batch>,
    /// Lines dropped since the last batch that was accepted.
    lost: u64,
    key: u64,
    below: u64,
    /// Whether the measurement is running.
    pub(crate) is_on: bool,
}

#[derive(Debug, Default)]
struct Batch {
    lines: Vec<RequestLogEntry>,
    /// Lines dropped before these because the disk was too slow.
    lost: u64,
}

impl Logbook {
    /// Logs a request, if it belongs to the logged share.
    pub(crate) fn note(&mut self, line: RequestLogEntry) {
        self.key = mix(self.key);
        if !self.is_on || self.key > self.below {
            return;
        }
        self.lines.push(line);
        if self.lines.len() == BATCH {
            self.hand_over();
        }
    }

    /// Hands over the pending lines without waiting: if the writer lags, they are dropped and counted.
    fn hand_over(&mut self) {
        let batch = self.batch();
        // A closed channel means that the writer has failed; it reports that itself.
        if let Err(
            TrySendError::Full(Batch { mut lines, lost })
            | TrySendError::Disconnected(Batch { mut lines, lost }),
        ) = self.to_writer.try_send(batch)
        {
            self.lost = lost + lines.len() as u64;
            lines.clear();
            self.lines = lines;
        }
    }

    fn batch(&mut self) -> Batch {
        Batch {
            lines: std::mem::replace(&mut self.lines, Vec::with_capacity(BATCH)),
            lost: std::mem::take(&mut self.lost),
        }
    }
}

impl Drop for Logbook {
    /// Hands over the last lines. The load is over, so this may wait for the disk.
    fn drop(&mut self) {
        let batch = self.batch();
        let _ = self.to_writer.send(batch);
    }
}

/// The thread that writes the log.
#[derive(Debug)]
pub(crate) struct LogWriter {
    to_writer: SyncSender<Batch>,
    thread: JoinHandle<std::io::Result<LogPart>>,
    share: f64,
    seed: u64,
}

impl LogWriter {
    /// Creates the file, if the job has a log.
    pub(crate) fn start(job: &Job) -> Result<Option<Self>, EngineError> {
        let Some(wanted) = &job.log else { return Ok(None) };
        if !(wanted.share > 0.0 && wanted.share <= 1.0) {
            return Err(EngineError::Job(format!(
                "the share of logged requests is {}: give a share above 0 and at most 1",
                wanted.share
            )));
        }
        let file = File::create(&wanted.path)
            .map_err(|source| EngineError::Job(format!("--log {}: {source}", wanted.path)))?;
        let names: Vec<String> = job
            .workload
            .operations
            .iter()
            .map(|one| one.name.clone())
            .collect();
        let (to_writer, batches) = mpsc::sync_channel(WAITING);
        let log = LogPart {
            path: wanted.path.clone(),
            lines: 0,
            lost: 0,
        };
        let format = wanted.format;
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_all(LineWriter::new(file, format)?, &names, &batches, log))
            .map_err(|source| EngineError::System {
                what: "starting the log thread",
                source,
            })?;
        Ok(Some(Self {
            to_writer,
            thread,
            share: wanted.share,
            seed: job.seed,
        }))
    }

    /// The log of one worker.
    pub(crate) fn book(&self, thread: u32) -> Logbook {
        Logbook {
            lines: Vec::with_capacity(BATCH),
            to_writer: self.to_writer.clone(),
            lost: 0,
            key: mix(self.seed ^ mix(u64::from(thread) ^ 0x6c6f_6700)),
            below: if self.share >= 1.0 {
                u64::MAX
            } else {
                (self.share * u64::MAX as f64) as u64
            },
            is_on: false,
        }
    }

    /// Waits until everything handed over is written. The workers must have ended.
    pub(crate) fn finish(self) -> Result<LogPart, EngineError> {
        drop(self.to_writer);
        match self.thread.join() {
            Ok(result) => result.map_err(|source| EngineError::System {
                what: "writing the log",
                source,
            }),
            Err(_) => Err(EngineError::WorkerPanicked),
        }
    }
}

/// The columns of the log.
#[derive(Serialize)]
struct LogLine<'a> {
    operation: &'a str,
    due_ns: i64,
    sent_ns: Option<i64>,
    ended_ns: i64,
    outcome: Outcome,
    status: Option<u16>,
    bytes: u64,
}

/// Written separately, because a log without requests has this line too.
const CSV_HEADER: [&str; 7] = [
    "operation",
    "due_ns",
    "sent_ns",
    "ended_ns",
    "outcome",
    "status",
    "bytes",
];

enum LineWriter {
    Csv(Box<csv::Writer<File>>),
    JsonLines(BufWriter<File>),
}

impl LineWriter {
    fn new(file: File, format: LogFormat) -> std::io::Result<Self> {
        Ok(match format {
            LogFormat::Csv => {
                let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(file);
                writer.write_record(CSV_HEADER)?;
                Self::Csv(Box::new(writer))
            }
            LogFormat::JsonLines => Self::JsonLines(BufWriter::new(file)),
        })
    }

    fn write(&mut self, line: &LogLine<'_>) -> std::io::Result<()> {
        match self {
            Self::Csv(writer) => Ok(writer.serialize(line)?),
            Self::JsonLines(writer) => {
                serde_json::to_writer(&mut *writer, line)?;
                writer.write_all(b"\n")
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Csv(writer) => writer.flush(),
            Self::JsonLines(writer) => writer.flush(),
        }
    }
}

fn write_all(
    mut out: LineWriter,
    operations: &[String],
    batches: &Receiver<Batch>,
    mut log: LogPart,
) -> std::io::Result<LogPart> {
    for Batch { lines, lost } in batches {
        log.lost += lost;
        for line in &lines {
            out.write(&LogLine {
                operation: &operations[usize::from(line.operation)],
                due_ns: line.due,
                sent_ns: line.sent,
                ended_ns: line.ended,
                outcome: line.outcome,
                status: line.status,
                bytes: line.bytes,
            })?;
        }
        log.lines += lines.len() as u64;
    }
    out.flush()?;
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The writer does not read: lines that do not fit are counted, and the load does not wait.
    #[test]
    fn a_disk_that_stands_still_costs_lines_and_no_time() {
        let (to_writer, batches) = mpsc::sync_channel(1);
        let mut book = Logbook {
            lines: Vec::new(),
            to_writer,
            lost: 0,
            key: 0,
            below: u64::MAX,
            is_on: true,
        };
        let logging = std::thread::spawn(move || {
            for due in 0..3 * BATCH as i64 + 5 {
                book.note(RequestLogEntry::unsent(0, due, Outcome::Dropped));
            }
            book
        });
        let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
        while !logging.is_finished() {
            assert!(std::time::Instant::now() < deadline, "logging waits for the disk");
            std::thread::yield_now();
        }
        let book = logging.join().expect("no panic");
        let first = batches.recv().expect("the batch that found room");
        assert_eq!((first.lines.len(), first.lost), (BATCH, 0));
        drop(book);
        let last = batches.recv().expect("the last lines");
        assert_eq!((last.lines.len(), last.lost), (5, 2 * BATCH as u64));
        assert_eq!(last.lines[0].due, 3 * BATCH as i64);
    }
}
