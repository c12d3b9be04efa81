//! The generator: a process on each worker that is told a [`Job`] and answers with [`Event`]s.

mod parallel;
mod share;
mod worker;
mod worker_group;
mod worker_states;

use crate::testbed::Lab;
use prony_host::{HostError, Placement, Usage};
use prony_load::Job;
use prony_records::{Command, Event, Resources};
use std::path::Path;
use std::time::Duration;
use worker::Line;
use worker_group::Fleet;

/// Something that generates load.
pub trait Generator: Sync {
    /// Begins a job on the workers of a placement. `log` names the file for what it says beside its events.
    fn begin(&self, job: &Job, placement: &Placement, log: &Path) -> Result<Box<dyn Loading>, HostError>;
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
    fn end_window(&mut self) -> Option<Spent>;
}

/// What a generator used in a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spent {
    /// On all workers together.
    pub resources: Resources,
    /// CPU time on the host of the service, of the generator and of what looks after it, ns: it is not the time of others.
    pub beside_service_ns: u64,
}

impl Spent {
    /// What one process tree used, which is on the host of the service or is not.
    pub fn of(usage: Usage, beside_service: bool) -> Self {
        let own = usage.resources.cpu_ns.unwrap_or(0) + usage.supervisor_cpu_ns;
        Self {
            resources: usage.resources,
            beside_service_ns: if beside_service { own } else { 0 },
        }
    }
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

/// A generator in a process of its own on each worker of a lab.
#[derive(Clone)]
pub struct ProcessGenerator {
    lab: Lab,
}

/// The arguments that make prony read a job, and then commands, from its input, a line each, and write events to its output.
const ARGUMENTS: &[&str] = &["load", "--job", "-"];

impl ProcessGenerator {
    /// The generator of a lab.
    pub const fn new(lab: Lab) -> Self {
        Self { lab }
    }
}

impl Generator for ProcessGenerator {
    fn begin(&self, job: &Job, placement: &Placement, log: &Path) -> Result<Box<dyn Loading>, HostError> {
        let workers: Vec<_> = self.lab.workers().zip(&placement.workers).collect();
        let is_beside = |host: &str| host == placement.service.host;
        match workers[..] {
            [(member, place)] => Ok(Box::new(Line::begin(
                (member, place),
                is_beside(&place.host),
                job,
                log,
                None,
            )?)),
            _ => Ok(Box::new(Fleet::begin(&workers, &is_beside, job, log)?)),
        }
    }
}
