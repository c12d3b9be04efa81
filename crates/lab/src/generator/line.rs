//! The generator on one worker.

use super::{ARGUMENTS, Heard, Loading, Spent};
use crate::Member;
use crate::talk::{Talk, Task};
use prony_host::{HostError, Place};
use prony_load::Job;
use prony_measurement::Command;
use std::path::Path;
use std::time::Duration;

/// The generator on one worker.
pub(super) struct Line {
    talk: Talk,
    /// Whether the service is on the same host.
    beside: bool,
}

impl Line {
    /// Starts it, and tells it its job. `beside`: whether the service is on the same host.
    pub(super) fn begin(
        (member, place): (&Member, &Place),
        beside: bool,
        job: &Job,
        log: &Path,
    ) -> Result<Self, HostError> {
        let what = Task {
            name: "the generator",
            arguments: ARGUMENTS,
            folder: None,
            place: Some(place),
            log,
        };
        let mut talk = Talk::begin(member, what)?;
        talk.say(job);
        Ok(Self { talk, beside })
    }

    /// Who it is, for messages.
    pub(super) fn who(&self) -> &str {
        self.talk.who()
    }
}

impl Loading for Line {
    fn next(&mut self, within: Duration) -> Heard {
        match self.talk.hear(within) {
            Ok(Some(event)) => Heard::Event(event),
            Ok(None) => Heard::Nothing,
            Err(reason) => Heard::Gone(reason),
        }
    }

    fn tell(&mut self, command: Command) {
        self.talk.say(&command);
    }

    fn begin_window(&mut self) {
        // A generator that is not counted is a gap in the record, not a failure.
        let _ = self.talk.process().begin_window();
    }

    fn end_window(&mut self) -> Option<Spent> {
        let usage = self.talk.process().end_window().ok()?;
        Some(Spent::of(usage, self.beside))
    }
}
