//! A process on a remote host.

use super::SOON;
use super::connection::Connection;
use crate::wire::{AgentRequest, InboundReader, Order, OutboundWriter, Reply};
use crate::{AttachSpec, ExitReport, HostError, Process, ProcessSpec, Stdio, Usage};
use prony_records::{Footprint, Warning};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Timeout of a start, in addition to the supervisor's own.
const START: Duration = Duration::from_secs(40);
/// Timeout of an order, in addition to the supervisor's own.
const ORDER: Duration = Duration::from_secs(30);
/// Time for ending, in addition to the grace time.
const ENDING: Duration = Duration::from_secs(30);

pub(super) struct RemoteProcess {
    connection: Arc<Connection>,
    name: String,
    number: u32,
    pid: u32,
    started: Instant,
    address: Option<String>,
    warnings: Vec<Warning>,
    pipes: Option<(OutboundWriter, InboundReader)>,
    grace: Duration,
    ended: Option<ExitReport>,
    stopped: Option<ExitReport>,
}

impl RemoteProcess {
    pub(super) fn start(connection: &Arc<Connection>, spec: &ProcessSpec) -> Result<Self, HostError> {
        let number = connection.number();
        let streams = (spec.stdio == Stdio::Piped).then(|| (connection.number(), connection.number()));
        let link = connection.link();
        let pipes = streams.map(|(input, output)| {
            (
                OutboundWriter::open(link, input),
                InboundReader::open(link, output),
            )
        });
        let request = AgentRequest::Start {
            process: number,
            spec: Box::new(spec.clone()),
            streams,
        };
        let mut process = Self::of(connection, &spec.name, number, &request)?;
        process.pipes = pipes;
        process.grace = spec.grace;
        Ok(process)
    }

    pub(super) fn attach(connection: &Arc<Connection>, spec: &AttachSpec) -> Result<Self, HostError> {
        let number = connection.number();
        let request = AgentRequest::Attach {
            process: number,
            spec: Box::new(spec.clone()),
        };
        Self::of(connection, &spec.name, number, &request)
    }

    fn of(
        connection: &Arc<Connection>,
        name: &str,
        number: u32,
        request: &AgentRequest,
    ) -> Result<Self, HostError> {
        connection.expect_news(number);
        let what = format!("start `{name}`");
        let answer = connection.ask(request, &what, START);
        let started = answer.and_then(|reply| match reply {
            Reply::Started {
                pid,
                age_ns,
                address,
                warnings,
            } => Ok((pid, age_ns, address, warnings)),
            other => Err(connection.unexpected_reply(&other)),
        });
        match started {
            Ok((pid, age_ns, address, warnings)) => {
                let now = Instant::now();
                Ok(Self {
                    connection: Arc::clone(connection),
                    name: name.to_owned(),
                    number,
                    pid,
                    started: now.checked_sub(Duration::from_nanos(age_ns)).unwrap_or(now),
                    address,
                    warnings,
                    pipes: None,
                    grace: Duration::ZERO,
                    ended: None,
                    stopped: None,
                })
            }
            Err(error) => {
                // If it starts later after all, this ends it.
                connection.forget(number);
                Err(error)
            }
        }
    }

    fn order(&self, order: Order, what: &str, within: Duration) -> Result<Reply, HostError> {
        let request = AgentRequest::Process {
            process: self.number,
            order,
        };
        self.connection
            .ask(&request, &format!("{what} `{}`", self.name), within)
    }

    fn obeyed(&self, order: Order, what: &str) -> Result<(), HostError> {
        match self.order(order, what, ORDER)? {
            Reply::Done => Ok(()),
            other => Err(self.connection.unexpected_reply(&other)),
        }
    }

    /// Takes over notices of the agent.
    fn take_events(&mut self) {
        let news = self.connection.news(self.number);
        if news.ended.is_some() {
            self.ended = news.ended;
        }
        if let Some(warnings) = news.warnings {
            self.warnings = warnings;
        }
    }
}

impl Process for RemoteProcess {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    fn age(&self) -> Duration {
        self.started.elapsed()
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn take_pipes(&mut self) -> Option<(Box<dyn Write + Send>, Box<dyn Read + Send>)> {
        let (input, output) = self.pipes.take()?;
        Some((Box::new(input), Box::new(output)))
    }

    /// Needs no round trip. If the connection is lost, the agent ends the process when its lease expires: it counts as ended in
    /// an unknown way. [`super::Remote::lost`] tells whether that is the reason.
    fn ended(&mut self) -> Option<ExitReport> {
        self.take_events();
        if self.ended.is_none() && self.connection.lost().is_some() {
            return Some(ExitReport::default());
        }
        self.ended.clone()
    }

    fn memory_bytes(&mut self) -> Option<u64> {
        match self.order(Order::Memory, "report the memory of", ORDER) {
            Ok(Reply::Memory { bytes }) => bytes,
            _ => None,
        }
    }

    fn footprint(&mut self) -> Footprint {
        match self.order(Order::Footprint, "report the resources of", ORDER) {
            Ok(Reply::Footprint(used)) => used,
            _ => Footprint::default(),
        }
    }

    fn used_files(&mut self) -> Vec<PathBuf> {
        match self.order(Order::Files, "list the files of", ORDER) {
            Ok(Reply::Files { paths }) => paths,
            _ => Vec::new(),
        }
    }

    fn rest(&mut self) -> Result<(), HostError> {
        self.obeyed(Order::Rest, "pause")
    }

    fn wake(&mut self) -> Result<(), HostError> {
        self.obeyed(Order::Wake, "resume")
    }

    fn begin_window(&mut self) -> Result<(), HostError> {
        self.obeyed(Order::BeginWindow, "start the measurement window of")
    }

    fn end_window(&mut self) -> Result<Usage, HostError> {
        match self.order(Order::EndWindow, "end the measurement window of", ORDER)? {
            Reply::Usage(usage) => Ok(*usage),
            other => Err(self.connection.unexpected_reply(&other)),
        }
    }

    fn stop(&mut self) -> Result<ExitReport, HostError> {
        if let Some(ending) = &self.stopped {
            return Ok(ending.clone());
        }
        let within = self.grace + ENDING;
        let ending = match self.order(Order::Stop, "stop", within)? {
            Reply::Stopped(ending) => ending,
            other => return Err(self.connection.unexpected_reply(&other)),
        };
        self.take_events();
        self.stopped = Some(ending.clone());
        Ok(ending)
    }

    fn log_tail(&self, lines: usize) -> Vec<String> {
        match self.order(Order::LogTail(lines as u32), "return the log of", SOON) {
            Ok(Reply::Log { lines }) => lines,
            _ => Vec::new(),
        }
    }
}

impl Drop for RemoteProcess {
    fn drop(&mut self) {
        let _ = self.stop();
        self.connection.forget(self.number);
    }
}
