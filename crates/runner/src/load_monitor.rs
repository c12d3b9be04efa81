//! The one loop in which a load is watched: what its generator reports, and whether it, the service, a backing service or a host
//! has ended or fallen silent.

use crate::generators::{GeneratorMessage, RunningLoad};
use crate::schedule::LoadRun;
use crate::start::StartedService;
use crate::{Failure, Progress, RunContext};
use prony_records::{Command, Event, Phase, TrialStage};
use std::time::{Duration, Instant};

/// Waits at most this long for an event, then looks at the rest of the world.
const TICK: Duration = Duration::from_millis(50);
/// The same where several loads go on at once.
const SHORT_TICK: Duration = Duration::from_millis(1);

/// A load that has begun.
pub(crate) struct MonitoredLoad {
    /// What it is.
    pub(crate) run: LoadRun,
    pub(crate) loading: Box<dyn RunningLoad>,
    /// When its generator last reported something.
    heard: Instant,
}

impl MonitoredLoad {
    pub(crate) fn new(run: LoadRun, loading: Box<dyn RunningLoad>) -> Self {
        Self {
            run,
            loading,
            heard: Instant::now(),
        }
    }

    pub(crate) fn tell(&mut self, command: Command) {
        self.loading.tell(command);
    }
}

/// Watches the loads of a step.
#[derive(Clone, Copy)]
pub(crate) struct LoadMonitor<'a> {
    context: &'a RunContext<'a>,
    stage: TrialStage,
    tick: Duration,
}

impl<'a> LoadMonitor<'a> {
    /// Watches `count` loads at once.
    pub(crate) const fn new(context: &'a RunContext<'a>, stage: TrialStage, count: usize) -> Self {
        Self {
            context,
            stage,
            tick: if count > 1 { SHORT_TICK } else { TICK },
        }
    }

    /// The next event of a load, where one comes soon. A failure says what has ended.
    pub(crate) fn next(
        &self,
        load: &mut MonitoredLoad,
        subject: &mut StartedService,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Option<Event>, Failure> {
        let heard = load.loading.next(self.tick);
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
            let text = format!("the service {ending}, under the load");
            return Err(Failure::service_ended(stage, text));
        }
        let silence = self.context.options.silence;
        match heard {
            GeneratorMessage::Event(Event::Failed { reason, fault }) => Err(Failure {
                fault,
                ..Failure::new(stage, reason)
            }),
            GeneratorMessage::Event(event) => {
                // The state of workers is reported by the process that leads them, which may have received nothing.
                if !matches!(event, Event::Workers { .. }) {
                    load.heard = Instant::now();
                }
                self.show(&event, watch);
                Ok(Some(event))
            }
            GeneratorMessage::Gone(reason) => Err(Failure::infrastructure(stage, reason)),
            GeneratorMessage::Nothing if load.heard.elapsed() > silence => {
                let text = format!("the generator said nothing for {silence:?}");
                Err(Failure::infrastructure(stage, text))
            }
            GeneratorMessage::Nothing => Ok(None),
        }
    }

    /// Of a load that only warms a service nothing is shown but its warm-up: the replies that are still due when it ends are no
    /// measurement.
    fn show(&self, event: &Event, watch: &mut dyn FnMut(Progress)) {
        let is_shown = |phase: Phase| self.stage == TrialStage::Measure || phase == Phase::WarmUp;
        match event {
            Event::Phase { phase, .. } if is_shown(*phase) => watch(Progress::Phase(*phase)),
            Event::Interval {
                phase,
                interval,
                times,
            } if is_shown(*phase) => watch(Progress::Interval {
                phase: *phase,
                interval: *interval,
                times: times.clone(),
            }),
            Event::Workers { workers } => watch(Progress::Workers(workers.clone())),
            _ => {}
        }
    }
}
