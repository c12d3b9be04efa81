//! The generator: another process that is told a [`Job`] and answers with [`Event`]s.

use crate::Failure;
use prony_host::{Cpus, Host, Isolation, Limits, Process, ProcessSpec, Stdio, Usage};
use prony_load::Job;
use prony_measurement::{Command, Event, Stage};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Something that generates load.
pub trait Generator: Sync {
    /// Begins a job. `cpus` are for it alone; `log` takes what it says beside its events.
    fn begin(&self, host: &dyn Host, job: &Job, cpus: &Cpus, log: &Path)
    -> Result<Box<dyn Loading>, Failure>;
}

/// A job that runs. Dropping it ends it.
pub trait Loading {
    /// The next event, waiting for it as long as this.
    fn next(&mut self, within: Duration) -> Heard;

    /// Tells it something. Whether it heard shows in its events.
    fn tell(&mut self, command: Command);

    /// From here on its resources count.
    fn begin_window(&mut self);

    /// Up to here; `None` where nobody counted.
    fn end_window(&mut self) -> Option<Usage>;
}

/// What was heard of a generator.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// This.
    Event(Event),
    /// Nothing yet.
    Nothing,
    /// Nothing any more: it has ended, for this reason.
    Gone(String),
}

/// A generator in a process of its own, which reads the job and then commands from its input, a line each, and writes
/// events to its output.
#[derive(Debug, Clone)]
pub struct ProcessGenerator {
    command: Vec<String>,
    folder: PathBuf,
}

/// Time for the generator to end when it is told to.
const GRACE: Duration = Duration::from_secs(2);
/// Most bytes of its log.
const LOG_BYTES: u64 = 1 << 18;

impl ProcessGenerator {
    /// A generator that is started with this program and arguments, in this folder.
    pub const fn new(command: Vec<String>, folder: PathBuf) -> Self {
        Self { command, folder }
    }
}

impl Generator for ProcessGenerator {
    fn begin(
        &self,
        host: &dyn Host,
        job: &Job,
        cpus: &Cpus,
        log: &Path,
    ) -> Result<Box<dyn Loading>, Failure> {
        let spec = ProcessSpec {
            name: "the generator".to_owned(),
            command: self.command.clone(),
            container: None,
            folder: self.folder.clone(),
            environment: BTreeMap::new(),
            cpus: cpus.clone(),
            supervisor_cpus: cpus.clone(),
            limits: Limits::default(),
            isolation: Isolation::WherePossible,
            network: None,
            stdio: Stdio::Piped,
            log: log.to_owned(),
            log_bytes: LOG_BYTES,
            grace: GRACE,
            sample_every: None,
        };
        let failed = |error: &prony_host::HostError| Failure::host(Stage::WarmUp, error);
        let mut process = host.start(&spec).map_err(|error| failed(&error))?;
        let pipes = process.take_pipes();
        let (input, output) =
            pipes.ok_or_else(|| Failure::lab(Stage::WarmUp, "the generator has no pipes"))?;
        let mut running = Running {
            process,
            input: Some(input),
            events: listen(output),
        };
        running.say(job);
        Ok(Box::new(running))
    }
}

struct Running {
    process: Box<dyn Process>,
    input: Option<Box<dyn Write + Send>>,
    events: Receiver<Result<Event, String>>,
}

impl Running {
    /// A line that cannot be written finds no reader: that shows at the other end.
    fn say(&mut self, value: &impl Serialize) {
        let mut line = serde_json::to_string(value).expect("invariant: a job is plain data");
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

    fn why_gone(&mut self) -> String {
        let ended = self
            .process
            .stop()
            .map_or_else(|error| error.to_string(), |ending| ending.to_string());
        let last = self.process.log_tail(3).join(" | ");
        if last.is_empty() {
            format!("the generator {ended}")
        } else {
            format!("the generator {ended}: {last}")
        }
    }
}

impl Loading for Running {
    fn next(&mut self, within: Duration) -> Heard {
        match self.events.recv_timeout(within) {
            Ok(Ok(event)) => Heard::Event(event),
            Ok(Err(reason)) => Heard::Gone(reason),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::Gone(self.why_gone()),
        }
    }

    fn tell(&mut self, command: Command) {
        self.say(&command);
    }

    fn begin_window(&mut self) {
        // A generator that is not counted is a gap in the record, not a failure.
        let _ = self.process.begin_window();
    }

    fn end_window(&mut self) -> Option<Usage> {
        self.process.end_window().ok()
    }
}

/// Reads events in a thread of its own: the generator never waits for us.
fn listen(output: Box<dyn Read + Send>) -> Receiver<Result<Event, String>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let event = serde_json::from_str(&line).map_err(|error| {
                let begin: String = line.chars().take(200).collect();
                format!(
                    "the generator said `{begin}`, which is no event ({error}): are both of the same version?"
                )
            });
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    receiver
}
