//! One of the two of a duet: its service, its load, and what was heard of them.

use crate::generators::Heard;
use crate::{Began, Entered, RunContext, Window, warm_up};
use prony_config::contract::Contract;
use prony_records::{Command, Event, Interval, Measurement, Phase, Recording};
use std::time::Duration;

/// Longest wait for the next word of a generator before the other one is heard.
const TICK: Duration = Duration::from_millis(1);

pub(super) struct Player {
    pub(super) began: Began,
    entered: Entered,
    warm_up: Vec<Interval>,
    /// Whether its load has begun.
    pub(super) is_loaded: bool,
    measuring: bool,
    recording: Option<Recording>,
    window: Option<Window>,
}

impl Player {
    pub(super) const fn new(entered: Entered, began: Began) -> Self {
        Self {
            began,
            entered,
            warm_up: Vec::new(),
            is_loaded: false,
            measuring: false,
            recording: None,
            window: None,
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.recording.is_some()
    }

    pub(super) fn tell(&mut self, command: Command) {
        self.entered.loading.tell(command);
    }

    /// Takes what the generator has said, if anything.
    pub(super) fn hear(&mut self) -> Result<(), String> {
        if self.is_done() {
            return Ok(());
        }
        if let Some(ending) = self.entered.subject.service.ended() {
            return Err(format!("the service {ending}, under the load"));
        }
        match self.entered.loading.next(TICK) {
            Heard::Event(Event::Interval {
                phase: Phase::WarmUp,
                interval,
                ..
            }) => self.warm_up.push(interval),
            Heard::Event(Event::Phase {
                phase: Phase::WarmUp, ..
            }) => self.is_loaded = true,
            Heard::Event(Event::Phase {
                phase: Phase::Measurement,
                ..
            }) => {
                self.measuring = self.entered.begin_window().is_ok();
            }
            Heard::Event(Event::Phase {
                phase: Phase::Drain, ..
            }) => self.end_window(),
            Heard::Event(Event::Recording { recording }) => {
                self.end_window();
                self.recording = Some(*recording);
            }
            Heard::Event(Event::Failed { reason, .. }) | Heard::Gone(reason) => return Err(reason),
            Heard::Event(_) | Heard::Nothing => {}
        }
        Ok(())
    }

    /// What the service used is a companion of the ratio: where it is not known the duet goes on.
    fn end_window(&mut self) {
        if std::mem::take(&mut self.measuring) {
            self.window = self.entered.end_window().ok();
        }
    }

    /// What it gave. The service ends here.
    pub(super) fn measurement(
        self,
        bench: &RunContext<'_>,
        contract: &Contract,
    ) -> Result<Measurement, String> {
        let recording = self.recording.ok_or("its generator gave no recording")?;
        let gave = (recording, warm_up::fixed(self.warm_up), self.window);
        let measured = self.entered.measurement(bench, contract, gave);
        measured.map_err(|failure| failure.reason)
    }
}
