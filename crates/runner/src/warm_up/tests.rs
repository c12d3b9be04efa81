use super::*;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

/// A normal deviate (Box and Muller).
fn normal(random: &mut SmallRng) -> f64 {
    let (one, two): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - one).ln()).sqrt() * (2.0 * std::f64::consts::PI * two).cos()
}

/// 100 ms intervals of a service with this throughput at each of `count` of them, with relative noise; its p99 is
/// inversely proportional.
fn series(count: usize, noise: f64, seed: u64, throughput: impl Fn(usize) -> f64) -> Vec<Interval> {
    let mut random = SmallRng::seed_from_u64(seed);
    (0..count)
        .map(|index| {
            let level = throughput(index);
            let completed = level / 10.0 * (1.0 + noise * normal(&mut random));
            let p99 = 1e11 / level * (2.0 * noise * normal(&mut random)).exp();
            Interval {
                start_s: index as f64 / 10.0,
                length_s: 0.1,
                completed: completed as u64,
                valid: completed as u64,
                errors: 0,
                messages: None,
                response_time_ns_p50: None,
                response_time_ns_p99: Some(p99 as u64),
            }
        })
        .collect()
}

/// At least nine of ten seeds are classified so.
fn mostly(wanted: Classification, count: usize, noise: f64, throughput: impl Fn(usize) -> f64 + Copy) {
    let others: Vec<Classification> = (0..50)
        .map(|seed| classify(&series(count, noise, seed, throughput), Pace::OfService))
        .filter(|&found| found != wanted)
        .collect();
    assert!(
        others.len() <= 5,
        "{count} intervals with noise {noise}: not {wanted:?} but {others:?}"
    );
}

#[test]
fn noise_alone_is_flat() {
    for noise in [0.005, 0.02, 0.08] {
        for count in [15, 40, 150] {
            mostly(Classification::Flat, count, noise, |_| 50_000.0);
        }
    }
}

#[test]
fn a_step_up_is_warmed_up() {
    let step = |index| if index < 20 { 20_000.0 } else { 50_000.0 };
    mostly(Classification::WarmedUp, 60, 0.03, step);
}

#[test]
fn a_compiler_that_gets_better_slowly_is_warmed_up() {
    let curve = |index: usize| 60_000.0 * (1.0 - 0.8 * (-(index as f64) / 10.0).exp());
    mostly(Classification::WarmedUp, 120, 0.03, curve);
    // While it still rises steeply, it is not steady.
    mostly(Classification::NoSteadyState, 14, 0.01, curve);
}

#[test]
fn a_fall_is_slowing_down() {
    let fall = |index| if index < 30 { 50_000.0 } else { 30_000.0 };
    mostly(Classification::SlowingDown, 80, 0.03, fall);
}

#[test]
fn a_ramp_without_end_has_no_steady_state() {
    let ramp = |index: usize| 10_000.0 + 500.0 * index as f64;
    mostly(Classification::NoSteadyState, 100, 0.01, ramp);
}

#[test]
fn a_change_at_the_very_end_has_no_steady_state() {
    let late = |index| if index < 56 { 50_000.0 } else { 30_000.0 };
    mostly(Classification::NoSteadyState, 60, 0.02, late);
}

#[test]
fn single_pauses_do_not_count() {
    let pauses = |index| if index % 17 == 9 { 15_000.0 } else { 50_000.0 };
    mostly(Classification::Flat, 85, 0.02, pauses);
}

#[test]
fn response_times_count_when_throughput_is_flat() {
    // An open loop: the throughput is the offered one, whatever the service does.
    let mut intervals = series(60, 0.001, 1, |_| 20_000.0);
    for interval in &mut intervals[..25] {
        interval.response_time_ns_p99 = interval.response_time_ns_p99.map(|ns| ns * 20);
    }
    for pace in [Pace::OfService, Pace::OfLoad] {
        assert_eq!(classify(&intervals, pace), Classification::WarmedUp);
    }
}

/// Users who arrive at random and send a hundred requests each: some tenths of a second are busy, others are empty.
#[test]
fn the_throughput_of_a_load_is_nothing_of_its_service() {
    let mut intervals = series(60, 0.01, 1, |_| 5_000.0);
    for (index, interval) in intervals.iter_mut().enumerate() {
        interval.response_time_ns_p50 = Some(if index < 15 { 9_000_000 } else { 300_000 });
        if index > 40 {
            (
                interval.completed,
                interval.response_time_ns_p50,
                interval.response_time_ns_p99,
            ) = (0, None, None);
        }
    }
    assert_eq!(classify(&intervals, Pace::OfService), Classification::SlowingDown);
    assert_eq!(slowed_down(&intervals, Pace::OfService), Some(1.0));
    assert_eq!(slowed_down(&intervals, Pace::OfLoad), None);
    // Each interval has replies enough for a p99, which is steady.
    assert_eq!(classify(&intervals, Pace::OfLoad), Classification::Flat);
    for interval in &mut intervals[..=40] {
        interval.completed = 30;
    }
    assert_eq!(
        classify(&intervals, Pace::OfLoad),
        Classification::WarmedUp,
        "its medians tell"
    );
    for interval in &mut intervals {
        interval.completed = 3;
    }
    assert_eq!(
        classify(&intervals, Pace::OfLoad),
        Classification::Flat,
        "nothing tells"
    );
    assert_eq!(classify(&[], Pace::OfLoad), Classification::NoSteadyState);
}

#[test]
fn noise_that_hides_everything_takes_longer() {
    mostly(Classification::NoSteadyState, 15, 0.4, |_| 50_000.0);
    mostly(Classification::Flat, 600, 0.4, |_| 50_000.0);
}

#[test]
fn an_interval_that_was_cut_short_changes_nothing() {
    let bounds = Bounds {
        least: Duration::from_secs(1),
        most: Duration::from_secs(9),
    };
    let mut detector = Detector::new(bounds, Pace::OfService);
    for interval in series(40, 0.01, 2, |_| 50_000.0) {
        if detector.is_over() {
            break;
        }
        detector.push(interval);
    }
    assert_eq!(detector.classify(), Classification::Flat);
    let mut cut = detector.clone();
    cut.push(Interval {
        start_s: 2.0,
        length_s: 0.01,
        completed: 3,
        ..detector.intervals[0]
    });
    assert_eq!(cut.finish().classification, Classification::Short);
    let mut alone = series(30, 0.01, 2, |_| 50_000.0);
    alone.push(Interval {
        start_s: 3.0,
        length_s: 0.01,
        completed: 3,
        ..alone[0]
    });
    assert_eq!(classify(&alone, Pace::OfService), Classification::Flat);
}

#[test]
fn few_replies_have_no_percentile() {
    let mut intervals = series(40, 0.02, 1, |_| 500.0);
    for (index, interval) in intervals.iter_mut().enumerate() {
        interval.response_time_ns_p99 = Some(1_000_000 * (1 + index as u64 % 7 * 50));
    }
    assert_eq!(classify(&intervals, Pace::OfService), Classification::Flat);
}

#[test]
fn a_long_warm_up_without_a_change_is_flat() {
    let second = Duration::from_secs(1);
    let bounds = Bounds {
        least: 4 * second,
        most: 9 * second,
    };
    let mut detector = Detector::new(bounds, Pace::OfService);
    for interval in series(45, 0.01, 3, |_| 50_000.0) {
        detector.push(interval);
    }
    assert!(detector.is_over());
    assert_eq!(detector.finish().classification, Classification::Flat);
}

#[test]
fn a_warm_up_ends_between_its_bounds() {
    let bounds = Bounds {
        least: Duration::from_secs(1),
        most: Duration::from_secs(8),
    };
    let run = |intervals: Vec<Interval>| {
        let mut detector = Detector::new(bounds, Pace::OfService);
        for interval in intervals {
            detector.push(interval);
            if detector.is_over() {
                break;
            }
        }
        detector.finish()
    };
    let flat = run(series(200, 0.01, 3, |_| 50_000.0));
    assert_eq!(
        flat.classification,
        Classification::Short,
        "a dozen intervals cannot tell flat from warmed up"
    );
    assert!(
        flat.warm_up_s >= 1.0 && flat.warm_up_s < 2.5,
        "{}",
        flat.warm_up_s
    );
    let step = run(series(
        200,
        0.01,
        3,
        |index| if index < 8 { 10_000.0 } else { 50_000.0 },
    ));
    assert_eq!(step.classification, Classification::WarmedUp);
    assert!(
        step.warm_up_s >= 1.8 && step.warm_up_s < 5.0,
        "{}",
        step.warm_up_s
    );
    assert!(step.worst_p99_ns > Some(9_000_000));
    let never = run(series(200, 0.01, 3, |index| 10_000.0 + 1_000.0 * index as f64));
    assert_eq!(never.classification, Classification::NoSteadyState);
    assert!((never.warm_up_s - 8.0).abs() < 0.11, "{}", never.warm_up_s);
}

#[test]
fn an_empty_warm_up_is_no_steady_state() {
    assert_eq!(classify(&[], Pace::OfService), Classification::NoSteadyState);
    assert_eq!(fixed(Vec::new()).worst_p99_ns, None);
}

#[test]
fn a_measurement_that_slows_down_is_noticed() {
    let fall = series(50, 0.01, 5, |index| if index < 30 { 50_000.0 } else { 40_000.0 });
    let slower = slowed_down(&fall, Pace::OfService).expect("slower");
    assert!((slower - 0.2).abs() < 0.02, "{slower}");
    assert_eq!(
        slowed_down(&series(50, 0.01, 5, |_| 50_000.0), Pace::OfService),
        None
    );
    let rise = series(50, 0.01, 5, |index| if index < 30 { 40_000.0 } else { 50_000.0 });
    assert_eq!(slowed_down(&rise, Pace::OfService), None);
    assert_eq!(slowed_down(&[], Pace::OfService), None);
}

#[test]
fn changes_are_found_where_they_are() {
    let mut random = SmallRng::seed_from_u64(9);
    let level = |index: usize| match index {
        0..40 => 0.0,
        40..70 => 10.0,
        _ => 5.0,
    };
    let values: Vec<f64> = (0..120).map(|index| level(index) + normal(&mut random)).collect();
    let begins = series::segments(&values, 1e-6);
    assert_eq!(begins.len(), 3, "{begins:?}");
    assert!(
        begins[1].abs_diff(40) <= 1 && begins[2].abs_diff(70) <= 1,
        "{begins:?}"
    );
}

#[test]
fn pruning_changes_nothing() {
    // The same recursion over every begin.
    let exhaustive = |values: &[f64]| {
        let mut best = vec![(f64::INFINITY, 0); values.len() + 1];
        let penalty = 15.0 * (values.len() as f64).ln();
        best[0].0 = -penalty;
        let cost = |part: &[f64]| {
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            let variance = part.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / part.len() as f64;
            part.len() as f64 * ((2.0 * std::f64::consts::PI * variance.max(1e-6)).ln() + 1.0)
        };
        for end in 3..=values.len() {
            for begin in 0..=end - 3 {
                let total = best[begin].0 + cost(&values[begin..end]) + penalty;
                if total < best[end].0 {
                    best[end] = (total, begin);
                }
            }
        }
        let (mut begins, mut end) = (Vec::new(), values.len());
        while end > 0 {
            end = best[end].1;
            begins.push(end);
        }
        begins.reverse();
        begins
    };
    for seed in 0..20 {
        let mut random = SmallRng::seed_from_u64(seed);
        let jump = 2.0 + seed as f64;
        let values: Vec<f64> = (0..60)
            .map(|index| if index / 15 % 2 == 0 { 0.0 } else { jump } + normal(&mut random))
            .collect();
        assert_eq!(
            series::segments(&values, 1e-6),
            exhaustive(&values),
            "seed {seed}"
        );
    }
}
