//! What a supervisor and its caller say to each other: one JSON object a line, [`First`], then orders on its
//! standard input and notices on its standard output. The end of its input means [`Order::Stop`]: a supervisor whose
//! caller is gone stops everything.

use crate::identity::Owners;
use crate::{AttachSpec, Cpus, Ending, ProcessSpec, Usage};
use prony_records::Warning;
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum First {
    /// Start a process, and end it.
    Start(Box<Start>),
    /// Look at one that runs already.
    Attach(Attach),
}

/// What runs already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attach {
    /// What to look at.
    pub(crate) spec: AttachSpec,
    /// The CPUs that count as the machine: those that the caller may use.
    pub(crate) machine: Cpus,
}

/// What is started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// What to start.
    pub(crate) spec: ProcessSpec,
    /// File descriptors, inherited by the supervisor, that become the standard input and output of the process.
    pub(crate) pipes: Option<(i32, i32)>,
    /// Whether control groups are used.
    pub(crate) groups: bool,
    /// Whose the tree is: the name of its group, and a variable of its environment.
    pub(crate) tree: Owners,
    /// The CPUs that count as the machine: those that the caller may use.
    pub(crate) machine: Cpus,
}

/// What a supervisor is told then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The window of the resources begins.
    Begin,
    /// It ends; answered by [`Notice::Window`].
    End,
    /// Everything stands still; answered by [`Notice::Rests`].
    Rest,
    /// Everything goes on; answered by [`Notice::Wakes`].
    Wake,
    /// Say how much memory there is; answered by [`Notice::Memory`].
    Memory,
    /// End everything; answered by [`Notice::Stopped`].
    Stop,
}

/// What a supervisor says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub(crate) enum Notice {
    /// The process runs.
    Started {
        /// Its id.
        pid: i32,
        /// Time since it was started, ns.
        age_ns: u64,
        /// Where it is reached, where it has a network of its own.
        address: Option<String>,
        /// What was asked for and is not in force.
        warnings: Vec<Warning>,
    },
    /// It could not be started.
    NotStarted {
        /// Why, and what to do.
        reason: String,
        /// Whether required isolation is the reason.
        isolation: bool,
    },
    /// Its log could not be written; it runs on without.
    LogLost {
        /// Why.
        reason: String,
    },
    /// The process ended by itself.
    Ended(Ending),
    /// The window began.
    Began,
    /// Everything stands still.
    Rests,
    /// Everything goes on.
    Wakes,
    /// What was used in the window.
    Window(Box<Usage>),
    /// Memory now.
    Memory {
        /// Bytes.
        bytes: Option<u64>,
    },
    /// Everything is gone.
    Stopped(Ending),
    /// The supervisor cannot go on; everything is gone.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Tells the caller. One that is gone is noticed at the input.
pub(super) fn say(notice: &Notice) {
    let mut line = serde_json::to_string(notice).expect("invariant: notices are plain data");
    line.push('\n');
    let mut out = io::stdout().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
