//! How often a ranking claims a false difference, and how often it finds a true one.

use super::{Noise, SimulatedGroup, Source, one_loud, slack, spread};
use crate::ranking::all_differences;

const CONFIDENCE: f64 = 0.95;

/// Shares of the rankings.
struct CoverageShare {
    /// Those that declared any difference.
    any: f64,
    /// Those that declared a difference between the first two services.
    first_two: f64,
    /// Those with an interval that misses the truth.
    missed: f64,
}

fn simulate(board: &SimulatedGroup, noise: Noise, boards: usize, seed: u64) -> CoverageShare {
    let mut source = Source::new(seed);
    let mut found = CoverageShare {
        any: 0.0,
        first_two: 0.0,
        missed: 0.0,
    };
    let share = 1.0 / boards as f64;
    for _ in 0..boards {
        let (_, differences) = all_differences(&source.board(board, noise), CONFIDENCE);
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
    }
    found
}

/// Rankings of services that are all equally fast, with every kind of noise.
fn equals() -> Vec<(&'static str, Vec<f64>, Noise)> {
    let equal = vec![1.0; 24];
    vec![
        ("24, normal", equal.clone(), Noise::Normal),
        ("24, skewed", equal.clone(), Noise::Skewed),
        ("24, heavy-tailed", equal, Noise::HeavyTailed),
        ("24, one 5×", one_loud(24, 5.0), Noise::Normal),
        (
            "24, half 3×",
            [vec![1.0; 12], vec![3.0; 12]].concat(),
            Noise::Normal,
        ),
        ("24, spread 4×", spread(24), Noise::Normal),
        ("8, one 2×", one_loud(8, 2.0), Noise::Normal),
        ("8, one 5×", one_loud(8, 5.0), Noise::Normal),
        ("8, spread 4×", spread(8), Noise::Normal),
        ("4, one 5×", one_loud(4, 5.0), Noise::Normal),
        ("24, two modes", vec![1.0; 24], Noise::TwoModes),
        ("8, spread 4×, two modes", spread(8), Noise::TwoModes),
        ("4, one 5×, two modes", one_loud(4, 5.0), Noise::TwoModes),
    ]
}

fn false_boards(deviations: &[f64], noise: Noise, rounds: u32, boards: usize) -> f64 {
    let board = SimulatedGroup {
        means: vec![0.0; deviations.len()],
        deviations: deviations.to_vec(),
        round_deviation: 1.0,
        ..SimulatedGroup::equal(1, rounds)
    };
    simulate(&board, noise, boards, 22).any
}

/// A difference is declared in at most 5 % of the rankings of equal services at five rounds or more. At three rounds, noise that
/// differs between services may add to that; `docs/METHOD.md` says by how much.
#[test]
fn equal_services_are_rarely_declared_different() {
    let boards = 1_000;
    for (name, deviations, noise) in equals() {
        for rounds in [3, 5, 10] {
            let wrong = false_boards(&deviations, noise, rounds, boards);
            println!("{name}, {rounds} rounds: {:.1} % false", 100.0 * wrong);
            let most = if rounds == 3 { 0.06 } else { 0.05 };
            assert!(wrong < most + slack(most, boards), "{name} {rounds}: {wrong}");
        }
    }
}

/// Starts with two modes that are far apart break the level at three and five rounds; `docs/METHOD.md` says by how much.
#[test]
fn far_modes_make_more_false_boards() {
    for (name, deviations) in [
        ("24", vec![1.0; 24]),
        ("8, spread 4×", spread(8)),
        ("4", vec![1.0; 4]),
    ] {
        for rounds in [3, 5, 10] {
            let wrong = false_boards(&deviations, Noise::FarModes, rounds, 1_000);
            println!("{name}, far modes, {rounds} rounds: {:.1} % false", 100.0 * wrong);
            assert!(wrong < 0.2, "{name} {rounds}: {wrong}");
        }
    }
}

/// No pair is declared different by an interval that contains "no difference", and none is left open by one that does not.
#[test]
fn decisions_and_intervals_agree() {
    let mut source = Source::new(25);
    let (mut differ, mut open) = (0, 0);
    for rounds in [2, 3, 5, 10] {
        let board = SimulatedGroup {
            means: (0..12).map(|service| 0.7 * f64::from(service)).collect(),
            deviations: spread(12),
            round_deviation: 1.0,
            ..SimulatedGroup::equal(1, rounds)
        };
        for _ in 0..50 {
            for pair in all_differences(&source.board(&board, Noise::Normal), CONFIDENCE).1 {
                let is_declared = pair.p_adjusted <= 1.0 - CONFIDENCE;
                assert_eq!(
                    is_declared,
                    !pair.interval.contains(0.0),
                    "{} {:?}",
                    pair.p_adjusted,
                    pair.interval
                );
                *(if is_declared { &mut differ } else { &mut open }) += 1;
            }
        }
    }
    assert!(differ > 1_000 && open > 1_000, "{differ} {open}");
}

#[test]
fn intervals_of_ratios_hold_together() {
    let boards = 1_000;
    for rounds in [3, 5, 10] {
        let means = (0..8).map(f64::from).collect();
        let board = SimulatedGroup {
            means,
            round_deviation: 1.0,
            ..SimulatedGroup::equal(8, rounds)
        };
        let found = simulate(&board, Noise::Normal, boards, 23);
        assert!(
            found.missed < 0.05 + slack(0.05, boards),
            "{rounds}: {}",
            found.missed
        );
    }
}

/// One of eight services is better by the difference; trials vary by 1 % or 2 %.
#[test]
fn power_grows_with_rounds() {
    let boards = 500;
    for deviation_percent in [1.0, 2.0] {
        for percent in [2.0, 5.0] {
            let mut last = 0.0;
            for rounds in [3, 5, 10, 20, 30] {
                let mut means = vec![0.0; 8];
                means[0] = percent / deviation_percent;
                let board = SimulatedGroup {
                    means,
                    round_deviation: 1.0,
                    ..SimulatedGroup::equal(8, rounds)
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
