//! One of the two of a duet, on its side: its service, its load, and what was heard of them.

use prony_host::{Split, Usage};
use prony_measurement::{Command, Event, Interval, Measurement, Phase, Recording, StartUp};
use prony_trial::{Heard, Loading, Subject, steady};
use std::time::{Duration, SystemTime};

/// Longest wait for the next word of a generator before the other one is heard.
const TICK: Duration = Duration::from_millis(1);

pub(super) struct Player {
    pub(super) started: SystemTime,
    subject: Subject,
    loading: Box<dyn Loading>,
    start_up: StartUp,
    warm_up: Vec<Interval>,
    measuring: bool,
    recording: Option<Recording>,
    usage: Option<Usage>,
}

impl Player {
    pub(super) const fn new(
        subject: Subject,
        loading: Box<dyn Loading>,
        started: SystemTime,
        start_up: StartUp,
    ) -> Self {
        Self {
            started,
            subject,
            loading,
            start_up,
            warm_up: Vec::new(),
            measuring: false,
            recording: None,
            usage: None,
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        self.recording.is_some()
    }

    pub(super) fn tell(&mut self, command: Command) {
        self.loading.tell(command);
    }

    /// Takes what the generator has said, if anything.
    pub(super) fn hear(&mut self) -> Result<(), String> {
        if self.is_done() {
            return Ok(());
        }
        if let Some(ending) = self.subject.service.ended() {
            return Err(format!("the service {ending}, under the load"));
        }
        match self.loading.next(TICK) {
            Heard::Event(Event::Interval {
                phase: Phase::WarmUp,
                interval,
            }) => self.warm_up.push(interval),
            Heard::Event(Event::Phase {
                phase: Phase::Measurement,
                ..
            }) => {
                self.measuring = self.subject.service.begin_window().is_ok();
            }
            Heard::Event(Event::Phase {
                phase: Phase::Drain, ..
            }) => self.end_window(),
            Heard::Event(Event::Recording { recording }) => {
                self.end_window();
                self.recording = Some(*recording);
            }
            Heard::Event(Event::Failed { reason }) | Heard::Gone(reason) => return Err(reason),
            Heard::Event(_) | Heard::Nothing => {}
        }
        Ok(())
    }

    /// What the service used is a companion of the ratio: where it is not known the duet goes on.
    fn end_window(&mut self) {
        if std::mem::take(&mut self.measuring) {
            self.usage = self.subject.service.end_window().ok();
        }
    }

    /// What it gave; `None` without a recording. The service ends here.
    pub(super) fn measurement(self, side: &Split) -> Option<Measurement> {
        let recording = self.recording?;
        let machine = self.usage.as_ref().and_then(|usage| usage.machine);
        let (service, before) = self
            .usage
            .map(|usage| (usage.resources, usage.before))
            .unwrap_or_default();
        Some(Measurement {
            recording,
            service,
            generator: None,
            backend: None,
            start_up: self.start_up,
            steadiness: Some(steady::fixed(self.warm_up)),
            service_cpus: side.service.as_slice().to_vec(),
            generator_cpus: side.generator.as_slice().to_vec(),
            other_cpu_ns: None,
            steal_ns: machine.map(|machine| machine.steal_ns),
            warm_up_samples: before,
            warnings: side.warnings.clone(),
        })
    }
}
