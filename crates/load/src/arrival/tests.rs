use super::*;
use proptest::prelude::*;

fn rate(per_second: f64) -> Rate {
    Rate::per_second(per_second).expect("a rate")
}

fn level(per_second: f64) -> RateLevel {
    per_second.try_into().expect("a rate")
}

fn even(profile: Profile) -> Schedule {
    Schedule::new(
        &Arrival {
            profile,
            spacing: Spacing::Even,
        },
        1,
        Partition::new(0, 1, 1),
    )
}

#[test]
fn constant_rate_is_a_grid() {
    let times: Vec<u64> = even(Profile::Constant { rate: rate(1000.0) }).take(4).collect();
    assert_eq!(times, [0, 1_000_000, 2_000_000, 3_000_000]);
}

#[test]
fn threads_share_the_grid() {
    let arrival = Arrival {
        profile: Profile::Constant { rate: rate(1000.0) },
        spacing: Spacing::Even,
    };
    let mut all: Vec<u64> = (0..3)
        .flat_map(|thread| Schedule::new(&arrival, 1, Partition::new(thread, 3, 3)).take(100))
        .collect();
    all.sort_unstable();
    assert_eq!(all, (0..300).map(|k| k * 1_000_000).collect::<Vec<u64>>());
}

/// The same events are due at the same times for any number of threads.
#[test]
fn a_process_does_not_depend_on_the_threads() {
    for spacing in [Spacing::Even, Spacing::Poisson] {
        let arrival = Arrival {
            profile: Profile::Constant { rate: rate(1000.0) },
            spacing,
        };
        let within = |threads: u32| {
            let mut all: Vec<u64> = (0..threads)
                .flat_map(|thread| {
                    let partition = Partition::new(thread, threads, 5);
                    Schedule::new(&arrival, 1, partition).take_while(|&ns| ns < 1_000_000_000)
                })
                .collect();
            all.sort_unstable();
            all
        };
        assert_eq!(within(1), within(2));
        assert_eq!(within(1), within(5));
    }
}

#[test]
fn stages_have_their_own_rates_and_the_last_is_held() {
    let stage = |per_second: f64, seconds: u64| ArrivalStage {
        rate: level(per_second),
        for_ns: seconds * 1_000_000_000,
    };
    let profile = Profile::Stages {
        stages: vec![stage(10.0, 2), stage(100.0, 1), stage(1.0, 1)],
    };
    let times: Vec<u64> = even(profile.clone())
        .take_while(|&ns| ns < 13_000_000_000)
        .collect();
    let within = |low: u64, high: u64| {
        let inside = |ns: &&u64| (low * 1_000_000_000..high * 1_000_000_000).contains(*ns);
        times.iter().filter(inside).count()
    };
    assert_eq!((within(0, 2), within(2, 3), within(3, 13)), (20, 100, 10));
    assert!((profile.events_within(13.0) - 130.0).abs() < 1e-9);
}

#[test]
fn nothing_is_due_while_the_rate_is_zero() {
    let second = 1_000_000_000;
    let stages = |rates: &[f64]| Profile::Stages {
        stages: rates
            .iter()
            .map(|&rate| ArrivalStage {
                rate: level(rate),
                for_ns: second,
            })
            .collect(),
    };
    let times = |profile| -> Vec<u64> {
        even(profile)
            .take_while(|&ns| ns < 100 * second)
            .take(10)
            .collect()
    };
    assert_eq!(
        times(stages(&[0.0, 2.0, 0.0, 1.0, 0.0])),
        [second, second * 3 / 2, 3 * second]
    );
    assert!(times(stages(&[0.0, 0.0])).is_empty());
    let ramp = |from, to| Profile::Ramp {
        from: level(from),
        to: level(to),
        over_ns: 2 * second,
    };
    // The integral of 2·t is t²: event k is due at √k.
    let up = times(ramp(0.0, 4.0));
    assert_eq!((up[0], up[1], up[4], up.len()), (0, second, 2 * second, 10));
    let down = times(ramp(4.0, 0.0));
    assert_eq!((down[0], down[3], down.len()), (0, second, 4));
    assert!(ramp(0.0, 0.0).is_empty() && !ramp(0.0, 1.0).is_empty());
    assert!(stages(&[0.0]).is_empty() && !stages(&[0.0, 1.0]).is_empty());
    let steps = times(Profile::StepLoad {
        from: level(0.0),
        step: rate(2.0),
        every_ns: second,
    });
    assert_eq!(steps[..3], [second, second * 3 / 2, 2 * second]);
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(RateLevel::try_from(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_ramp_holds_its_last_rate() {
    // 10/s to 100/s over 30 s holds 55 × 30 = 1,650 events, then 100/s for 60 s: 6,000.
    let within = even(Profile::Ramp {
        from: level(10.0),
        to: level(100.0),
        over_ns: 30_000_000_000,
    })
    .take_while(|&ns| ns < 90_000_000_000)
    .count();
    assert_eq!(within, 7_650);
}

#[test]
fn a_staircase_rises_each_step() {
    let times: Vec<u64> = even(Profile::StepLoad {
        from: level(10.0),
        step: rate(10.0),
        every_ns: 1_000_000_000,
    })
    .take(60)
    .collect();
    for (stair, expected) in [10, 20, 30].into_iter().enumerate() {
        let (low, high) = (stair as u64 * 1_000_000_000, (stair as u64 + 1) * 1_000_000_000);
        assert_eq!(
            times.iter().filter(|&&ns| ns >= low && ns < high).count(),
            expected,
            "stair {stair}"
        );
    }
}

#[test]
fn poisson_counts_have_their_mean_and_variance() {
    let arrival = Arrival {
        profile: Profile::Constant { rate: rate(1000.0) },
        spacing: Spacing::Poisson,
    };
    let counts: Vec<f64> = (0..400)
        .map(|seed| {
            (0..2)
                .map(|thread| {
                    Schedule::new(&arrival, seed, Partition::new(thread, 2, 2))
                        .take_while(|&ns| ns < 1_000_000_000)
                        .count()
                })
                .sum::<usize>() as f64
        })
        .collect();
    let mean = counts.iter().sum::<f64>() / 400.0;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 399.0;
    // Standard errors: √(1000/400) = 1.6 of the mean, 1000·√(2/399) = 71 of the variance; five of each.
    assert!((mean - 1000.0).abs() < 8.0, "mean {mean}");
    assert!((variance - 1000.0).abs() < 355.0, "variance {variance}");
}

proptest! {
    #[test]
    fn times_never_fall_and_match_the_intensity(
        kind in 0..4u8, first in 1.0..5000.0f64, second in 1.0..5000.0f64, seconds in 0.1..20.0f64, poisson: bool
    ) {
        let ns = (seconds * NS) as u64;
        let profile = match kind {
            0 => Profile::Constant { rate: rate(first) },
            1 => Profile::Ramp { from: level(first), to: level(second), over_ns: ns },
            2 => Profile::StepLoad { from: level(first), step: rate(second), every_ns: ns },
            _ => Profile::Stages {
                stages: [first, second].map(|one| ArrivalStage { rate: rate(one).into(), for_ns: ns }).to_vec(),
            },
        };
        let spacing = if poisson { Spacing::Poisson } else { Spacing::Even };
        let times: Vec<u64> = Schedule::new(&Arrival { profile: profile.clone(), spacing }, 7, Partition::new(0, 1, 1)).take(2000).collect();
        prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        if !poisson {
            for (k, &time) in times.iter().enumerate() {
                // Rounding to whole ns may move Λ by the rate times 1 ns.
                prop_assert!((profile.events_within(time as f64 / NS) - k as f64).abs() < 1e-3);
            }
        }
    }
}
