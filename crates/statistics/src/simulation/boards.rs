//! How often a board of services says something false, and how often it sees what is there.

use super::{Board, Noise, Source};
use crate::Adjustment;
use crate::ranking::all_differences;

const CONFIDENCE: f64 = 0.95;

/// What a share of boards did.
struct Found {
    /// Declared any difference.
    any: f64,
    /// Declared one between the first two services.
    first_two: f64,
    /// Had an interval that misses the truth.
    missed: f64,
    /// Used Tukey's method.
    tukey: f64,
}

fn simulate(board: &Board, noise: Noise, boards: usize, seed: u64) -> Found {
    let mut source = Source::new(seed);
    let mut found = Found {
        any: 0.0,
        first_two: 0.0,
        missed: 0.0,
        tukey: 0.0,
    };
    let share = 1.0 / boards as f64;
    for _ in 0..boards {
        let (adjustment, differences) = all_differences(&source.board(board, noise), CONFIDENCE);
        let declared = |p_adjusted: f64| p_adjusted <= 1.0 - CONFIDENCE;
        let truth = |left: usize, right: usize| board.means[left] - board.means[right];
        if differences
            .iter()
            .any(|difference| declared(difference.p_adjusted))
        {
            found.any += share;
        }
        if differences
            .first()
            .is_some_and(|difference| declared(difference.p_adjusted))
        {
            found.first_two += share;
        }
        if differences
            .iter()
            .any(|pair| !pair.interval.contains(truth(pair.left, pair.right)))
        {
            found.missed += share;
        }
        if adjustment == Adjustment::Tukey {
            found.tukey += share;
        }
    }
    found
}

/// Three standard errors of a share of `boards`.
fn slack(share: f64, boards: usize) -> f64 {
    3.0 * (share * (1.0 - share) / boards as f64).sqrt()
}

#[test]
fn equal_services_are_rarely_told_apart() {
    let boards = 2_000;
    for noise in super::NOISES {
        for rounds in [3, 5, 10] {
            let board = Board {
                round_deviation: 1.0,
                ..Board::equal(24, rounds)
            };
            let found = simulate(&board, noise, boards, 21);
            println!(
                "24 equal, {noise:?}, {rounds} rounds: {:.2} % false, {:.0} % Tukey",
                100.0 * found.any,
                100.0 * found.tukey
            );
            assert!(
                found.any < 0.05 + slack(0.05, boards),
                "{noise:?} {rounds}: {}",
                found.any
            );
        }
    }
}

#[test]
fn unequal_variances_raise_no_more_false_differences() {
    let boards = 1_000;
    let spread = |count: u32| -> Vec<f64> {
        (0..count)
            .map(|service| (f64::from(service) / f64::from(count - 1) * 1.4 - 0.7).exp())
            .collect()
    };
    let one = |count: usize, loud: f64| [vec![1.0; count - 1], vec![loud]].concat();
    for (name, deviations) in [
        ("8, one 2×", one(8, 2.0)),
        ("8, one 5×", one(8, 5.0)),
        ("8, spread 4×", spread(8)),
        ("24, one 5×", one(24, 5.0)),
        ("24, spread 4×", spread(24)),
    ] {
        for rounds in [3, 5, 10] {
            let board = Board {
                means: vec![0.0; deviations.len()],
                deviations: deviations.clone(),
                round_deviation: 1.0,
                ..Board::equal(1, rounds)
            };
            let found = simulate(&board, Noise::Normal, boards, 22);
            println!(
                "{name}, {rounds} rounds: {:.2} % false, {:.0} % Tukey",
                100.0 * found.any,
                100.0 * found.tukey
            );
            assert!(
                found.any < 0.05 + slack(0.05, boards),
                "{name} {rounds}: {}",
                found.any
            );
        }
    }
}

#[test]
fn intervals_of_ratios_hold_together() {
    let boards = 2_000;
    for rounds in [3, 5, 10] {
        let means = (0..8).map(f64::from).collect();
        let board = Board {
            means,
            round_deviation: 1.0,
            ..Board::equal(8, rounds)
        };
        let found = simulate(&board, Noise::Normal, boards, 23);
        assert!(
            found.missed < 0.05 + slack(0.05, boards),
            "{rounds}: {}",
            found.missed
        );
    }
}

/// Of eight services one is better by the difference; trials vary by 1 % or 2 %.
#[test]
fn power_grows_with_rounds() {
    let boards = 1_000;
    for deviation_percent in [1.0, 2.0] {
        for percent in [2.0, 5.0] {
            let mut last = 0.0;
            for rounds in [3, 5, 10, 20, 30] {
                let mut means = vec![0.0; 8];
                means[0] = percent / deviation_percent;
                let board = Board {
                    means,
                    round_deviation: 1.0,
                    ..Board::equal(8, rounds)
                };
                let power = simulate(&board, Noise::Normal, boards, 24).first_two;
                println!(
                    "difference {percent} %, trials vary by {deviation_percent} %, {rounds} rounds: seen in {:.0} %",
                    100.0 * power
                );
                assert!(power >= last - slack(0.5, boards), "{percent} {rounds}");
                last = power;
            }
            assert!(last > 0.6, "{percent} {deviation_percent}: {last}");
        }
    }
}
