//! The generator process on one worker.

use super::worker_states::{WorkerActivity, WorkerStates};
use super::{ARGUMENTS, GeneratorMessage, GeneratorUsage, RunningLoad};
use crate::testbed::Member;
use crate::testbed::json_lines_process::{JsonLinesProcess, MemorySemaphore, Task};
use prony_host::{HostError, RolePlacement};
use prony_load::Job;
use prony_records::{Command, WorkerNow};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct WorkerGenerator {
    process: JsonLinesProcess,
    /// Whether the service runs on the same host.
    is_on_service_host: bool,
    /// Whether there is a testbed, so that the state of the worker is reported.
    in_testbed: bool,
    doing: WorkerActivity,
    /// Used if this worker is the only one.
    roster: WorkerStates,
}

impl WorkerGenerator {
    /// Starts the process and sends the job. `semaphore` limits how many workers of one load send long results at the same time.
    pub(super) fn begin(
        (member, place): (&Member, &RolePlacement),
        is_on_service_host: bool,
        job: &Job,
        log: &Path,
        semaphore: Option<Arc<MemorySemaphore>>,
    ) -> Result<Self, HostError> {
        let what = Task {
            name: "the generator",
            arguments: ARGUMENTS,
            folder: None,
            place: Some(place),
            log,
        };
        let mut process = JsonLinesProcess::among(member, what, semaphore)?;
        process.send(job);
        Ok(Self {
            process,
            is_on_service_host,
            in_testbed: !place.host.is_empty(),
            doing: WorkerActivity::new(&place.host),
            roster: WorkerStates::default(),
        })
    }

    /// The name of the worker for messages.
    pub(super) fn who(&self) -> &str {
        self.process.who()
    }

    /// The next event of the generator.
    pub(super) fn receive(&mut self, within: Duration) -> GeneratorMessage {
        match self.process.receive(within) {
            Ok(Some(event)) => {
                self.doing.record(&event);
                GeneratorMessage::Event(event)
            }
            Ok(None) => GeneratorMessage::Nothing,
            Err(reason) => GeneratorMessage::Gone(reason),
        }
    }

    /// The current state of the worker.
    pub(super) fn doing(&self) -> WorkerNow {
        self.doing.now()
    }
}

impl RunningLoad for WorkerGenerator {
    fn next(&mut self, within: Duration) -> GeneratorMessage {
        if self.in_testbed
            && let Some(news) = self.roster.news(|| vec![self.doing.now()])
        {
            return GeneratorMessage::Event(news);
        }
        self.receive(within)
    }

    fn tell(&mut self, command: Command) {
        self.process.send(&command);
    }

    fn begin_window(&mut self) {
        // Missing resource figures of a generator leave a gap in the record and are not a failure.
        let _ = self.process.process().begin_window();
    }

    fn end_window(&mut self) -> Option<GeneratorUsage> {
        let usage = self.process.process().end_window().ok()?;
        Some(GeneratorUsage::of(usage, self.is_on_service_host))
    }
}
