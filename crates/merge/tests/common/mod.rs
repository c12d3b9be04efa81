//! A job, and the parts that workers would produce from events.

#![allow(dead_code, reason = "each test binary uses its own part")]

use prony_load::events::{Chat, Events, Usage};
use prony_load::{
    Arrival, Body, Check, ConnectOptions, Expectation, Job, Limits, Load, Operation, Order, PhaseDurations,
    Profile, Protocol, Rate, Request, Share, Spacing, Step, Target, Template, TransportChoice, WarmUp,
    Workload,
};
use prony_merge::{
    AddressPart, LlmAnswer, LogPart, LowestThreadValue, MeasurementStart, Part, SampleEntry, Tally,
    TallyLayout, ThreadPart,
};
use prony_records::{CompactHistogram, Histogram, IntervalPart, Outcome};
use std::collections::BTreeMap;

pub(crate) const INTERVAL_NS: u64 = 100_000_000;

const CHAT: Chat = Chat {
    ttft_below_ns: Some(2_000_000),
    tpot_below_ns: Some(1_000_000),
    e2el_below_ns: Some(1_000_000_000),
};

fn operation(name: &str) -> Operation {
    Operation {
        name: name.into(),
        request: Request {
            method: "GET".into(),
            path: Template::literal("/"),
            headers: Vec::new(),
            body: Body::None,
        },
        expect: Expectation::default(),
    }
}

/// A job of 64 connections and two operations.
pub(crate) fn job(is_open: bool) -> Job {
    let mut workload = Workload::of(operation("read"));
    workload.operations.push(operation("write"));
    workload.operations[0].expect.events = Some(Events {
        chat: Some(CHAT),
        ..Events::default()
    });
    workload.order = Order::Sequence([0, 1].map(|operation| Step { operation, weight: 1 }).to_vec());
    let rate = Rate::per_second(1_000.0).expect("a rate");
    Job {
        target: Target {
            url: "http://a/".into(),
            host: "a".into(),
            port: 80,
            authority: "a".into(),
            tls: None,
            connect: ConnectOptions::default(),
            credentials: None,
        },
        protocol: Protocol::Http1,
        load: if is_open {
            Load::Open {
                arrival: Arrival {
                    profile: Profile::Constant { rate },
                    spacing: Spacing::Even,
                },
                connections: 64,
                in_flight: 1,
                backlog: 1_000,
                members: None,
            }
        } else {
            Load::closed(64, 1)
        },
        workload,
        phases: PhaseDurations {
            warm_up: WarmUp::FixedNs(0),
            measurement_ns: 1_000_000_000,
            drain_ns: 1_000_000_000,
        },
        limits: Limits::default(),
        timeout_ns: 1_000_000_000,
        check: Check { share: 1.0, keep: 3 },
        threads: 4,
        cpus: Vec::new(),
        transport: TransportChoice::Auto,
        interval_ns: INTERVAL_NS,
        seed: 1,
        log: None,
        share: None,
        count_replies: true,
    }
}

/// The jobs of workers with these numbers of threads.
pub(crate) fn shared(job: &Job, threads: &[u32]) -> Vec<Job> {
    let names: Vec<String> = (0..threads.len()).map(|number| format!("w{number}")).collect();
    let workers = names.iter().map(String::as_str).zip(threads.iter().copied());
    let shares = Share::split(workers);
    std::iter::zip(shares, threads)
        .map(|(share, &threads)| Job {
            share: Some(share),
            threads,
            ..job.clone()
        })
        .collect()
}

/// An event that one thread recorded.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) thread: u32,
    pub(crate) interval: u64,
    pub(crate) operation: u16,
    pub(crate) time_ns: u64,
    pub(crate) outcome: Outcome,
    pub(crate) split: bool,
}

/// The part of a worker that runs the threads of the job and recorded the events of these threads.
pub(crate) fn part(job: &Job, events: &[Event]) -> Part {
    let mut part = Part::new(job);
    let own = job.first_thread()..job.first_thread() + job.threads;
    let mut times: BTreeMap<u64, Histogram> = BTreeMap::new();
    for thread in own.clone() {
        let mut tally = Tally::new(TallyLayout::of(job));
        for event in events.iter().filter(|event| event.thread == thread) {
            count(&mut tally, event);
            let valid = u64::from(event.outcome == Outcome::Valid);
            let entry = part.intervals.entry(event.interval);
            let interval = entry.or_insert_with(|| IntervalPart {
                index: event.interval,
                begin_ns: event.interval * INTERVAL_NS,
                end_ns: (event.interval + 1) * INTERVAL_NS,
                ..IntervalPart::default()
            });
            interval.completed += 1;
            interval.valid += valid;
            *interval.messages.get_or_insert_default() += event.time_ns % 5;
            interval.errors += 1 - valid;
            times.entry(event.interval).or_default().record(event.time_ns);
            if valid == 0 {
                part.totals.sample.keep(wrong(event));
            }
        }
        part.tally.merge(&tally);
        notes(&mut part, thread);
    }
    for (index, times) in times {
        if let Some(interval) = part.intervals.get_mut(&index) {
            interval.times = CompactHistogram::of(&times);
        }
    }
    let first = LowestThreadValue {
        thread: own.start,
        text: format!("thread {} has no ports", own.start),
    };
    part.totals.own_shortage = Some(first.clone());
    part.addresses.insert(
        "[::1]:80".into(),
        AddressPart {
            rank: 2,
            connections: 0,
            left_out: Some(first),
        },
    );
    part.transports.insert("epoll".into());
    part.log = Some(LogPart {
        path: "log.csv".into(),
        lines: u64::from(job.threads),
        lost: 0,
    });
    part.close(
        job,
        MeasurementStart {
            asked_ns: None,
            at_ns: 5,
            noticed_ns: 6,
        },
    );
    part
}

fn wrong(event: &Event) -> SampleEntry {
    SampleEntry {
        key: event.time_ns % 50,
        operation: event.operation,
        what: "status".into(),
        expected: "200".into(),
        got: event.time_ns.to_string(),
    }
}

fn notes(part: &mut Part, thread: u32) {
    let more = u64::from(thread) * 1_000;
    part.totals.connect.record(20_000 + more);
    part.totals.reconnects += more;
    part.totals.retransmits += 1;
    part.totals.answered.add(thread % 2, Some(200), more + 1);
    part.totals.answered.add(0, None, 1);
    part.totals.stream_limit = part.totals.stream_limit.into_iter().chain([100 - thread]).min();
    let noted = ThreadPart {
        open_at_begin: 16,
        most_open: 16,
        cpu_ns: 400_000_000 + more,
        waiting_ns: more,
        looked_ns: 0,
        length_ns: 1_000_000_000,
        span_ns: 1_000_000_000,
        connected_ns: 15_000_000_000,
        paused_ns: 7,
    };
    part.threads.insert(thread, noted);
    for (rank, address) in ["127.0.0.1:80", "127.0.0.2:80"].into_iter().enumerate() {
        let one = part.addresses.entry(address.into()).or_default();
        one.rank = rank as u32;
        one.connections += 8;
    }
}

fn count(tally: &mut Tally, event: &Event) {
    let operation = &mut tally.operations[usize::from(event.operation)];
    operation.requests.offered += 1;
    operation.requests.sent += 1;
    operation.requests.completed += 1;
    operation.outcomes.add(event.outcome, 1);
    match event.outcome {
        Outcome::Valid => operation.response.record(event.time_ns, event.split),
        Outcome::Timeout => operation.open.get_or_insert_default().record(event.time_ns),
        _ => {}
    }
    if let Some(open) = &mut tally.open {
        open.service.record(event.time_ns / 2, event.split);
        open.lag.record(event.time_ns / 3);
        open.own_lag.record(event.time_ns / 1_000);
    }
    if event.split {
        let first = event.time_ns / 4;
        tally.first_byte_split.get_or_insert_default().record(first);
    }
    if let Some(sequence) = &mut tally.sequence {
        sequence.record(event.time_ns * 2);
    }
    tally.statuses[if event.outcome == Outcome::Status {
        500
    } else {
        200
    }] += 1;
    if let Some(messages) = &mut tally.messages {
        messages.count += event.time_ns % 5;
        messages.first.record(event.time_ns / 5);
        messages.last.record(event.time_ns);
        messages.gaps.record(event.time_ns / 7);
        messages.ids.counted += 3;
        messages.ids.skipped += event.time_ns % 3;
        messages.ids.late += event.time_ns % 2;
        messages.streams.completed += 1;
        messages.streams.cut += event.time_ns % 2;
        let llm = messages.llm.get_or_insert_default();
        llm.first_token(event.time_ns / 5);
        llm.errors += event.time_ns % 2;
        let answer = LlmAnswer {
            first_ns: event.time_ns / 5,
            lasted_ns: event.time_ns / 2,
            events: (event.time_ns % 5) as u32,
            usage: event.split.then_some(Usage {
                prompt_tokens: event.time_ns,
                completion_tokens: event.time_ns % 11,
            }),
            is_cut: event.time_ns % 2 == 1,
        };
        llm.end(&answer, &CHAT, (true, event.interval > 0));
    }
    tally.window.completed += 1;
    tally.window.sent += 1;
    tally.window.carried += event.time_ns % 2;
    tally.window.in_flight_ns += event.time_ns % 1_000_000;
    tally.window.unsent_ns += event.time_ns % 1_000;
    if event.outcome == Outcome::Valid {
        operation.requests.valid += 1;
        tally.window.valid += 1;
    } else {
        tally.window.errors += 1;
    }
    tally.arrivals += 1;
}
