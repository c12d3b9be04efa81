//! Trials on a host and with a generator that are made up: every number is known beforehand.

use crate::common::{TestJournal, Testbed};
use crate::service;
use prony_config::{Design, WarmUpChoice};
use prony_host::{
    CompilerKind, ExitReport, FakeHost, FakeProcess, HostError, KillReason, MachineUsage, Placement, Usage,
};
use prony_load::{Arrival, Job, Load, Profile, Rate, Spacing, WarmUp};
use prony_records::{
    Classification, Command, CompactHistogram, Connections, Coverage, Event, Fault,
    Generator as GeneratorRecord, Histogram, Interval, Measurement, Outcomes, Phase, Recording, Requests,
    ResourceSample, Resources, SCHEMA, TrialStage, WarningKind, that_count,
};
use prony_runner::designs::design_of;
use prony_runner::generators::{Generator, GeneratorMessage as Said, GeneratorUsage, RunningLoad};
use prony_runner::testbed::{Member, Testbed as Hosts};
use prony_runner::{Noise, NoiseLimits, Run, RunContext, RunEnd, execute};
use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A service within this process, on a port of its own: the checks need somebody who answers.
pub(crate) fn served() -> u16 {
    served_with(service::Fault::None)
}

fn served_with(fault: service::Fault) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || service::serve_on(&listener, fault));
    port
}

/// A generator that plays a script: replies per interval of the warm-up, and what its recording says.
#[derive(Clone)]
pub(crate) struct FakeGenerator {
    warm_up: Vec<u64>,
    measured: Vec<u64>,
    outcomes: Outcomes,
    /// Loads in which no request is due, by number.
    empty: Range<usize>,
    /// How many of its next loads it dies in.
    pub(crate) dies: Arc<Mutex<u32>>,
    jobs: Arc<Mutex<Vec<Job>>>,
    told: Arc<Mutex<Vec<Command>>>,
}

struct ScriptedLoad {
    script: FakeGenerator,
    events: VecDeque<Event>,
}

pub(crate) fn intervals(completed: &[u64]) -> Vec<Interval> {
    let interval = |(number, &completed): (usize, &u64)| Interval {
        start_s: number as f64 / 10.0,
        length_s: 0.1,
        completed,
        valid: completed,
        errors: 0,
        messages: None,
        response_time_ns_p50: None,
        response_time_ns_p99: Some(1_000_000_000 / completed.max(1)),
    };
    completed.iter().enumerate().map(interval).collect()
}

pub(crate) fn begin(phase: Phase) -> Event {
    Event::Phase {
        phase,
        established: 1,
    }
}

impl FakeGenerator {
    pub(crate) fn new(warm_up: Vec<u64>) -> Self {
        Self {
            warm_up,
            measured: vec![1_000; 20],
            outcomes: Outcomes {
                valid: 20_000,
                ..Outcomes::default()
            },
            empty: 0..0,
            dies: Arc::default(),
            jobs: Arc::default(),
            told: Arc::default(),
        }
    }

    /// Events from the start of the measurement on.
    fn rest(&self) -> Vec<Event> {
        let recording = Box::new(recording(self.outcomes, intervals(&self.measured)));
        vec![
            begin(Phase::Measurement),
            begin(Phase::Drain),
            Event::Recording { recording },
        ]
    }
}

impl Generator for FakeGenerator {
    fn begin(&self, job: &Job, _: &Placement, _: &Path) -> Result<Box<dyn RunningLoad>, HostError> {
        let mut jobs = self.jobs.lock().expect("unpoisoned");
        let mut script = self.clone();
        if self.empty.contains(&jobs.len()) {
            script.outcomes = Outcomes::default();
        }
        jobs.push(job.clone());
        let mut events = VecDeque::from([begin(Phase::WarmUp)]);
        let mut dies = self.dies.lock().expect("unpoisoned");
        if *dies > 0 {
            *dies -= 1;
            return Ok(Box::new(ScriptedLoad { script, events }));
        }
        let warm_up = intervals(&self.warm_up).into_iter();
        events.extend(warm_up.map(|interval| Event::Interval {
            phase: Phase::WarmUp,
            interval,
            times: CompactHistogram::default(),
            failures: Box::default(),
        }));
        if matches!(job.phases.warm_up, WarmUp::FixedNs(_)) {
            events.extend(script.rest());
        }
        Ok(Box::new(ScriptedLoad { script, events }))
    }
}

impl RunningLoad for ScriptedLoad {
    fn next(&mut self, _: Duration) -> Said {
        match self.events.pop_front() {
            Some(event) => Said::Event(event),
            None => Said::Gone("the script is at its end".to_owned()),
        }
    }

    fn tell(&mut self, command: Command) {
        self.script.told.lock().expect("unpoisoned").push(command);
        // The current interval ends before the command arrives.
        self.events.truncate(1);
        self.events.extend(self.script.rest());
    }

    fn begin_window(&mut self) {}

    fn end_window(&mut self) -> Option<GeneratorUsage> {
        let resources = Resources {
            cpu_ns: Some(300),
            ..Resources::default()
        };
        Some(GeneratorUsage {
            resources,
            beside_service_ns: 305,
        })
    }
}

pub(crate) fn recording(outcomes: Outcomes, intervals: Vec<Interval>) -> Recording {
    let count = outcomes.total();
    let mut recording = Recording {
        schema: SCHEMA,
        protocol: "http1".to_owned(),
        duration_s: 2.0,
        requests: Requests {
            offered: count,
            sent: count,
            completed: count,
            valid: outcomes.valid,
        },
        throughput_per_s: count as f64 / 2.0,
        goodput_per_s: outcomes.valid as f64 / 2.0,
        outcomes,
        offered_per_s: Some(count as f64 / 2.0),
        sent_per_s: Some(count as f64 / 2.0),
        coverage: Coverage::EveryRequest,
        connections: Connections {
            asked: 1,
            established: 1,
            ..Connections::default()
        },
        generator: GeneratorRecord {
            threads: 1,
            transport: "none".to_owned(),
            ..GeneratorRecord::default()
        },
        intervals,
        histogram: Histogram::new().encode(),
        ..Recording::default()
    };
    recording.warnings.extend(recording.failure(None));
    recording
}

/// A process that used 400 ns of a machine of two CPUs in a window of 1,000 ns.
pub(crate) fn process() -> FakeProcess {
    let sample = ResourceSample {
        at_s: -0.5,
        cpu_ns: Some(1),
        compiler_cpu_ns: None,
        memory_bytes: Some(2),
        threads: Some(3),
    };
    FakeProcess {
        stops: ExitReport {
            signal: Some(15),
            ..ExitReport::default()
        },
        usage: Usage {
            compiler: None,
            resources: Resources {
                source: "cgroup2".to_owned(),
                window_ns: 1_000,
                cpu_ns: Some(400),
                memory_bytes_peak: Some(70),
                memory_bytes_mean: Some(60),
                ..Resources::default()
            },
            before: vec![sample],
            machine: Some(MachineUsage {
                window_ns: 1_000,
                cpus: 2,
                busy_ns: 800,
                steal_ns: 7,
            }),
            supervisor_cpu_ns: 10,
            cpu_speed_probe_ns: None,
        },
        log: vec!["one".to_owned(), "two".to_owned()],
        ..FakeProcess::default()
    }
}

/// Runs a testbed of one service on a fake host.
pub(crate) fn run(testbed: &Testbed, host: &FakeHost, generator: &dyn Generator) -> TestJournal {
    let hosts = Hosts::here(Member::new(
        "",
        Arc::new(host.clone()),
        Vec::new(),
        testbed.logs(),
    ));
    let run = Run {
        plan: &testbed.plan,
        context: RunContext {
            testbed: &hosts,
            generator,
            options: &testbed.options,
            cancel: &testbed.cancel,
            catalogue: &testbed.catalogue,
            seeds: &testbed.seeds,
            certificates: &testbed.certificates,
        },
        built: std::slice::from_ref(&testbed.built),
    };
    let mut heard = TestJournal::default();
    let end = execute(&*design_of(&testbed.plan), &run, &mut heard);
    assert_eq!(end, Ok(RunEnd::Complete));
    heard
}

fn measured(testbed: &Testbed, generator: &FakeGenerator) -> Measurement {
    let host = FakeHost::new(4, served());
    host.set(process());
    run(testbed, &host, generator)
        .records
        .remove(0)
        .result
        .expect("measured")
}

fn three_per_second() -> Arrival {
    Arrival {
        profile: Profile::Constant {
            rate: Rate::per_second(3.0).expect("a rate"),
        },
        spacing: Spacing::Poisson,
    }
}

fn steady_testbed() -> Testbed {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.groups[0].warm_up = WarmUpChoice::Steady {
        least_ns: 1_000_000_000,
        most_ns: 4_000_000_000,
    };
    testbed
}

#[test]
fn every_number_of_the_host_is_in_the_record() {
    let measurement = measured(&Testbed::new(&["ok"]), &FakeGenerator::new(vec![1_000; 3]));
    assert_eq!(measurement.service.cpu_ns, Some(400));
    assert_eq!(measurement.generator.expect("counted").cpu_ns, Some(300));
    assert_eq!(measurement.backing_services, []);
    // 800 of all, less 400 and 300, less 10 and 5 of the supervisors.
    assert_eq!(measurement.other_cpu_ns, Some(85));
    assert_eq!(measurement.steal_ns, Some(7));
    assert_eq!(measurement.start_up.idle_memory_bytes, Some(60));
    assert_eq!(
        (measurement.service_cpus, measurement.generator_cpus),
        (vec![1, 2, 3], vec![0])
    );
    assert_eq!(measurement.warm_up_samples.len(), 1);
}

#[test]
fn a_steady_service_is_measured_at_once_and_told_so_once() {
    let generator = FakeGenerator::new(vec![1_000; 40]);
    let measurement = measured(&steady_testbed(), &generator);
    let steadiness = measurement.steadiness.expect("watched");
    assert_eq!(steadiness.classification, Classification::Settled);
    // Six slices of three intervals, and the one that was under way.
    assert_eq!(steadiness.intervals.len(), 19);
    assert!(
        steadiness
            .light_s
            .is_some_and(|light_s| (1.0..1.5).contains(&light_s))
    );
    let told = generator.told.lock().expect("unpoisoned");
    assert_eq!(*told, [Command::Measure, Command::Stop, Command::Measure]);
    let mut jobs = generator.jobs.lock().expect("unpoisoned");
    let (job, light) = (jobs.remove(1), jobs.remove(0));
    assert_eq!(
        (light.load.connections(), light.limits.connection_age_ns),
        (2, Some(500_000_000))
    );
    assert_eq!(light.limits.requests_per_connection, Some(8));
    assert_eq!(
        (job.limits.connection_age_ns, job.limits.requests_per_connection),
        (None, None)
    );
    for job in [&light, &job] {
        assert_eq!(
            job.phases.warm_up,
            WarmUp::UntilTold {
                limit_ns: 8_000_000_000
            }
        );
    }
    assert_eq!((job.threads, job.cpus), (1, vec![0]));
}

#[test]
fn a_light_load_of_users_connects_at_least_as_often_as_they_do() {
    for (requests_per_user, light) in [(5, 5), (20, 8)] {
        let mut testbed = steady_testbed();
        testbed.plan.groups[0].load = Load::Users {
            arrival: three_per_second(),
            requests_per_user,
            think_ns: 0,
            max_users: 100,
        };
        let generator = FakeGenerator::new(vec![1_000; 40]);
        measured(&testbed, &generator);
        let jobs = generator.jobs.lock().expect("unpoisoned");
        let limits = jobs
            .iter()
            .map(|job| (job.load.kind(), job.limits.requests_per_connection));
        assert_eq!(
            limits.collect::<Vec<_>>(),
            [("closed", Some(light)), ("users", None)]
        );
    }
}

#[test]
fn the_load_pauses_every_second_while_a_compiler_is_at_work() {
    let generator = FakeGenerator::new(vec![1_000; 40]);
    let host = FakeHost::new(4, served());
    let mut process = process();
    // 4 % of the CPU time in each slice, and less than 3 % of the 100 ms without load.
    process.usage.compiler = Some(CompilerKind::Compiles);
    process.usage.resources.cpu_ns = Some(50_000_000);
    process.usage.resources.compiler_cpu_ns = Some(2_000_000);
    host.set(process);
    let mut journal = run(&steady_testbed(), &host, &generator);
    let measured = journal.records.remove(0).result.expect("measured");
    let steadiness = measured.steadiness.expect("watched");
    assert_eq!(steadiness.classification, Classification::Warming);
    // Both phases last 4 s; four slices of 300 ms come before each break.
    let jobs = generator.jobs.lock().expect("unpoisoned");
    let connections: Vec<u32> = jobs.iter().map(|job| job.load.connections()).collect();
    assert_eq!(connections, [2, 2, 2, 2, 1, 1, 1, 1]);
    let starts: Vec<f64> = steadiness
        .intervals
        .iter()
        .map(|interval| interval.start_s)
        .collect();
    assert!(starts.is_sorted() && starts.len() >= 40, "{starts:?}");
    assert!(
        (4.0..5.5).contains(&steadiness.warm_up_s),
        "{}",
        steadiness.warm_up_s
    );
}

#[test]
fn a_service_that_never_settles_is_measured_at_the_limit_with_a_warning() {
    let rising: Vec<u64> = (0..100).map(|number| 500 + 100 * number).collect();
    let measurement = measured(&steady_testbed(), &FakeGenerator::new(rising));
    let steadiness = measurement.steadiness.expect("watched");
    assert_eq!(steadiness.classification, Classification::Unsettled);
    // 4 s end in the fourteenth slice of three intervals.
    assert_eq!(steadiness.intervals.len(), 43);
    assert!(
        measurement
            .warnings
            .iter()
            .any(|warning| warning.kind == WarningKind::Unsettled)
    );
}

#[test]
fn getting_slower_in_the_measurement_is_a_warning() {
    let mut generator = FakeGenerator::new(vec![1_000; 3]);
    generator.measured = [vec![1_000; 20], vec![700; 20]].concat();
    let measurement = measured(&Testbed::new(&["ok"]), &generator);
    let slower = measurement
        .warnings
        .iter()
        .find(|warning| warning.kind == WarningKind::SlowingDown);
    assert_eq!(
        slower.expect("warned").text,
        "Throughput fell by 30 % during measurement."
    );
}

#[test]
fn no_valid_reply_and_errors_are_exclusions() {
    let reason = |outcomes: Outcomes, no_errors: bool| {
        let mut testbed = Testbed::new(&["ok"]);
        testbed.plan.no_errors = no_errors;
        let mut generator = FakeGenerator::new(vec![1_000; 3]);
        generator.outcomes = outcomes;
        let host = FakeHost::new(4, served());
        host.set(process());
        run(&testbed, &host, &generator).records.remove(0).result
    };
    let none = reason(
        Outcomes {
            unexpected: 5,
            timeout: 2,
            ..Outcomes::default()
        },
        false,
    )
    .expect_err("excluded");
    assert_eq!(none.stage, TrialStage::Measure);
    assert_eq!(
        none.reason,
        "none of 7 requests had a valid reply; 5 replies are unexpected (5 unexpected replies, 2 timeouts)"
    );
    let silent = reason(Outcomes::default(), false).expect_err("excluded");
    assert_eq!(silent.reason, "no request was answered within 2.0 s");
    let some = Outcomes {
        valid: 100,
        reset: 1,
        ..Outcomes::default()
    };
    assert!(reason(some, false).is_ok());
    let strict = reason(some, true).expect_err("excluded");
    assert!(
        strict
            .reason
            .starts_with("there were errors, and the suite allows none (1 reset"),
        "{}",
        strict.reason
    );
}

#[test]
fn a_window_without_a_due_request_is_no_failure_of_the_service() {
    let result = |load, empty| {
        let mut testbed = Testbed::new(&["ok"]);
        testbed.plan.design = Design::Interleaved {
            window_ns: 1_000_000_000,
            cycles: 3,
        };
        testbed.plan.groups[0].load = load;
        testbed.plan.groups[0].warm_up = WarmUpChoice::FixedNs(0);
        let mut generator = FakeGenerator::new(Vec::new());
        // The first load is the warm-up.
        generator.empty = empty;
        let host = FakeHost::new(4, served());
        host.set(process());
        run(&testbed, &host, &generator).records.remove(0).result
    };
    let open = || Load::Open {
        arrival: three_per_second(),
        connections: 4,
        in_flight: 1,
        backlog: 1,
        members: None,
    };
    let one = result(open(), 1..2).expect("two of three windows have replies");
    assert_eq!(one.recording.outcomes.valid, 40_000);
    assert_eq!(one.recording.warnings, []);
    let all = result(open(), 1..4).expect_err("nothing was measured");
    assert_eq!(
        (all.fault, all.reason.as_str()),
        (
            Fault::Infrastructure,
            "no request was due in any of its windows: the rate is too low for their length"
        )
    );
    // Of a closed load a request is always due.
    assert_eq!(
        result(Load::closed(1, 1), 1..2).expect_err("it hangs").fault,
        Fault::Service
    );
}

#[test]
fn a_service_that_cannot_start_is_a_row_with_the_reason() {
    let testbed = Testbed::new(&["ok"]);
    let host = FakeHost::new(2, served());
    host.set(FakeProcess {
        fails: Some("no such program".to_owned()),
        ..process()
    });
    let excluded = run(&testbed, &host, &FakeGenerator::new(Vec::new()))
        .records
        .remove(0)
        .result
        .expect_err("excluded");
    assert_eq!(excluded.stage, TrialStage::Start);
    assert_eq!(excluded.reason, "cannot start `ok/current`: no such program");
}

/// The connections of a process that the kernel kills are gone before the process is: a check may fail first.
#[test]
fn needing_too_much_memory_is_told_although_the_check_failed_first() {
    let host = FakeHost::new(2, served_with(service::Fault::OneByteShort));
    let stops = ExitReport {
        signal: Some(9),
        why: Some(KillReason::OutOfMemory {
            limit_bytes: Some(64 << 20),
        }),
        ..ExitReport::default()
    };
    host.set(FakeProcess { stops, ..process() });
    let mut heard = run(&Testbed::new(&["ok"]), &host, &FakeGenerator::new(vec![1_000; 3]));
    let excluded = heard.records.remove(0).result.expect_err("excluded");
    assert_eq!(excluded.stage, TrialStage::Check);
    assert!(
        excluded
            .reason
            .starts_with("the service was killed because it needed more than its 64 MiB of memory (OOM); it breaks its contract"),
        "{}",
        excluded.reason
    );
}

/// The outcome of a trial whose service has ended like this, and how often it was tried.
fn ended_like(why: KillReason) -> (Fault, usize) {
    let host = FakeHost::new(2, served());
    let ends = Some(ExitReport {
        signal: Some(9),
        why: Some(why),
        ..ExitReport::default()
    });
    host.set(FakeProcess { ends, ..process() });
    let heard = run(&Testbed::new(&["ok"]), &host, &FakeGenerator::new(vec![1_000; 3]));
    let excluded = heard.records[0].result.as_ref().expect_err("excluded");
    (excluded.fault, heard.records.len())
}

#[test]
fn only_its_own_limits_are_the_fault_of_a_service_that_was_killed() {
    let limit_bytes = Some(64 << 20);
    assert_eq!(
        ended_like(KillReason::OutOfMemory { limit_bytes }),
        (Fault::Service, 2)
    );
    assert_eq!(
        ended_like(KillReason::DiskFull { limit_bytes: 1 }),
        (Fault::Service, 2)
    );
    let machine = KillReason::OutOfMemory { limit_bytes: None };
    assert_eq!(ended_like(machine), (Fault::Infrastructure, 3));
    assert_eq!(ended_like(KillReason::Outside), (Fault::Infrastructure, 3));
}

/// One of several processes was killed, and the service went on without it.
#[test]
fn a_machine_without_memory_is_not_the_fault_of_a_service_that_went_on() {
    let fault = |limit_bytes| {
        let host = FakeHost::new(2, served());
        let stops = ExitReport {
            signal: Some(15),
            why: Some(KillReason::OutOfMemory { limit_bytes }),
            ..ExitReport::default()
        };
        host.set(FakeProcess { stops, ..process() });
        let heard = run(&Testbed::new(&["ok"]), &host, &FakeGenerator::new(vec![1_000; 3]));
        heard.records[0].result.as_ref().expect_err("excluded").fault
    };
    assert_eq!(fault(Some(64 << 20)), Fault::Service);
    assert_eq!(fault(None), Fault::Infrastructure);
}

#[test]
fn a_generator_that_ends_early_is_told() {
    let mut testbed = steady_testbed();
    testbed.plan.groups[0].warm_up = WarmUpChoice::Steady {
        least_ns: 60_000_000_000,
        most_ns: 90_000_000_000,
    };
    let host = FakeHost::new(2, served());
    host.set(process());
    let excluded = run(&testbed, &host, &FakeGenerator::new(vec![1_000; 3]))
        .records
        .remove(0)
        .result
        .expect_err("excluded");
    assert_eq!(
        (excluded.stage, excluded.reason.as_str()),
        (TrialStage::WarmUp, "the script is at its end")
    );
    assert_eq!(excluded.log_tail, ["one", "two"]);
}

/// A generator that begins and then says nothing, without ending.
struct Mute;

/// Its load: one event comes, and the channel stays open.
struct SilentService {
    events: Receiver<Said>,
    _sender: Sender<Said>,
}

impl Generator for Mute {
    fn begin(&self, _: &Job, _: &Placement, _: &Path) -> Result<Box<dyn RunningLoad>, HostError> {
        let (sender, events) = channel();
        sender.send(Said::Event(begin(Phase::WarmUp))).expect("open");
        Ok(Box::new(SilentService {
            events,
            _sender: sender,
        }))
    }
}

impl RunningLoad for SilentService {
    fn next(&mut self, within: Duration) -> Said {
        self.events.recv_timeout(within).unwrap_or(Said::Nothing)
    }

    fn tell(&mut self, _: Command) {}

    fn begin_window(&mut self) {}

    fn end_window(&mut self) -> Option<GeneratorUsage> {
        None
    }
}

#[test]
fn a_generator_that_falls_silent_is_told_in_every_design() {
    for design in [
        Design::Sequence,
        Design::Interleaved {
            window_ns: 100_000_000,
            cycles: 3,
        },
    ] {
        let mut testbed = steady_testbed();
        testbed.plan.design = design;
        testbed.options.silence = Duration::from_millis(300);
        let host = FakeHost::new(2, served());
        host.set(process());
        let excluded = run(&testbed, &host, &Mute).records.remove(0).result;
        let excluded = excluded.expect_err("excluded");
        assert_eq!(
            (excluded.stage, excluded.fault),
            (TrialStage::WarmUp, Fault::Infrastructure)
        );
        assert_eq!(excluded.reason, "the generator reported nothing for 300ms");
    }
}

/// A service whose port was somebody else's by the time it bound it ends at once, and is started again.
#[test]
fn a_taken_port_is_tried_again_in_every_design() {
    for design in [
        Design::Sequence,
        Design::Interleaved {
            window_ns: 100_000_000,
            cycles: 3,
        },
    ] {
        let mut testbed = steady_testbed();
        testbed.plan.design = design;
        let host = FakeHost::new(2, served());
        let ends = Some(ExitReport {
            code: Some(1),
            ..ExitReport::default()
        });
        host.set(FakeProcess { ends, ..process() });
        let heard = run(&testbed, &host, &FakeGenerator::new(vec![1_000; 3]));
        assert_eq!(heard.records.len(), 2, "a second try");
        for record in &heard.records {
            let excluded = record.result.as_ref().expect_err("excluded");
            assert_eq!(excluded.stage, TrialStage::Start);
            assert!(
                excluded.reason.starts_with("the service ended with exit code 1"),
                "{}",
                excluded.reason
            );
        }
        assert_eq!(host.started().len(), 6, "three ports in each");
    }
}

#[test]
fn a_fault_of_the_bench_is_void_and_repeated_twice() {
    let mut testbed = steady_testbed();
    testbed.plan.rounds = 2;
    let host = FakeHost::new(2, served());
    host.set(process());
    let mut generator = FakeGenerator::new(vec![1_000; 3]);
    generator.dies = Arc::new(Mutex::new(u32::MAX));
    let heard = run(&testbed, &host, &generator);
    let numbers: Vec<u32> = heard.records.iter().map(|record| record.number).collect();
    assert_eq!(numbers, [0, 0, 0, 1, 1, 1]);
    for record in &heard.records {
        let failed = record.result.as_ref().expect_err("void");
        assert_eq!(
            (failed.fault, failed.stage),
            (Fault::Infrastructure, TrialStage::WarmUp)
        );
    }
    assert_eq!(that_count(&heard.records).len(), 2);
}

#[test]
fn a_trial_that_was_void_counts_when_it_is_repeated() {
    let testbed = Testbed::new(&["ok"]);
    let host = FakeHost::new(2, served());
    host.set(process());
    let mut generator = FakeGenerator::new(vec![1_000; 3]);
    generator.dies = Arc::new(Mutex::new(1));
    let heard = run(&testbed, &host, &generator);
    let valid: Vec<bool> = heard.records.iter().map(|record| record.result.is_ok()).collect();
    assert_eq!(valid, [false, true]);
    assert!(that_count(&heard.records)[0].result.is_ok());
}

#[test]
fn noise_is_a_share_of_the_machine() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.options.noise = Some(NoiseLimits {
        others: 0.02,
        steal: 0.01,
    });
    let host = FakeHost::new(4, served());
    host.set(process());
    // 85 ns of four CPUs in 1,000 ns are 2.1 %.
    let heard = run(&testbed, &host, &FakeGenerator::new(vec![1_000; 3]));
    assert_eq!(heard.records.len(), 2);
    let repeated = heard.records[1].result.as_ref().expect("measured");
    let why = repeated
        .warnings
        .iter()
        .find(|warning| warning.kind == WarningKind::Repeated)
        .expect("said");
    assert!(
        why.text.ends_with("(other programs used 2.1 % of the machine)."),
        "{}",
        why.text
    );
    testbed.options.noise = Some(NoiseLimits {
        others: 0.03,
        steal: 0.01,
    });
    assert_eq!(
        run(&testbed, &host, &FakeGenerator::new(vec![1_000; 3]))
            .records
            .len(),
        1
    );
    let before = Noise::before(&host, Duration::from_secs(1));
    assert_eq!(before.and_then(Noise::warning), None);
}

#[test]
fn a_service_gets_its_place_in_its_environment() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.limits.cpus = Some(1.5);
    let host = FakeHost::new(8, served());
    host.set(process());
    run(&testbed, &host, &FakeGenerator::new(vec![1_000; 3]));
    let spec = host.started().remove(0);
    assert_eq!(spec.environment["HOST"], "127.0.0.1");
    assert_eq!(spec.environment["WORKERS"], "2");
    assert!(spec.environment["PORT"].parse::<u16>().is_ok());
    assert_eq!(spec.cpus.as_slice(), [6, 7]);
    assert_eq!(spec.supervisor_cpus.as_slice(), [0, 1, 2]);
}
