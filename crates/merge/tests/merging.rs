//! Merging is exact: any order and grouping give the recording that a single worker would have made, bit for bit.

use crate::common::{self, Event, job, part, shared};
use prony_load::Job;
use prony_merge::{Merger, Part, PartError, assemble};
use prony_records::{CommonStart, Outcome, Recording, WarningKind};
use proptest::prelude::*;

fn events(threads: u32) -> impl Strategy<Value = Vec<Event>> {
    let outcome =
        prop_oneof![8 => Just(Outcome::Valid), 1 => Just(Outcome::Status), 1 => Just(Outcome::Unexpected)];
    let time = prop_oneof![0..2_000_u64, 100_000..50_000_000_u64, Just(u64::MAX / 8)];
    let one = (0..threads, 0..5_u64, 0..2_u16, time, outcome, any::<bool>());
    let one = one.prop_map(|(thread, interval, operation, time_ns, outcome, split)| Event {
        thread,
        interval,
        operation,
        time_ns,
        outcome,
        split,
    });
    proptest::collection::vec(one, 0..80)
}

fn parts(job: &Job, threads: &[u32], events: &[Event]) -> Vec<Part> {
    let jobs = shared(job, threads);
    jobs.iter().map(|job| part(job, events)).collect()
}

fn merged(job: &Job, parts: &[Part]) -> Part {
    let mut sum = Part::new(job);
    for part in parts {
        sum.merge(part).expect("parts of one job");
    }
    sum
}

/// Merges two parts at a time, chosen by `picks`, until one is left.
fn grouped(mut parts: Vec<Part>, picks: &[usize]) -> Part {
    let mut picks = picks.iter().copied().cycle();
    while parts.len() > 1 {
        let mut pick = |count: usize| picks.next().unwrap_or(0) % count;
        let mut one = parts.swap_remove(pick(parts.len()));
        let other = parts.swap_remove(pick(parts.len()));
        one.merge(&other).expect("parts of one job");
        parts.push(one);
    }
    parts.pop().expect("a part")
}

/// The common content of the recordings of one and of several workers: everything except results by worker.
fn bytes(recording: &Recording) -> String {
    let mut recording = recording.clone();
    recording.workers.clear();
    recording
        .warnings
        .retain(|warning| warning.kind != WarningKind::WorkersDisagree);
    serde_json::to_string(&recording).expect("plain data")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_and_grouping_gives_the_same_bytes(
        events in events(6),
        is_open: bool,
        picks in proptest::collection::vec(0..100_usize, 1..12),
    ) {
        let job = job(is_open);
        let parts = parts(&job, &[1, 2, 1, 2], &events);
        let whole = merged(&job, &parts).encode();
        prop_assert_eq!(&grouped(parts.clone(), &picks).encode(), &whole);
        let mut merger = Merger::new(&job);
        for part in parts.into_iter().rev() {
            merger.add(Part::decode(&part.encode()).expect("own text")).expect("parts of one job");
        }
        prop_assert_eq!(&merger.finish().encode(), &whole);
    }

    #[test]
    fn workers_give_the_recording_that_one_with_all_threads_gives(events in events(4), is_open: bool) {
        let job = job(is_open);
        let one = assemble(&job, &part(&job, &events), None);
        for threads in [&[4][..], &[2, 2], &[3, 1], &[1, 1, 1, 1]] {
            let several = assemble(&job, &merged(&job, &parts(&job, threads, &events)), None);
            prop_assert_eq!(bytes(&several), bytes(&one), "{:?}", threads);
            prop_assert_eq!(several.workers.len(), if threads.len() > 1 { threads.len() } else { 0 });
            let rates: f64 = several.workers.iter().map(|row| row.throughput_per_s).sum();
            prop_assert!(several.workers.is_empty() || (rates - several.throughput_per_s).abs() < 1e-6);
        }
    }

    /// Input from another machine is either decoded or rejected.
    #[test]
    fn a_text_that_is_cut_or_changed_is_no_part(events in events(2), place: usize, byte: u8) {
        let job = job(true);
        let text = part(&shared(&job, &[2, 2])[0], &events).encode();
        let cut = &text[..(place % text.len()) / 4 * 4];
        prop_assert!(Part::decode(cut).is_err());
        let mut changed = text.into_bytes();
        let place = place % changed.len();
        changed[place] = byte;
        if let Ok(read) = String::from_utf8(changed).map_err(|_| ()).and_then(|text| Part::decode(&text).map_err(|_| ())) {
            let _ = merged(&job, &[]).merge(&read);
        }
    }
}

#[test]
fn a_part_of_another_job_and_one_that_was_merged_are_refused() {
    let job = job(false);
    let parts = parts(&job, &[1, 1], &[]);
    let mut sum = merged(&job, &parts[..1]);
    let before = sum.encode();
    assert_eq!(sum.merge(&parts[0]), Err(PartError::Twice { thread: 0 }));
    let other = part(&common::job(true), &[]);
    assert_eq!(sum.merge(&other), Err(PartError::OtherJob));
    assert_eq!(sum.encode(), before);
    assert!(matches!(Part::decode("AAAA"), Err(PartError::Version(0))));
}

/// Four workers of 16 connections each. `scale` multiplies the times of the last one, and `counts` are the numbers of replies.
fn four(counts: [u64; 4], scale: f64) -> Recording {
    let job = job(false);
    let mut all = Vec::new();
    for (thread, count) in (0_u32..).zip(counts) {
        all.extend((0..count).map(|number| {
            let time = 1_000_000 + number * 7_919 % 400_000;
            Event {
                thread,
                interval: number % 5,
                operation: (number % 2) as u16,
                time_ns: if thread == 3 {
                    (time as f64 * scale) as u64
                } else {
                    time
                },
                outcome: Outcome::Valid,
                split: false,
            }
        }));
    }
    let merged = merged(&job, &parts(&job, &[1, 1, 1, 1], &all));
    assemble(&job, &merged, None)
}

fn disagreements(recording: &Recording) -> Vec<&str> {
    let warnings = recording.warnings.iter();
    warnings
        .filter(|warning| warning.kind == WarningKind::WorkersDisagree)
        .map(|warning| warning.text.as_str())
        .collect()
}

#[test]
fn workers_that_agree_are_left_in_peace_and_the_odd_one_is_named() {
    assert_eq!(
        disagreements(&four([5_000, 5_050, 4_950, 5_000], 1.02)),
        Vec::<&str>::new()
    );
    let slow = four([5_000, 5_050, 4_950, 3_500], 1.0);
    let reported = disagreements(&slow);
    assert!(
        reported.len() == 1 && reported[0].contains("w3 (-30 %)") && !reported[0].contains("w0"),
        "{reported:?}"
    );
    let far = four([5_000, 5_050, 4_950, 5_000], 1.6);
    let reported = disagreements(&far);
    assert!(
        reported.len() == 1 && reported[0].contains("median") && reported[0].contains("w3 (+60 %)"),
        "{reported:?}"
    );
    // With few replies, chance causes the same differences.
    assert_eq!(disagreements(&four([30, 40, 35, 28], 1.0)), Vec::<&str>::new());
}

#[test]
fn each_worker_has_its_row() {
    let recording = four([5_000, 5_050, 4_950, 3_500], 1.0);
    let rows: Vec<(&str, u32, u32, f64)> = recording
        .workers
        .iter()
        .map(|row| {
            (
                row.name.as_str(),
                row.threads,
                row.connections,
                row.throughput_per_s,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("w0", 1, 16, 5_000.0),
            ("w1", 1, 16, 5_050.0),
            ("w2", 1, 16, 4_950.0),
            ("w3", 1, 16, 3_500.0)
        ]
    );
    let row = &recording.workers[1];
    assert!(
        (row.cpu_s - 0.400_001).abs() < 1e-9 && (row.busiest_thread - 0.400_001).abs() < 1e-9,
        "{row:?}"
    );
    assert!(
        row.response_time_ns_p50
            .is_some_and(|p50| (1_150_000..1_250_000).contains(&p50)),
        "{row:?}"
    );
}

#[test]
fn a_start_that_may_be_far_apart_is_reported() {
    let job = job(false);
    let part = merged(&job, &parts(&job, &[2, 2], &[]));
    let reported = |bound_ns| {
        let start = CommonStart {
            spread_ns: 100_000,
            bound_ns,
        };
        let recording = assemble(&job, &part, Some(start));
        assert_eq!(recording.start, Some(start));
        recording
            .warnings
            .iter()
            .any(|warning| warning.kind == WarningKind::StartSpread)
    };
    // 1 % of a measurement of one second is 10 ms, so the limit of 5 ms applies.
    assert!(!reported(4_900_000));
    assert!(reported(5_100_000));
}

#[test]
fn an_omitted_address_is_reported_unless_its_whole_family_is_omitted() {
    let job = job(false);
    let mut part = part(&job, &[]);
    let reported = |part: &Part| {
        let recording = assemble(&job, part, None);
        let warnings = recording.warnings.into_iter();
        let of_addresses = warnings.filter(|warning| warning.text.contains("addresses of the target"));
        of_addresses.map(|warning| warning.text).collect::<Vec<_>>()
    };
    // The only IPv6 address was left out, which is normal.
    assert_eq!(reported(&part), Vec::<String>::new());
    let one = part.addresses.remove("[::1]:80").expect("an address");
    part.addresses.insert("127.0.0.3:80".into(), one);
    let reported = reported(&part);
    assert!(
        reported.len() == 1
            && reported[0].contains("1 of 3 addresses")
            && reported[0].contains("127.0.0.3:80"),
        "{reported:?}"
    );
}
