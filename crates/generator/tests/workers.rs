//! A load made by several workers: together they send the same requests as one would, and they start on command.

use crate::toy::{self, MS, Server, answer_all, job, ok, operation, within};
use prony_load::{
    Arrival, Job, Load, Order, Parameter, Part as Piece, Pick, Profile, Rate, Share, Source, Spacing, Step,
    Template, TransportChoice, WarmUp, Workload,
};
use prony_merge::{LiveMerge, Merger, Part, assemble};
use prony_records::{Command, Event, IntervalPart, Phase, Recording};
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

on_both_transports!(
    requests_are_the_same_however_many_workers_make_them,
    counted_requests_of_a_closed_load_are_divided_exactly,
    workers_start_on_command,
    a_time_in_the_past_means_at_once_and_is_reported,
    a_start_time_given_before_the_load_is_kept,
);

/// The current time of the clock that the generator uses.
fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for a timespec.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(result, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A server that replies `hello` and records the requests.
fn noting() -> (Server, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&lines);
    let server = Server::new(move |stream, _| {
        answer_all(stream, |request| {
            let mut lines = noted.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push(request.line.clone());
            ok("hello")
        });
    });
    (server, lines)
}

/// Two operations by weight, whose paths contain a counter, a random number and a row of a table.
fn varied() -> Workload {
    let parameter = |name: &str, source| Parameter {
        name: name.into(),
        source,
    };
    let path = |name: &str| {
        let values = (0..3).flat_map(|index| [Piece::Literal("/".into()), Piece::Value(index)]);
        Template([Piece::Literal(name.into())].into_iter().chain(values).collect())
    };
    let mut workload = Workload::of(operation("read", path("/read"), "hello"));
    workload
        .operations
        .push(operation("write", path("/write"), "hello"));
    let steps = [(0, 3), (1, 1)].map(|(operation, weight)| Step { operation, weight });
    workload.order = Order::Mix(steps.to_vec());
    let rows = (0..400).map(|row| format!("row{row}")).collect();
    workload.parameters = vec![
        parameter("counter", Source::Counter { start: 10 }),
        parameter(
            "random",
            Source::Random {
                low: 1,
                high: 1_000_000,
            },
        ),
        parameter(
            "row",
            Source::Column {
                values: rows,
                pick: Pick::Once,
            },
        ),
    ];
    workload
}

/// The jobs of `workers` workers with `threads` threads each.
fn divided(job: &Job, workers: u32, threads: u32) -> Vec<Job> {
    let names: Vec<String> = (0..workers).map(|number| format!("w{number}")).collect();
    let shares = Share::split(names.iter().map(|name| (name.as_str(), threads)));
    let own = shares.into_iter().map(|share| Job {
        share: Some(share),
        threads,
        ..job.clone()
    });
    own.collect()
}

/// Runs all of them at once; returns their parts.
fn all(jobs: Vec<Job>) -> Vec<Part> {
    within(Duration::from_mins(2), move || {
        let running: Vec<_> = jobs
            .into_iter()
            .map(|job| {
                std::thread::spawn(move || {
                    let (_commands, none) = mpsc::channel();
                    prony_generator::run_part(&job, &mut |_| {}, &none).expect("a part")
                })
            })
            .collect();
        let joined = running.into_iter().map(|one| one.join().expect("no panic"));
        joined.collect()
    })
}

fn merged(job: &Job, parts: Vec<Part>) -> Recording {
    let mut merger = Merger::new(job);
    for part in parts {
        let travelled = Part::decode(&part.encode()).expect("own text");
        merger.add(travelled).expect("parts of one job");
    }
    let recording = assemble(job, &merger.finish(), None);
    toy::check_sums(&recording);
    recording
}

fn arrival(spacing: Spacing) -> Arrival {
    let rate = Rate::per_second(1_000.0).expect("a rate");
    Arrival {
        profile: Profile::Constant { rate },
        spacing,
    }
}

/// The requests, sorted, of a load made by `workers` workers with `threads` threads each.
fn received_lines(of: &dyn Fn(SocketAddr) -> Job, workers: u32, threads: u32) -> Vec<String> {
    let (server, lines) = noting();
    let job = of(server.address);
    let recording = merged(&job, all(divided(&job, workers, threads)));
    assert_eq!(recording.outcomes.errors(), 0, "{:?}", recording.outcomes);
    assert_eq!(recording.generator.threads, workers * threads);
    assert_eq!(
        recording.connections.established, 8,
        "{:?}",
        recording.connections
    );
    let rows = if workers == 1 { 0 } else { workers as usize };
    assert_eq!(recording.workers.len(), rows);
    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(lines.len() as u64, recording.requests.valid);
    lines.sort_unstable();
    lines
}

fn requests_are_the_same_however_many_workers_make_them(transport: TransportChoice) {
    for spacing in [Spacing::Even, Spacing::Poisson] {
        let of = |address| Job {
            load: Load::Open {
                arrival: arrival(spacing),
                connections: 8,
                in_flight: 1,
                backlog: 1_000_000,
                members: None,
            },
            workload: varied(),
            ..job(address, transport)
        };
        let one = received_lines(&of, 1, 4);
        assert!(one.len() > 200, "{}", one.len());
        assert_eq!(one, received_lines(&of, 2, 2), "{spacing:?}");
        assert_eq!(one, received_lines(&of, 4, 1), "{spacing:?}");
    }
}

fn counted_requests_of_a_closed_load_are_divided_exactly(transport: TransportChoice) {
    let of = |address| {
        let mut job = Job {
            load: Load::closed(8, 1),
            workload: varied(),
            ..job(address, transport)
        };
        job.limits.requests = Some(399);
        job.phases.measurement_ns = 60_000 * MS;
        job
    };
    let one = received_lines(&of, 1, 4);
    assert_eq!(one.len(), 399);
    // Each row of a table with single-use rows occurs once.
    let mut rows: Vec<&str> = one.iter().filter_map(|line| line.split('/').nth(4)).collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), 399, "{one:?}");
    assert_eq!(one, received_lines(&of, 2, 2));
    assert_eq!(one, received_lines(&of, 4, 1));
}

/// Runs a worker whose warm-up ends on command; `tell` creates the command at the first interval.
fn measure_on_command(job: &Job, tell: fn() -> Command) -> (Part, Vec<IntervalPart>) {
    let job = job.clone();
    within(Duration::from_mins(1), move || {
        let (sender, commands): (_, Receiver<Command>) = mpsc::channel();
        let mut measured = Vec::new();
        let mut measure_on_command = false;
        let mut take = |event| match event {
            Event::IntervalPart {
                phase: Phase::WarmUp, ..
            } if !measure_on_command => {
                measure_on_command = true;
                sender.send(tell()).expect("the generator listens");
            }
            Event::IntervalPart {
                phase: Phase::Measurement,
                part,
            } => measured.push(part),
            Event::Phase { .. } | Event::IntervalPart { .. } => {}
            other => panic!("{other:?} of a job that has a share"),
        };
        let part = prony_generator::run_part(&job, &mut take, &commands).expect("a part");
        (part, measured)
    })
}

fn waiting(address: SocketAddr, transport: TransportChoice) -> Job {
    let mut job = job(address, transport);
    job.phases.warm_up = WarmUp::UntilTold {
        limit_ns: 30_000 * MS,
    };
    job.interval_ns = 50 * MS;
    divided(&job, 2, 1).remove(1)
}

fn workers_start_on_command(transport: TransportChoice) {
    let (server, _) = noting();
    let job = waiting(server.address, transport);
    let (part, measured) = measure_on_command(&job, || Command::MeasureAt {
        at_ns: monotonic_ns() + 300 * MS,
    });
    let worker = &part.workers[&1];
    let begun = worker.begun;
    let asked = begun.asked_ns.expect("a time");
    // A stalled machine may be late; then the part says by how much.
    assert_eq!(begun.late_ns(), Some(begun.at_ns - asked));
    assert!(begun.noticed_ns >= begun.at_ns, "{begun:?}");
    assert_eq!(
        (worker.name.as_str(), worker.threads, worker.connections),
        ("w1", 1, 2)
    );
    assert_eq!(part.length_ns(), 300 * MS);
    // The intervals reported during the run equal those of the part, and those that a single generator would have
    // reported.
    assert_eq!(measured, part.intervals.values().cloned().collect::<Vec<_>>());
    let mut live = LiveMerge::new(1);
    for (index, one) in measured.iter().enumerate() {
        let event = live.take(Phase::Measurement, one.clone());
        assert_eq!(
            event,
            [Event::Interval {
                phase: Phase::Measurement,
                interval: one.interval(),
                times: one.times.clone(),
                failures: one.failures.clone(),
            }]
        );
        assert_eq!(one.index, index as u64);
        // Replies to requests sent before the measurement count as work, but have no response time in it.
        assert!(
            one.times.len() <= one.completed && one.completed <= one.times.len() + 2,
            "{one:?}"
        );
    }
}

fn a_time_in_the_past_means_at_once_and_is_reported(transport: TransportChoice) {
    let (server, _) = noting();
    let job = waiting(server.address, transport);
    let (part, _) = measure_on_command(&job, || Command::MeasureAt {
        at_ns: monotonic_ns() - 1_000 * MS,
    });
    let begun = part.workers[&1].begun;
    assert!(begun.late_ns() > Some(1_000 * MS), "{begun:?}");
    assert_eq!(part.length_ns(), 300 * MS);
}

fn a_start_time_given_before_the_load_is_kept(transport: TransportChoice) {
    let (server, _) = noting();
    let job = waiting(server.address, transport);
    let (sender, commands) = mpsc::channel();
    let at_ns = monotonic_ns() + 1;
    sender.send(Command::MeasureAt { at_ns }).expect("a receiver");
    let part = within(Duration::from_mins(1), move || {
        prony_generator::run_part(&job, &mut |_| {}, &commands).expect("a part")
    });
    let begun = part.workers[&1].begun;
    assert_eq!(begun.asked_ns, Some(at_ns));
    // Only the time ends the warm-up of 30 s.
    assert!(begun.at_ns < at_ns + 20_000 * MS, "{begun:?}");
    assert_eq!(part.length_ns(), 300 * MS);
}

#[test]
fn a_share_that_does_not_fit_is_refused() {
    let server = Server::answering(toy::HELLO);
    let whole = job(server.address, TransportChoice::Epoll);
    let share = |first_thread, of_threads| {
        let mut job = whole.clone();
        job.share = Some(Share {
            worker: "w".into(),
            first_thread,
            of_threads,
        });
        toy::fails(&job).to_string()
    };
    assert!(
        share(2, 2).contains("starting at thread 2 in a load of 2 threads"),
        "{}",
        share(2, 2)
    );
    assert!(
        share(0, 5).contains("5 threads for 4 connections"),
        "{}",
        share(0, 5)
    );
}

#[test]
fn a_time_to_begin_is_one_line_of_json() {
    let command = Command::MeasureAt { at_ns: 17 };
    let line = serde_json::to_string(&command).expect("plain data");
    assert_eq!(line, r#"{"measure_at":{"at_ns":17}}"#);
    assert_eq!(serde_json::from_str::<Command>(&line).expect("own text"), command);
}
