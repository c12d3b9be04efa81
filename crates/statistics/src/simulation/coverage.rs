//! How often intervals hold the truth.

use super::{Board, NOISES, Noise, Source, Tally};
use crate::Estimate;
use crate::design::{Table, pooled_means, values};
use crate::interval::{bootstrap, mean, median};

const LEVELS: [f64; 3] = [0.95, 0.99, 0.999];
const ROUNDS: [u32; 4] = [3, 5, 10, 30];
const BOARDS: usize = 2_000;
/// Most by which coverage may fall short where trials are not normal.
const SHORT: f64 = 0.015;
/// Standard errors of the simulation that count as its own error.
const ERRORS: f64 = 3.5;

/// The intervals that a report shows, on the log scale.
pub(super) fn shown(board: &Table, confidence: f64) -> Vec<Estimate> {
    let pooled = pooled_means(board, confidence);
    let alone = |row| mean::skewed_interval(&values(row), confidence).expect("two values or more");
    let rows = board.iter().zip(pooled);
    rows.map(|(row, pooled)| pooled.map_or_else(|| alone(row), |(estimate, _)| estimate))
        .collect()
}

/// Coverage at each level, over all services of a board, and of each service.
fn coverage(board: &Board, noise: Noise, boards: usize, seed: u64) -> Vec<(Tally, Vec<f64>)> {
    let services = board.means.len();
    let mut found = vec![(Tally::default(), vec![0.0; services]); LEVELS.len()];
    let mut source = Source::new(seed);
    for _ in 0..boards {
        let table = source.board(board, noise);
        for (level, (tally, each)) in LEVELS.into_iter().zip(&mut found) {
            let truths = shown(&table, level).into_iter().zip(&board.means);
            let held: Vec<bool> = truths
                .map(|(interval, &truth)| interval.contains(truth))
                .collect();
            tally.add(held.iter().filter(|held| **held).count(), services);
            for (sum, held) in each.iter_mut().zip(held) {
                *sum += f64::from(u8::from(held)) / boards as f64;
            }
        }
    }
    found
}

fn tell(name: &str, rounds: u32, found: &[(Tally, Vec<f64>)]) {
    for (level, (tally, each)) in LEVELS.into_iter().zip(found) {
        let worst = each.iter().copied().fold(1.0, f64::min);
        println!(
            "{name:<24} {rounds:>3} rounds {:>5.1} %: {:6.2} ± {:.2} %, worst service {:6.2} %",
            100.0 * level,
            100.0 * tally.share(),
            100.0 * tally.error(),
            100.0 * worst
        );
    }
}

/// Not more than [`SHORT`] below each level, over all services.
fn holds(found: &[(Tally, Vec<f64>)]) {
    for (level, (tally, _)) in LEVELS.into_iter().zip(found) {
        assert!(
            tally.share() > level - SHORT - ERRORS * tally.error(),
            "{level}: {}",
            tally.share()
        );
    }
}

#[test]
fn intervals_hold_the_truth() {
    for noise in NOISES {
        for rounds in ROUNDS {
            let found = coverage(&Board::equal(8, rounds), noise, BOARDS, 11);
            tell(&format!("{noise:?}"), rounds, &found);
            for (level, (tally, _)) in LEVELS.into_iter().zip(&found) {
                if noise == Noise::Normal {
                    assert!(
                        (tally.share() - level).abs() < ERRORS * tally.error() + 0.002,
                        "{rounds} {level}"
                    );
                } else {
                    assert!(
                        tally.share() > level - SHORT - ERRORS * tally.error(),
                        "{noise:?} {rounds} {level}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_single_service_keeps_its_level() {
    for noise in NOISES {
        for rounds in ROUNDS {
            let found = coverage(&Board::equal(1, rounds), noise, 8 * BOARDS, 12);
            tell(&format!("{noise:?}, alone"), rounds, &found);
            for (level, (tally, _)) in LEVELS.into_iter().zip(&found) {
                let short = if noise == Noise::Normal { 0.0 } else { SHORT };
                assert!(
                    tally.share() > level - short - ERRORS * tally.error(),
                    "{noise:?} {rounds} {level}"
                );
            }
        }
    }
}

#[test]
fn a_drifting_machine_does_not_fool_them() {
    for rounds in ROUNDS {
        for deviation in [0.5, 1.0, 3.0] {
            let board = Board {
                round_deviation: deviation,
                ..Board::equal(8, rounds)
            };
            let found = coverage(&board, Noise::Normal, BOARDS, 13);
            tell(&format!("rounds vary by {deviation}"), rounds, &found);
            holds(&found);
        }
        let board = Board {
            slope: 1.0,
            ..Board::equal(8, rounds)
        };
        let found = coverage(&board, Noise::Normal, BOARDS, 14);
        tell("steady drift", rounds, &found);
        holds(&found);
    }
}

#[test]
fn unequal_variances_are_found_or_bounded() {
    let wide: Vec<f64> = (0..24)
        .map(|service| (f64::from(service) / 23.0 * 1.4 - 0.7).exp())
        .collect();
    let one = |loud: f64| [vec![1.0; 7], vec![loud]].concat();
    for rounds in ROUNDS {
        for (name, deviations) in [
            ("one 2×", one(2.0)),
            ("one 3×", one(3.0)),
            ("one 5×", one(5.0)),
            ("two of four 2×", vec![1.0, 1.0, 2.0, 2.0]),
            ("24 spread 4×", wide.clone()),
        ] {
            let board = Board {
                means: vec![0.0; deviations.len()],
                deviations,
                ..Board::equal(1, rounds)
            };
            let found = coverage(&board, Noise::Normal, BOARDS, 15);
            tell(name, rounds, &found);
            holds(&found);
        }
    }
}

/// Coverage of a companion for one service's own trials.
fn companion(
    noise: Noise,
    count: usize,
    samples: usize,
    interval: impl Fn(&[f64], u64) -> Option<Estimate>,
) -> Option<Tally> {
    let mut source = Source::new(16);
    let mut tally = Tally::default();
    for sample in 0..samples {
        let drawn: Vec<f64> = (0..count).map(|_| source.draw(noise)).collect();
        let found = interval(&drawn, sample as u64)?;
        tally.add(usize::from(found.contains(0.0)), 1);
    }
    Some(tally)
}

#[test]
fn the_bootstrap_is_given_only_where_it_holds() {
    for noise in NOISES {
        for (level, samples) in [(0.95, 2_000), (0.99, 1_000), (0.999, 300)] {
            for count in [3, 5, 10, 15, 30] {
                let Some(tally) = companion(noise, count, samples, |drawn, seed| {
                    bootstrap::mean_interval(drawn, level, seed)
                }) else {
                    continue;
                };
                println!(
                    "bootstrap {noise:?} {count} values {level}: {:.4} ± {:.4}",
                    tally.share(),
                    tally.error()
                );
            }
        }
    }
}

#[test]
fn the_median_between_order_statistics_never_falls_short() {
    for noise in [Noise::Normal, Noise::HeavyTailed] {
        for level in LEVELS {
            for count in [3, 5, 6, 8, 11, 15, 30] {
                let Some(tally) = companion(noise, count, 20_000, |drawn, _| {
                    median::median_interval(drawn, level)
                }) else {
                    continue;
                };
                assert!(
                    tally.share() > level - ERRORS * tally.error(),
                    "{noise:?} {count} {level}: {}",
                    tally.share()
                );
            }
        }
    }
}
