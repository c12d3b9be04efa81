//! A prony on a host of a lab that is spoken with over its standard streams, in lines of JSON.

use crate::Member;
use prony_host::{HostError, Isolation, Limits, Place, Process, ProcessSpec, Stdio};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time for it to end when it is told to.
const GRACE: Duration = Duration::from_secs(2);
/// Most bytes of its log.
const LOG_BYTES: u64 = 1 << 20;

/// What a prony on a host is started for.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// What to call it, in messages: `the generator`.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// Where it runs; `None`: where its log is.
    pub folder: Option<&'a Path>,
    /// Its CPUs; `None`: all.
    pub place: Option<&'a Place>,
    /// The file of what it says beside its lines.
    pub log: &'a Path,
}

/// A prony on a host that does one task and tells of it. Dropping it ends it.
pub struct Talk {
    who: String,
    process: Box<dyn Process>,
    input: Option<Box<dyn Write + Send>>,
    lines: Receiver<String>,
}

impl Talk {
    /// Starts it.
    pub fn begin(member: &Member, task: Task<'_>) -> Result<Self, HostError> {
        let place = task.place.cloned().unwrap_or_default();
        let spec = ProcessSpec {
            name: task.name.to_owned(),
            command: member.prony(task.arguments),
            container: None,
            folder: task.folder.map_or_else(|| member.logs.clone(), PathBuf::from),
            environment: BTreeMap::new(),
            cpus: place.cpus,
            supervisor_cpus: place.keepers,
            limits: Limits::default(),
            isolation: Isolation::WherePossible,
            network: None,
            stdio: Stdio::Piped,
            log: member.logs.join(task.log),
            log_bytes: LOG_BYTES,
            grace: GRACE,
            stop_signal: None,
            sample_every: None,
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
            lines: listen(output),
        })
    }

    /// What it is and where, for messages.
    pub fn who(&self) -> &str {
        &self.who
    }

    /// Its process, for what it uses.
    pub(crate) fn process(&mut self) -> &mut dyn Process {
        &mut *self.process
    }

    /// Tells it something. What cannot be written finds no reader: that shows at the other end.
    pub fn say(&mut self, value: &impl Serialize) {
        let mut line = serde_json::to_string(value).expect("invariant: what is told is plain data");
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

    /// What it tells next, where that comes within this time. The error says who will tell no more, and why.
    pub fn hear<T: DeserializeOwned>(&mut self, within: Duration) -> Result<Option<T>, String> {
        let line = match self.lines.recv_timeout(within) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err(self.why_gone()),
        };
        serde_json::from_str(&line).map(Some).map_err(|error| {
            let begin: String = line.chars().take(200).collect();
            format!(
                "{} said `{begin}`, which nobody expects ({error}): are both of the same version?",
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

/// Reads in a thread of its own, so that who tells never waits for who hears.
fn listen(output: Box<dyn Read + Send>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
