//! One load from several workers: they start together, and their events are merged as if they came from one generator.

use super::worker::WorkerGenerator;
use super::worker_states::WorkerStates;
use super::{GeneratorMessage, GeneratorUsage, RunningLoad, share};
use crate::testbed::json_lines_process::MemorySemaphore;
use crate::testbed::{Member, clocks};
use prony_host::{HostError, RolePlacement};
use prony_load::{Job, WarmUp};
use prony_merge::clock::{Clock, Start, common_start};
use prony_merge::{LiveMerge, Merger, Part, assemble};
use prony_records::{Command, Event, Phase, Recording, Resources, Warning, WarningKind};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// Interval at which the workers are polled.
const LOOK: Duration = Duration::from_millis(2);
/// A worker that is this much later than the others at the end of a phase is considered lost.
const LATE: Duration = Duration::from_secs(20);

/// Number of parts that are in memory as text at the same time. Each part of a long load has some MiB.
const PARTS: usize = 4;

/// The generators of several workers, used like one.
pub(super) struct WorkerGroup {
    job: Job,
    workers: Vec<Worker>,
    live: LiveMerge,
    merger: Option<Merger>,
    /// Merged events that were not returned yet.
    ready: VecDeque<Event>,
    /// Whether the workers received the command to start measuring.
    is_commanded: bool,
    /// When the first worker entered the phase that some workers have not reached.
    waits_since: Option<Instant>,
    roster: WorkerStates,
}

struct Worker {
    member: Member,
    line: WorkerGenerator,
    /// Measured before the load.
    clock: Clock,
    /// The number of phases that it has started.
    begun: usize,
    established: u64,
    is_done: bool,
}

/// The phases in order.
const PHASES: [Phase; 3] = [Phase::WarmUp, Phase::Measurement, Phase::Drain];

impl WorkerGroup {
    /// Measures the clocks, then starts the generator of each worker with its share of the job.
    pub(super) fn begin(
        workers: &[(&Member, &RolePlacement)],
        is_beside: &dyn Fn(&str) -> bool,
        job: &Job,
        log: &Path,
    ) -> Result<Self, HostError> {
        let places: Vec<&RolePlacement> = workers.iter().map(|(_, place)| *place).collect();
        let shares = share::jobs(job, &places);
        let semaphore = MemorySemaphore::new(PARTS);
        let begun: Vec<((&Member, &RolePlacement), bool, &Job)> = workers
            .iter()
            .zip(&shares)
            .map(|(&worker, share)| (worker, is_beside(&worker.1.host), share))
            .collect();
        let fleet = for_each(&begun, |&((member, place), is_on_service_host, share)| {
            Ok(Worker {
                clock: clocks::of(member)?,
                member: member.clone(),
                line: WorkerGenerator::begin(
                    (member, place),
                    is_on_service_host,
                    share,
                    log,
                    Some(Arc::clone(&semaphore)),
                )?,
                begun: 0,
                established: 0,
                is_done: false,
            })
        });
        let fleet: Vec<Worker> = fleet.into_iter().collect::<Result<_, HostError>>()?;
        Ok(Self {
            live: LiveMerge::new(fleet.len()),
            merger: Some(Merger::new(job)),
            job: job.clone(),
            workers: fleet,
            ready: VecDeque::new(),
            is_commanded: false,
            waits_since: None,
            roster: WorkerStates::default(),
        })
    }

    /// Handles one event of a worker; an error ends the load.
    fn take(&mut self, number: usize, event: Event) -> Result<(), GeneratorMessage> {
        match event {
            Event::Phase { phase, established } => self.phase(number, phase, established),
            Event::IntervalPart { phase, part } => {
                let merged = self.live.take(phase, part);
                self.ready.extend(merged);
            }
            Event::Part { part } => self.part(number, &part)?,
            Event::Failed { reason, fault } => {
                let reason = format!("on {}: {reason}", self.workers[number].member.name);
                return Err(GeneratorMessage::Event(Event::Failed { reason, fault }));
            }
            Event::Interval { .. } | Event::Recording { .. } | Event::Workers { .. } => {
                let worker = self.workers[number].line.who();
                return Err(GeneratorMessage::Gone(format!(
                    "{worker} ignores that it has a share of the load: do both have the same version of prony?"
                )));
            }
        }
        Ok(())
    }

    fn phase(&mut self, number: usize, phase: Phase, established: u64) {
        let place = PHASES.iter().position(|&known| known == phase).unwrap_or(0);
        let before = self.workers.iter().map(|worker| worker.begun).min().unwrap_or(0);
        let worker = &mut self.workers[number];
        worker.begun = worker.begun.max(place + 1);
        worker.established = established;
        let now = self.workers.iter().map(|worker| worker.begun).min().unwrap_or(0);
        for &phase in &PHASES[before..now] {
            let established = self.workers.iter().map(|worker| worker.established).sum();
            self.ready.push_back(Event::Phase { phase, established });
            if phase == Phase::WarmUp
                && let WarmUp::FixedNs(ns) = self.job.phases.warm_up
            {
                self.start_in(ns);
            }
        }
        let ahead = self.workers.iter().any(|worker| worker.begun > now);
        // Restarts for each phase that all workers have reached.
        let since = self.waits_since.filter(|_| now == before);
        self.waits_since = ahead.then(|| since.unwrap_or_else(Instant::now));
    }

    /// Commands all workers to start measuring at the same time, in `ns` or as soon as all of them can have received the
    /// command.
    fn start_in(&mut self, ns: u64) {
        if std::mem::replace(&mut self.is_commanded, true) {
            return;
        }
        let now = clocks::now_ns();
        let clocks: Vec<Clock> = self.workers.iter().map(|worker| worker.clock).collect();
        let soon = Start::earliest(now, &clocks);
        let start = Start::at(soon.local_ns.max(now.saturating_add(ns)), &clocks);
        for (worker, &at_ns) in self.workers.iter_mut().zip(&start.remote_ns) {
            worker.line.tell(Command::MeasureAt { at_ns });
        }
    }

    fn part(&mut self, number: usize, text: &str) -> Result<(), GeneratorMessage> {
        let worker = self.workers[number].line.who().to_owned();
        let gone = |error: &dyn std::fmt::Display| {
            GeneratorMessage::Gone(format!("cannot merge the recording of {worker}: {error}"))
        };
        let part = Part::decode(text).map_err(|error| gone(&error))?;
        self.workers[number].is_done = true;
        if let Some(merger) = &mut self.merger {
            merger.add(part).map_err(|error| gone(&error))?;
        }
        if self.workers.iter().all(|worker| worker.is_done)
            && let Some(merger) = self.merger.take()
        {
            let recording = self.recording(&merger.finish());
            self.ready.push_back(Event::Recording {
                recording: Box::new(recording),
            });
        }
        Ok(())
    }

    /// Merges the recordings of all workers and measures their clocks again.
    fn recording(&self, sum: &Part) -> Recording {
        let mut began = Vec::new();
        let mut moved = Vec::new();
        let at: BTreeMap<&str, u64> = sum
            .workers
            .values()
            .map(|part| (part.name.as_str(), part.begun.at_ns))
            .collect();
        // A worker that is lost by now has already sent its complete part; its clock keeps the earlier measurement.
        let members: Vec<&Member> = self.workers.iter().map(|worker| &worker.member).collect();
        let later = for_each(&members, |member| clocks::of(member).ok());
        for (Worker { member, clock, .. }, later) in self.workers.iter().zip(later) {
            let Some(&at_ns) = at.get(member.name.as_str()) else {
                continue;
            };
            let ns = later.and_then(|later| clock.moved_ns(&later));
            moved.extend(ns.map(|ns| clock_moved(&member.name, ns)));
            let twice = later.filter(|_| ns.is_none()).map(|later| clock.then(&later));
            let wrong = |clock: &Clock| clock.error_ns(clock.local_ns(at_ns));
            let better = twice.filter(|twice| wrong(twice) < wrong(clock));
            began.push((better.unwrap_or(*clock), at_ns));
        }
        let mut recording = assemble(&self.job, sum, common_start(&began));
        recording.warnings.extend(moved);
        recording
    }

    /// Polls all workers once; returns whether any event was received.
    fn poll(&mut self) -> Result<bool, GeneratorMessage> {
        let mut received = false;
        for number in 0..self.workers.len() {
            loop {
                if self.workers[number].is_done {
                    break;
                }
                match self.workers[number].line.receive(Duration::ZERO) {
                    GeneratorMessage::Event(event) => self.take(number, event)?,
                    GeneratorMessage::Nothing => break,
                    gone @ GeneratorMessage::Gone(_) => return Err(gone),
                }
                received = true;
            }
        }
        Ok(received)
    }

    /// Names the workers for which the others have waited too long.
    fn late(&self) -> Option<String> {
        let since = self.waits_since.filter(|since| since.elapsed() > LATE)?;
        let least = self.workers.iter().map(|worker| worker.begun).min()?;
        let late = self.workers.iter().filter(|worker| worker.begun == least);
        let names: Vec<&str> = late.map(|worker| worker.member.name.as_str()).collect();
        let waited = since.elapsed().as_secs();
        Some(format!(
            "{} did not catch up with the other workers within {waited} s",
            names.join(", ")
        ))
    }
}

/// Warns about a worker whose clock drifted from the controller's during the load.
fn clock_moved(worker: &str, ns: i64) -> Warning {
    let text = format!(
        "Clock of {worker} drifted by {:.1} ms, as that of a paused or migrated virtual machine; its times may be wrong by as much.",
        ns as f64 / 1e6
    );
    Warning::new(WarningKind::ClockStep, text).advise("Measure again.")
}

impl RunningLoad for WorkerGroup {
    fn next(&mut self, within: Duration) -> GeneratorMessage {
        let until = Instant::now() + within;
        loop {
            if let Some(event) = self.ready.pop_front() {
                return GeneratorMessage::Event(event);
            }
            match self.poll() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(end) => return end,
            }
            let workers = &self.workers;
            let doing = || workers.iter().map(|worker| worker.line.doing()).collect();
            if let Some(news) = self.roster.news(doing) {
                return GeneratorMessage::Event(news);
            }
            if let Some(late) = self.late() {
                return GeneratorMessage::Gone(late);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return GeneratorMessage::Nothing;
            }
            thread::sleep(left.min(LOOK));
        }
    }

    fn tell(&mut self, command: Command) {
        if command == Command::Measure {
            self.start_in(0);
            return;
        }
        for worker in &mut self.workers {
            worker.line.tell(command);
        }
    }

    fn begin_window(&mut self) {
        for worker in &mut self.workers {
            worker.line.begin_window();
        }
    }

    fn end_window(&mut self) -> Option<GeneratorUsage> {
        let spent: Vec<Option<GeneratorUsage>> = self
            .workers
            .iter_mut()
            .map(|worker| worker.line.end_window())
            .collect();
        let spent: Vec<GeneratorUsage> = spent.into_iter().collect::<Option<_>>()?;
        let resources: Vec<Resources> = spent.iter().map(|spent| spent.resources.clone()).collect();
        Some(GeneratorUsage {
            resources: Resources::together(&resources),
            beside_service_ns: spent.iter().map(|spent| spent.beside_service_ns).sum(),
        })
    }
}

/// Number of workers that are handled one after the other. In parallel they would compete for the CPUs of the controller, and
/// clocks are measured best on an idle machine.
const IN_TURN: usize = 8;
/// Maximum number of threads.
const MOST: usize = 16;

/// Runs an action for each item and returns the results in order. A few items are handled one after the other; hundreds, each
/// of which takes some round trips, by several threads.
fn for_each<T: Sync, R: Send>(all: &[T], what: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let lanes = (all.len() / IN_TURN).clamp(1, MOST);
    let what = &what;
    thread::scope(|scope| {
        let begun: Vec<ScopedJoinHandle<'_, Vec<R>>> = all
            .chunks(all.len().div_ceil(lanes).max(1))
            .map(|some| scope.spawn(move || some.iter().map(what).collect()))
            .collect();
        let ended = begun.into_iter().map(ScopedJoinHandle::join);
        ended
            .flat_map(|lane| lane.expect("invariant: the action does not panic"))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_came_of_each_is_in_order_and_few_are_done_in_turn() {
        for (many, lanes) in [(0, 0), (1, 1), (8, 1), (15, 1), (16, 2), (100, 12), (500, 16)] {
            let all: Vec<usize> = (0..many).collect();
            let done = for_each(&all, |&number| {
                (number * 2, format!("{:?}", thread::current().id()))
            });
            let numbers: Vec<usize> = done.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, (0..many).map(|number| number * 2).collect::<Vec<_>>());
            let threads: BTreeSet<&String> = done.iter().map(|(_, thread)| thread).collect();
            assert_eq!(threads.len(), lanes, "{many}");
        }
    }
}
