//! The protocol between a supervisor and its caller: JSON lines. The caller sends [`SupervisorCommand`] and then orders to the
//! supervisor's standard input; the supervisor sends notices to its standard output. The end of its input means
//! [`Order::Stop`]: a supervisor without a caller stops everything.

use crate::identity::Owners;
use crate::{AttachSpec, Cpus, ExitReport, ProcessSpec, Usage};
use nix::errno::Errno;
use nix::unistd::read;
use prony_records::{Footprint, Warning};
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SupervisorCommand {
    /// Start a process, and end it.
    Start(Box<Start>),
    /// Attach to a process that already runs.
    Attach(Attach),
}

/// A process tree that already runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attach {
    pub(crate) spec: AttachSpec,
    /// The CPUs that count as the machine: those that the caller may use.
    pub(crate) machine: Cpus,
}

/// A process to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) spec: ProcessSpec,
    /// Inherited file descriptors that become the standard input and output of the process.
    pub(crate) pipes: Option<(i32, i32)>,
    /// Whether to use control groups.
    pub(crate) groups: bool,
    /// The owners of the tree: the name of its group, and a variable in its environment.
    pub(crate) tree: Owners,
    /// The CPUs that count as the machine: those that the caller may use.
    pub(crate) machine: Cpus,
}

/// The lines after the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Start the window in which resources are counted. The reply is [`AgentEvent::Began`].
    Begin,
    /// End the window. The reply is [`AgentEvent::Window`].
    End,
    /// Freeze everything. The reply is [`AgentEvent::Rests`].
    Rest,
    /// Resume everything. The reply is [`AgentEvent::Wakes`].
    Wake,
    /// Report the current memory. The reply is [`AgentEvent::Memory`].
    Memory,
    /// Report CPU time and memory until now. The reply is [`SupervisorEvent::Footprint`].
    Footprint,
    /// List the files in use. The reply is [`SupervisorEvent::Files`].
    Files,
    /// End everything. The reply is [`AgentEvent::Stopped`].
    Stop,
}

/// What prevented the start of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpawnCause {
    /// The machine or the container engine.
    Machine,
    /// Required isolation that is not available.
    Isolation,
    /// The program itself: an image names one that does not exist or cannot be executed.
    Program,
}

/// A message of a supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub(crate) enum SupervisorEvent {
    /// The process runs.
    Started {
        pid: i32,
        /// Time since it was started, ns.
        age_ns: u64,
        /// The address at which it is reachable, if it has its own network.
        address: Option<String>,
        /// Requested settings that are not in force.
        warnings: Vec<Warning>,
    },
    /// The process could not be started.
    NotStarted {
        /// Why, and what to do.
        reason: String,
        cause: SpawnCause,
    },
    /// The log could not be written; the process runs on without it.
    LogLost { reason: String },
    /// The process ended by itself.
    Ended(ExitReport),
    /// The window has started.
    Began,
    /// Everything is frozen.
    Rests,
    /// Everything is resumed.
    Wakes,
    /// The usage in the window.
    Window(Box<Usage>),
    /// The current memory.
    Memory { bytes: Option<u64> },
    /// CPU time and memory until now.
    Footprint(Footprint),
    /// The files in use.
    Files { paths: Vec<PathBuf> },
    /// Everything has ended.
    Stopped(ExitReport),
    /// The supervisor failed; everything has ended.
    Failed { reason: String },
}

/// Sends a notice. Errors are ignored: a caller that is gone is detected by the end of the input.
pub(super) fn say(notice: &SupervisorEvent) {
    let mut line = serde_json::to_string(notice).expect("invariant: notices are plain data");
    line.push('\n');
    let mut out = io::stdout().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// The orders on standard input. It is read without the standard library's buffer, whose contents poll(2) would not see.
pub(super) struct Orders {
    bytes: Vec<u8>,
    /// Whether the input is still open.
    pub(super) open: bool,
}

impl Default for Orders {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            open: true,
        }
    }
}

impl Orders {
    /// The first line; `None` if the caller ended before it sent anything.
    pub(super) fn first(&mut self) -> io::Result<Option<SupervisorCommand>> {
        loop {
            if let Some(line) = self.line() {
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            if !self.open {
                return Ok(None);
            }
            self.read();
        }
    }

    /// Reads the available bytes.
    pub(super) fn read(&mut self) {
        let mut buffer = [0; 16_384];
        match read(io::stdin(), &mut buffer) {
            Ok(0) => self.open = false,
            Ok(length) => self.bytes.extend_from_slice(&buffer[..length]),
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.open = false,
        }
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.bytes.iter().position(|&byte| byte == b'\n')?;
        let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
        line.pop();
        Some(line)
    }

    /// The next order. An invalid line comes from another version of prony; the safe reaction is to stop.
    pub(super) fn next(&mut self) -> Option<Order> {
        self.line()
            .map(|line| serde_json::from_slice(&line).unwrap_or(Order::Stop))
    }
}
