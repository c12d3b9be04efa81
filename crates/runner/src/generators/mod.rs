//! The generator: a process on each worker that receives a [`Job`] and reports [`Event`]s.

mod share;
mod worker;
mod worker_group;
mod worker_states;

use crate::CommandError;
use crate::testbed::Testbed;
use prony_host::{HostError, Placement, Usage};
use prony_load::Job;
use prony_records::{Command, Event, Recording, Resources};
use std::path::Path;
use std::time::{Duration, Instant};
use worker::WorkerGenerator;
use worker_group::WorkerGroup;

/// Starts loads.
pub trait Generator: Sync {
    /// Starts a job on the workers of a placement. `log` is the file for everything that the generator prints other than
    /// events.
    fn begin(&self, job: &Job, placement: &Placement, log: &Path) -> Result<Box<dyn RunningLoad>, HostError>;
}

/// A running job. It is stopped when dropped.
pub trait RunningLoad {
    /// Waits up to `within` for the next event.
    fn next(&mut self, within: Duration) -> GeneratorMessage;

    /// Sends a command. Its effect shows in later events.
    fn tell(&mut self, command: Command);

    /// Starts counting the resources of the generator.
    fn begin_window(&mut self);

    /// Ends counting; `None` if the resources are unknown.
    fn end_window(&mut self) -> Option<GeneratorUsage>;
}

/// The resources that a generator used in a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GeneratorUsage {
    /// The sum over all workers.
    pub resources: Resources,
    /// CPU time of the generator and its supervisor on the host of the service in ns, to be subtracted from the time of other
    /// programs.
    pub beside_service_ns: u64,
}

impl GeneratorUsage {
    /// The usage of one process tree; `beside_service` if it ran on the host of the service.
    pub fn of(usage: Usage, beside_service: bool) -> Self {
        let own = usage.resources.cpu_ns.unwrap_or(0) + usage.supervisor_cpu_ns;
        Self {
            resources: usage.resources,
            beside_service_ns: if beside_service { own } else { 0 },
        }
    }
}

/// Time between two calls of `between` in [`record`].
const TICK: Duration = Duration::from_millis(20);
/// A generator reports ten times a second; one that is silent for this long is stuck.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);

/// Follows a load until its recording, where no service has to be watched as well. `between` runs at least every 20 ms; its error
/// ends the load.
pub(crate) fn record(
    mut load: Box<dyn RunningLoad>,
    on_event: &mut dyn FnMut(Event),
    between: &mut dyn FnMut(&mut dyn RunningLoad) -> Result<(), CommandError>,
) -> Result<Recording, CommandError> {
    let mut last = Instant::now();
    loop {
        between(&mut *load)?;
        match load.next(TICK) {
            GeneratorMessage::Event(Event::Recording { recording }) => return Ok(*recording),
            GeneratorMessage::Event(Event::Failed { reason, .. }) | GeneratorMessage::Gone(reason) => {
                return Err(CommandError::Failed(reason));
            }
            GeneratorMessage::Event(event) => {
                last = Instant::now();
                on_event(event);
            }
            GeneratorMessage::Nothing if last.elapsed() > SILENCE => {
                let text = format!("the generator reported nothing for {SILENCE:?}");
                return Err(CommandError::Infrastructure(text));
            }
            GeneratorMessage::Nothing => {}
        }
    }
}

/// The result of waiting for an event.
#[derive(Debug, Clone, PartialEq)]
pub enum GeneratorMessage {
    Event(Event),
    /// No event within the timeout.
    Nothing,
    /// The generator has ended for this reason.
    Gone(String),
}

/// A generator with a separate process on each worker of a testbed.
#[derive(Clone)]
pub struct ProcessGenerator {
    testbed: Testbed,
}

/// The arguments that make prony read a job and then commands from its standard input, one per line, and write events to its
/// standard output.
const ARGUMENTS: &[&str] = &["load", "--job", "-"];

impl ProcessGenerator {
    pub const fn new(testbed: Testbed) -> Self {
        Self { testbed }
    }
}

impl Generator for ProcessGenerator {
    fn begin(&self, job: &Job, placement: &Placement, log: &Path) -> Result<Box<dyn RunningLoad>, HostError> {
        let workers: Vec<_> = self.testbed.workers().zip(&placement.workers).collect();
        let is_beside = |host: &str| host == placement.service.host;
        match workers[..] {
            [(member, place)] => Ok(Box::new(WorkerGenerator::begin(
                (member, place),
                is_beside(&place.host),
                job,
                log,
                None,
            )?)),
            _ => Ok(Box::new(WorkerGroup::begin(&workers, &is_beside, job, log)?)),
        }
    }
}
