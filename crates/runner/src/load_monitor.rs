//! Monitors a running load: receives the events of its generator, and notices when the generator, the service, a backing service or a
//! host ends or stops responding.

use crate::generators::{GeneratorMessage, RunningLoad};
use crate::schedule::LoadRun;
use crate::start::StartedService;
use crate::{Failure, Progress, RunContext};
use prony_records::{Command, Event, Phase, TrialStage};
use std::time::{Duration, Instant};

/// Longest wait for an event between two checks of the processes.
const TICK: Duration = Duration::from_millis(50);
/// The same if several loads run at once.
const SHORT_TICK: Duration = Duration::from_millis(1);

/// A running load.
pub(crate) struct MonitoredLoad {
    pub(crate) run: LoadRun,
    pub(crate) loading: Box<dyn RunningLoad>,
    /// Time of the last event of its generator.
    last_event: Instant,
}

impl MonitoredLoad {
    pub(crate) fn new(run: LoadRun, loading: Box<dyn RunningLoad>) -> Self {
        Self {
            run,
            loading,
            last_event: Instant::now(),
        }
    }

    pub(crate) fn tell(&mut self, command: Command) {
        self.loading.tell(command);
    }
}

/// Monitors the loads of a step.
#[derive(Clone, Copy)]
pub(crate) struct LoadMonitor<'a> {
    context: &'a RunContext<'a>,
    stage: TrialStage,
    tick: Duration,
}

impl<'a> LoadMonitor<'a> {
    /// Monitors `count` loads at once.
    pub(crate) const fn new(context: &'a RunContext<'a>, stage: TrialStage, count: usize) -> Self {
        Self {
            context,
            stage,
            tick: if count > 1 { SHORT_TICK } else { TICK },
        }
    }

    /// The next event of a load, if there is one within the tick. A failure says what has ended.
    pub(crate) fn next(
        &self,
        load: &mut MonitoredLoad,
        subject: &mut StartedService,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Option<Event>, Failure> {
        let message = load.loading.next(self.tick);
        let stage = self.stage;
        if self.context.cancel.is_now() {
            return Err(Failure::interrupted(stage));
        }
        if let Some(lost) = self.context.testbed.lost() {
            watch(Progress::HostLost(lost.to_string()));
            return Err(Failure::host(stage, &lost));
        }
        if let Some(fault) = subject.backing_services.ended() {
            return Err(Failure::backing_service(stage, fault));
        }
        if let Some(ending) = subject.service.ended() {
            let text = format!("the service {ending} under the load");
            return Err(Failure::service_ended(stage, &ending, text));
        }
        let silence = self.context.options.silence;
        match message {
            GeneratorMessage::Event(Event::Failed { reason, fault }) => Err(Failure {
                fault,
                ..Failure::new(stage, reason)
            }),
            GeneratorMessage::Event(event) => {
                // States of workers come from the controller, not from a worker: they are no sign of life.
                if !matches!(event, Event::Workers { .. }) {
                    load.last_event = Instant::now();
                }
                self.show(&event, watch);
                Ok(Some(event))
            }
            GeneratorMessage::Gone(reason) => Err(Failure::infrastructure(stage, reason)),
            GeneratorMessage::Nothing if load.last_event.elapsed() > silence => {
                let text = format!("the generator reported nothing for {silence:?}");
                Err(Failure::infrastructure(stage, text))
            }
            GeneratorMessage::Nothing => Ok(None),
        }
    }

    /// Shows an event. Of a load that only warms up a service, only the warm-up is shown: replies that arrive after its end are not a
    /// measurement.
    fn show(&self, event: &Event, watch: &mut dyn FnMut(Progress)) {
        let is_shown = |phase: Phase| self.stage == TrialStage::Measure || phase == Phase::WarmUp;
        match event {
            Event::Phase { phase, .. } if is_shown(*phase) => watch(Progress::Phase(*phase)),
            Event::Interval {
                phase,
                interval,
                times,
                failures,
            } if is_shown(*phase) => watch(Progress::Interval {
                phase: *phase,
                interval: *interval,
                times: times.clone(),
                failures: **failures,
            }),
            Event::Workers { workers } => watch(Progress::Workers(workers.clone())),
            _ => {}
        }
    }
}
