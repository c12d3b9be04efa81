//! The generator on one worker: its process, and what is said over its standard streams.

use super::{ARGUMENTS, Heard, Loading, Spent};
use crate::Member;
use prony_host::{HostError, Isolation, Limits, Place, Process, ProcessSpec, Stdio};
use prony_load::Job;
use prony_measurement::{Command, Event};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time for the generator to end when it is told to.
const GRACE: Duration = Duration::from_secs(2);
/// Most bytes of its log.
const LOG_BYTES: u64 = 1 << 18;

/// The generator on one worker.
pub(super) struct Line {
    host: String,
    /// Whether the service is on the same host.
    beside: bool,
    process: Box<dyn Process>,
    input: Option<Box<dyn Write + Send>>,
    events: Receiver<Result<Event, String>>,
}

impl Line {
    /// Starts it, and tells it its job. `beside`: whether the service is on the same host.
    pub(super) fn begin(
        (member, place): (&Member, &Place),
        beside: bool,
        job: &Job,
        log: &Path,
    ) -> Result<Self, HostError> {
        let spec = ProcessSpec {
            name: "the generator".to_owned(),
            command: member.prony(ARGUMENTS),
            container: None,
            folder: member.logs.clone(),
            environment: BTreeMap::new(),
            cpus: place.cpus.clone(),
            supervisor_cpus: place.keepers.clone(),
            limits: Limits::default(),
            isolation: Isolation::WherePossible,
            network: None,
            stdio: Stdio::Piped,
            log: member.logs.join(log),
            log_bytes: LOG_BYTES,
            grace: GRACE,
            stop_signal: None,
            sample_every: None,
        };
        let mut process = member.host.start(&spec)?;
        let pipes = process.take_pipes();
        let (input, output) = pipes.ok_or_else(|| HostError::Start {
            name: spec.name,
            reason: "it has no pipes".to_owned(),
        })?;
        let mut line = Self {
            host: place.host.clone(),
            beside,
            process,
            input: Some(input),
            events: listen(output),
        };
        line.say(job);
        Ok(line)
    }

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
        let who = who(&self.host);
        if last.is_empty() {
            format!("{who} {ended}")
        } else {
            format!("{who} {ended}: {last}")
        }
    }
}

/// The generator, with the worker that it is on where there are several hosts.
pub(super) fn who(host: &str) -> String {
    if host.is_empty() {
        "the generator".to_owned()
    } else {
        format!("the generator on {host}")
    }
}

impl Loading for Line {
    fn next(&mut self, within: Duration) -> Heard {
        match self.events.recv_timeout(within) {
            Ok(Ok(event)) => Heard::Event(event),
            Ok(Err(reason)) => Heard::Gone(format!("{} {reason}", who(&self.host))),
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

    fn end_window(&mut self) -> Option<Spent> {
        Some(Spent::of(self.process.end_window().ok()?, self.beside))
    }
}

/// Reads events in a thread of its own: the generator never waits for us.
fn listen(output: Box<dyn Read + Send>) -> Receiver<Result<Event, String>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let event = serde_json::from_str(&line).map_err(|error| {
                let begin: String = line.chars().take(200).collect();
                format!("said `{begin}`, which is no event ({error}): are both of the same version?")
            });
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    receiver
}
