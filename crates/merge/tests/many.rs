//! The end of a long load of 64 workers, or of `PRONY_WORKERS`: decoding and merging their parts must stay within a memory limit
//! and lose nothing. Runs in its own process, since it counts allocations.

mod common;

use common::{INTERVAL_NS, job, shared};
use prony_load::Load;
use prony_merge::{LiveMerge, MeasurementStart, Merger, Part, ThreadPart, assemble};
use prony_records::{CompactHistogram, Event, Histogram, IntervalPart, Phase};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Default number of workers.
const WORKERS: usize = 64;
/// 600 s of 100 ms; only a few without optimisation.
const INTERVALS: u64 = if cfg!(debug_assertions) { 60 } else { 6_000 };
const MOST_BYTES: usize = 1 << 30;

struct CountingAllocator;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are forwarded unchanged to the system allocator; only sizes are counted.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of the trait.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of the trait.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

/// Response times of 5,000 replies around `middle`, with a tail.
fn times(middle: f64, seed: u64) -> CompactHistogram {
    let mut histogram = Histogram::new();
    let mut state = seed;
    for _ in 0..5_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((state >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        histogram.record((middle * (0.5 + -uniform.ln() / 2.0)) as u64);
    }
    CompactHistogram::of(&histogram)
}

/// One interval of a worker.
fn interval(index: u64, times: &CompactHistogram) -> IntervalPart {
    IntervalPart {
        index,
        begin_ns: index * INTERVAL_NS,
        end_ns: (index + 1) * INTERVAL_NS,
        completed: 5_000,
        valid: 5_000,
        errors: 0,
        failures: Box::default(),
        messages: None,
        times: times.clone(),
    }
}

/// The time to decode and merge one second of the intervals that workers send during a load.
fn live(workers: usize, times: &CompactHistogram) -> Duration {
    const SECOND: u64 = 1_000_000_000 / INTERVAL_NS;
    let reported: Vec<String> = (0..SECOND)
        .map(|index| {
            let event = Event::IntervalPart {
                phase: Phase::Measurement,
                part: interval(index, times),
            };
            serde_json::to_string(&event).expect("plain data")
        })
        .collect();
    let mut live = LiveMerge::new(workers);
    let mut merged = Vec::new();
    let begin = Instant::now();
    for text in &reported {
        for _ in 0..workers {
            let Event::IntervalPart { phase, part } = serde_json::from_str(text).expect("own text") else {
                panic!("{text}")
            };
            merged.extend(live.take(phase, part));
        }
    }
    let took = begin.elapsed();
    assert_eq!(merged.len() as u64, SECOND);
    took
}

#[test]
fn parts_of_many_workers_are_merged_in_bounds() {
    let workers =
        std::env::var("PRONY_WORKERS").map_or(WORKERS, |written| written.parse().expect("a number"));
    let mut job = job(false);
    // One connection per worker.
    job.load = Load::closed(u32::try_from(workers).expect("few"), 1);
    let jobs = shared(&job, &vec![1; workers]);
    let kinds: Vec<CompactHistogram> = (0..97).map(|kind| times(1e6 + kind as f64 * 1e4, kind)).collect();
    let kind = |worker: usize, index: u64| (worker * 31 + index as usize * 7) % kinds.len();
    println!(
        "{workers} workers: one second of intervals decoded and merged in {:.0} ms",
        live(workers, &kinds[0]).as_secs_f64() * 1e3
    );
    let (mut merging, mut reading, mut read) = (Duration::ZERO, Duration::ZERO, 0);
    let mut merger = Merger::new(&job);
    for (worker, own) in jobs.iter().enumerate() {
        let mut part = Part::new(own);
        part.intervals = (0..INTERVALS)
            .map(|index| (index, interval(index, &kinds[kind(worker, index)])))
            .collect();
        let noted = ThreadPart {
            length_ns: INTERVALS * INTERVAL_NS,
            ..ThreadPart::default()
        };
        part.threads.insert(own.first_thread(), noted);
        part.tally.window.completed = 5_000 * INTERVALS;
        part.close(own, MeasurementStart::default());
        let text = part.encode();
        drop(part);
        read += text.len();
        let begin = Instant::now();
        let part = Part::decode(&text).expect("own text");
        reading += begin.elapsed();
        drop(text);
        merger.add(part).expect("parts of one job");
        merging += begin.elapsed();
    }
    let begin = Instant::now();
    let sum = merger.finish();
    let recording = assemble(&job, &sum, None);
    merging += begin.elapsed();
    let peak = PEAK.load(Ordering::Relaxed);
    println!(
        "{workers} workers × {INTERVALS} intervals ({} MiB as text) decoded in {:.2} s and merged in {:.2} s; peak memory {} MiB",
        read >> 20,
        reading.as_secs_f64(),
        merging.as_secs_f64(),
        peak >> 20
    );
    assert!(peak < MOST_BYTES, "{peak} bytes");
    assert_eq!(recording.intervals.len() as u64, INTERVALS);
    assert_eq!(recording.workers.len(), workers);
    for index in [0, 1, INTERVALS / 2, INTERVALS - 1] {
        let mut all = Histogram::new();
        (0..workers).for_each(|worker| kinds[kind(worker, index)].add_to(&mut all));
        assert_eq!(sum.intervals[&index].times, CompactHistogram::of(&all));
        let interval = &recording.intervals[index as usize];
        assert_eq!(interval.completed, 5_000 * workers as u64);
        assert_eq!(interval.response_time_ns_p99, all.quantile(0.99));
    }
}
