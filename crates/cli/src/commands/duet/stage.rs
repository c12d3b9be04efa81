//! The rounds of a duet: both services fresh, warm at the same time, measured at the same time.

use super::sides::Places;
use anyhow::{Context as _, anyhow};
use prony_contract::Contract;
use prony_host::{Isolation, Local, Split};
use prony_load::{Check, Job, Load, Phases, Protocol, TransportChoice, WarmUp};
use prony_measurement::{Command, Event, Phase, Recording};
use prony_plan::{Entry, GroupPlan, Limits, Plan, PlannedTrial, Service, WarmUpChoice};
use prony_statistics::{DuetRound, synchronous};
use prony_trial::check::{CheckRequest, check};
use prony_trial::{
    Bench, Built, Cancel, Failure, Heard, Loading, Options, ProcessGenerator, Subject, Trial, start_backend,
    start_service, wait_until_ready,
};
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(10);
const DRAIN: Duration = Duration::from_secs(5);
/// Longest wait for the two to come to the same point.
const PATIENCE: Duration = Duration::from_mins(1);
const TICK: Duration = Duration::from_millis(1);
const WINDOW_NS: u64 = 100_000_000;

pub(super) struct Stage<'a> {
    pub(super) host: &'a Local,
    pub(super) contract: &'a Contract,
    pub(super) workload: String,
    pub(super) protocol: Protocol,
    pub(super) load: Load,
    pub(super) warm_up: Duration,
    pub(super) duration: Duration,
    pub(super) services: [&'a Service; 2],
    pub(super) built: &'a [Built],
    pub(super) places: [Places; 4],
    pub(super) logs: PathBuf,
    pub(super) program: String,
    pub(super) cancel: &'a Cancel,
}

/// What a round gave.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Round {
    /// Whether the two had exchanged their places.
    pub(super) swapped: bool,
    /// Valid replies per second of both.
    pub(super) goodput_per_s: [f64; 2],
    /// First over second in each synchronous window.
    pub(super) ratios: Vec<f64>,
    /// First over second, CPU time per reply.
    pub(super) cpu_ratio: Option<f64>,
}

impl Round {
    pub(super) fn windows(&self) -> Vec<f64> {
        self.ratios.clone()
    }

    pub(super) fn duet(&self, ratios: impl Fn(&Self) -> Vec<f64>) -> DuetRound {
        DuetRound {
            swapped: self.swapped,
            ratios: ratios(self),
        }
    }
}

/// One of the two on its side.
struct Player {
    subject: Subject,
    loading: Box<dyn Loading>,
    measuring: bool,
    recording: Option<Recording>,
    cpu_ns: Option<u64>,
}

impl Stage<'_> {
    /// All rounds.
    pub(super) fn play(&self, rounds: u32) -> anyhow::Result<Vec<Round>> {
        std::fs::create_dir_all(&self.logs)
            .with_context(|| format!("cannot make {}", self.logs.display()))?;
        let options = Options {
            logs: self.logs.clone(),
            isolation: Isolation::WherePossible,
            backend: vec![self.program.clone(), "backend".to_owned()],
            noise: None,
        };
        let command = ["load", "--job", "-"].map(str::to_owned);
        let generator = ProcessGenerator::new(
            [vec![self.program.clone()], command.to_vec()].concat(),
            self.logs.clone(),
        );
        let bench = Bench {
            host: self.host,
            generator: &generator,
            options: &options,
            cancel: self.cancel,
        };
        let plan = self.plan(rounds);
        let mut played = Vec::new();
        for round in 0..rounds {
            if self.cancel.is_asked() {
                break;
            }
            let done = self.round(&bench, &plan, round)?;
            let [first, second] = done.goodput_per_s;
            eprintln!(
                "[{}/{rounds}] {first:.0}/s and {second:.0}/s, {} windows",
                round + 1,
                done.ratios.len()
            );
            played.push(done);
        }
        Ok(played)
    }

    /// What is not as it should be on these sides.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut texts: Vec<String> = self
            .places
            .iter()
            .flat_map(|places| &places.splits)
            .flat_map(|side| &side.warnings)
            .map(|warning| warning.text.clone())
            .collect();
        texts.sort();
        texts.dedup();
        texts
    }

    fn round(&self, bench: &Bench<'_>, plan: &Plan, round: u32) -> anyhow::Result<Round> {
        let places = &self.places[(round % 4) as usize];
        let order = if places.reversed { [1, 0] } else { [0, 1] };
        let mut players: [Option<Player>; 2] = [None, None];
        for index in order {
            players[index] = Some(self.enter(bench, plan, (index, round), &places.splits[index])?);
        }
        let mut players = players.map(|player| player.expect("invariant: both have entered"));
        self.together(&mut players)?;
        let [first, second] = players.map(|player| (player.recording, player.cpu_ns));
        let (Some(one), Some(other)) = (first.0, second.0) else {
            return Err(anyhow!("a generator gave no recording"));
        };
        let cpu = |ns: Option<u64>, recording: &Recording| {
            let replies = recording.requests.completed;
            ns.filter(|_| replies > 0).map(|ns| ns as f64 / replies as f64)
        };
        let cpu_ratio = cpu(first.1, &one)
            .zip(cpu(second.1, &other))
            .map(|(one, other)| one / other);
        Ok(Round {
            swapped: places.swapped,
            goodput_per_s: [one.goodput_per_s, other.goodput_per_s],
            ratios: synchronous(&one.intervals, &other.intervals),
            cpu_ratio: cpu_ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0),
        })
    }

    /// Starts a service on its side, checks it, and begins its load.
    fn enter(
        &self,
        bench: &Bench<'_>,
        plan: &Plan,
        (index, round): (usize, u32),
        side: &Split,
    ) -> anyhow::Result<Player> {
        let service = self.services[index];
        let failed = |failure: Failure| anyhow!("{}: {}", service.label(), failure.reason);
        let trial = Trial {
            plan,
            planned: PlannedTrial {
                place: 2 * round + index as u32,
                round,
                entry: index,
            },
            service,
            built: &self.built[index],
            contract: self.contract,
        };
        let backend = start_backend(bench, self.contract, side).map_err(failed)?;
        let mut subject = start_service(bench, &trial, side, backend).map_err(failed)?;
        let request = CheckRequest {
            contract: self.contract,
            target: &subject.target.clone(),
            protocol: self.protocol,
            seed: trial.seed(),
            thorough: false,
        };
        wait_until_ready(
            &mut *subject.service,
            &request,
            service.start_timeout,
            self.cancel,
        )
        .map_err(failed)?;
        if let Some(failure) = check(&request).first_failure() {
            return Err(anyhow!("{} breaks its contract: {failure}", service.label()));
        }
        let job = self.job(&subject, side, trial.seed())?;
        let log = self.logs.join(format!("generator-{index}.log"));
        let loading = bench
            .generator
            .begin(self.host, &job, &side.generator, &log)
            .map_err(failed)?;
        Ok(Player {
            subject,
            loading,
            measuring: false,
            recording: None,
            cpu_ns: None,
        })
    }

    fn job(&self, subject: &Subject, side: &Split, seed: u64) -> anyhow::Result<Job> {
        Ok(Job {
            target: subject.target.clone(),
            protocol: self.protocol,
            load: self.load.clone(),
            workload: self.contract.workload(&self.workload, self.protocol)?,
            phases: Phases {
                warm_up: WarmUp::UntilTold {
                    limit_ns: PATIENCE.as_nanos() as u64,
                },
                measurement_ns: self.duration.as_nanos() as u64,
                drain_ns: DRAIN.as_nanos() as u64,
            },
            timeout_ns: TIMEOUT.as_nanos() as u64,
            check: Check { share: 0.05, keep: 5 },
            threads: side.generator.len().clamp(1, self.load.connections() as usize) as u32,
            cpus: side.generator.as_slice().to_vec(),
            transport: TransportChoice::Auto,
            interval_ns: WINDOW_NS,
            seed,
        })
    }

    /// Warms both up, begins both measurements at once, and waits for both recordings.
    fn together(&self, players: &mut [Player; 2]) -> anyhow::Result<()> {
        let warm = Instant::now() + self.warm_up;
        let end = warm + self.duration + PATIENCE;
        let mut told = false;
        while players.iter().any(|player| player.recording.is_none()) {
            for (player, service) in players.iter_mut().zip(self.services) {
                player
                    .hear()
                    .map_err(|reason| anyhow!("{}: {reason}", service.label()))?;
            }
            if !told && Instant::now() >= warm {
                for player in players.iter_mut() {
                    player.loading.tell(Command::Measure);
                }
                told = true;
            }
            if self.cancel.is_now() {
                return Err(anyhow!("ended by the user"));
            }
            if Instant::now() > end {
                return Err(anyhow!("a generator did not end in time"));
            }
        }
        Ok(())
    }

    fn plan(&self, rounds: u32) -> Plan {
        let entry = |service: &&Service| Entry {
            service: service.name.clone(),
            variant: service.variant.clone(),
            protocol: self.protocol,
            group: 0,
        };
        Plan {
            suite: "duet".to_owned(),
            title: "a duet".to_owned(),
            profile: None,
            seed: 1,
            rounds,
            confidence: 0.95,
            precision: None,
            tie: None,
            budget_ns: None,
            no_errors: false,
            limits: Limits::default(),
            network: None,
            groups: vec![GroupPlan {
                contract: self.contract.name.clone(),
                workload: self.workload.clone(),
                load: self.load.clone(),
                warm_up: WarmUpChoice::FixedNs(self.warm_up.as_nanos() as u64),
                duration_ns: self.duration.as_nanos() as u64,
                timeout_ns: TIMEOUT.as_nanos() as u64,
            }],
            entries: self.services.iter().map(entry).collect(),
        }
    }
}

impl Player {
    /// Takes what the generator has said, if anything.
    fn hear(&mut self) -> Result<(), String> {
        if self.recording.is_some() {
            return Ok(());
        }
        if let Some(ending) = self.subject.service.ended() {
            return Err(format!("the service {ending}, under the load"));
        }
        match self.loading.next(TICK) {
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

    /// CPU time is a companion of the ratio: where it is not known the duet goes on.
    fn end_window(&mut self) {
        if std::mem::take(&mut self.measuring) {
            self.cpu_ns = self
                .subject
                .service
                .end_window()
                .ok()
                .and_then(|usage| usage.resources.cpu_ns);
        }
    }
}
