//! Stopping early, duets, and further looks.

use super::coverage::shown;
use super::{Noise, SimulatedGroup, Source};
use crate::change::judged;
use crate::design::Table;
use crate::ranking::{adjusted_means, all_differences, differences_to_first};
use crate::stopping::{LOOKS, going_on};
use crate::{ChangeOptions, DuetRound, RunChange, consecutive, duet};

/// Runs rounds until every interval is narrower than `precision` (in deviations of a trial); returns the number of rounds and the
/// coverage.
fn until_narrow(source: &mut Source, services: usize, fewest: usize, precision: f64) -> (usize, f64) {
    let most = 60;
    let table = source.board(&SimulatedGroup::equal(services, most as u32), Noise::Normal);
    for rounds in fewest..=most {
        let so_far = table.iter().map(|row| row[..rounds].to_vec()).collect();
        let intervals = shown(&so_far, 0.95);
        if rounds == most
            || intervals
                .iter()
                .all(|interval| interval.high - interval.point <= precision)
        {
            let held = intervals.iter().filter(|interval| interval.contains(0.0)).count();
            return (rounds, held as f64 / services as f64);
        }
    }
    unreachable!("the last round returns")
}

#[test]
fn stopping_for_precision_keeps_the_confidence_nearly() {
    let runs = 1_000;
    for services in [1, 2, 8] {
        for precision in [1.0, 0.6] {
            let mut source = Source::new(31);
            let (mut rounds, mut held) = (0, 0.0);
            for _ in 0..runs {
                let (taken, share) = until_narrow(&mut source, services, 5, precision);
                rounds += taken;
                held += share / f64::from(runs);
            }
            println!(
                "{services} services, half-width {precision} deviations: {:.1} rounds, {:.2} % of intervals contain the truth",
                rounds as f64 / f64::from(runs),
                100.0 * held
            );
            assert!(held > 0.90, "{services} {precision}: {held}");
        }
    }
}

/// The outcome of a run.
struct SequentialOutcome {
    /// Share of the services' intervals that contain the truth.
    held: f64,
    /// Whether two equal services were declared different.
    false_difference: bool,
    trials: usize,
}

/// The half-width of each service's ratio to the first one.
fn half_widths(table: &Table) -> Vec<f64> {
    let means = adjusted_means(table).expect("all share rounds");
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by(|&one, &other| means[one].total_cmp(&means[other]));
    let ordered = order.iter().map(|&service| table[service].clone()).collect();
    let mut widths = vec![0.0; means.len()];
    for (ratio, &service) in differences_to_first(&ordered, 0.95).iter().zip(&order) {
        widths[service] = (ratio.high - ratio.low) / 2.0;
    }
    widths
}

/// A run that leaves settled services out from this round on, or keeps all of them in every round, until every ratio is as narrow as
/// requested or all rounds are done.
fn carry_out(whole: &Table, means: &[f64], precision: f64, leaves_out: Option<usize>) -> SequentialOutcome {
    const FEWEST: usize = 5;
    let begin = leaves_out.unwrap_or(FEWEST);
    let mut table: Table = whole.iter().map(|row| row[..begin].to_vec()).collect();
    let differ = |table: &Table, error: f64| -> Vec<(usize, usize)> {
        let found = all_differences(table, 0.95).1;
        let proven = found.into_iter().filter(|pair| pair.p_adjusted <= error);
        proven.map(|pair| (pair.left, pair.right)).collect()
    };
    let mut round = begin;
    while round < whole[0].len() {
        let values = shown(&table, 0.95)
            .into_iter()
            .map(|interval| (interval.high - interval.low) / 2.0);
        let wide: Vec<bool> = half_widths(&table)
            .into_iter()
            .zip(values)
            .map(|(ratio, value)| ratio.min(value) > precision)
            .collect();
        if round >= FEWEST && !wide.contains(&true) {
            break;
        }
        let proven = differ(&table, 0.05 / LOOKS);
        let decided = |service: usize| {
            let own = proven
                .iter()
                .filter(|(left, right)| *left == service || *right == service);
            own.count() == means.len() - 1
        };
        let open: Vec<bool> = (0..means.len())
            .map(|service| leaves_out.is_none() || wide[service] || !decided(service))
            .collect();
        for service in going_on(&open) {
            table[service].push(whole[service][round]);
        }
        round += 1;
    }
    let intervals = shown(&table, 0.95);
    let held = intervals
        .iter()
        .zip(means)
        .filter(|(interval, mean)| interval.contains(**mean))
        .count();
    SequentialOutcome {
        held: held as f64 / means.len() as f64,
        false_difference: differ(&table, 0.05)
            .iter()
            .any(|&(left, right)| (means[left] - means[right]).abs() < f64::EPSILON),
        trials: table.iter().map(Vec::len).sum(),
    }
}

#[test]
fn leaving_settled_services_out_keeps_what_the_run_claims() {
    let runs = 1_000;
    // Means and deviations: equal services among distant ones, quiet ones among noisy ones.
    let boards: [(&str, Vec<f64>, Vec<f64>); 4] = [
        ("8 equal", vec![0.0; 8], vec![1.0; 8]),
        (
            "8 equal, half of them quiet",
            vec![0.0; 8],
            [vec![0.3; 4], vec![1.0; 4]].concat(),
        ),
        (
            "8, two equal, six apart",
            vec![0.0, 0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0],
            vec![1.0, 1.0, 0.3, 0.3, 1.0, 0.3, 0.3, 1.0],
        ),
        (
            "3, two loud equal, one quiet and far",
            vec![0.0, 0.0, 8.0],
            vec![1.0, 1.0, 0.2],
        ),
    ];
    for (name, means, deviations) in boards {
        let board = SimulatedGroup {
            means: means.clone(),
            deviations,
            round_deviation: 0.3,
            ..SimulatedGroup::equal(1, 20)
        };
        let mut told = [(0.0, 0.0, 0.0); 3];
        for (leaves_out, told) in [None, Some(5), Some(3)].into_iter().zip(&mut told) {
            let mut source = Source::new(33);
            for _ in 0..runs {
                let ended = carry_out(&source.board(&board, Noise::Normal), &means, 0.6, leaves_out);
                told.0 += ended.held / f64::from(runs);
                told.1 += f64::from(u8::from(ended.false_difference)) / f64::from(runs);
                told.2 += ended.trials as f64 / f64::from(runs);
            }
        }
        for (from, (held, wrong, trials)) in ["never", "from round 5", "from round 3"].iter().zip(told) {
            println!(
                "{name}, left out {from}: {:.2} % of intervals contain the truth, a false difference in {:.2} %, {trials:.0} trials",
                100.0 * held,
                100.0 * wrong,
            );
            assert!(held > 0.95 - 0.015 - 0.006, "{name}: {held}");
            assert!(wrong < 0.05 + 0.017, "{name}: {wrong}");
        }
    }
}

/// Windows of a machine whose speed wanders (AR(1), 5 %), with 1 % of noise per service.
fn windows(source: &mut Source, count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut machine = source.normal();
    let mut both = (Vec::new(), Vec::new());
    for _ in 0..count {
        machine = 0.8 * machine + 0.6 * source.normal();
        both.0.push((0.05 * machine + 0.01 * source.normal()).exp());
        both.1.push((0.05 * machine + 0.01 * source.normal()).exp());
    }
    both
}

#[test]
fn a_duet_is_far_tighter_than_two_runs_and_no_less_true() {
    let runs = 1_000;
    let mut source = Source::new(32);
    let (mut duets, mut pairs, mut narrower) = (0, 0, Vec::new());
    for _ in 0..runs {
        let (a, b) = windows(&mut source, 60);
        let ratios: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a / b).collect();
        let halves = [
            DuetRound {
                swapped: false,
                ratios: ratios[..30].to_vec(),
                whole: None,
            },
            DuetRound {
                swapped: true,
                ratios: ratios[30..].to_vec(),
                whole: None,
            },
        ];
        let together = duet(&halves, 0.95).expect("60 windows").ratio;
        let apart =
            consecutive(&windows(&mut source, 30).0, &windows(&mut source, 30).1, 0.95).expect("30 windows");
        duets += usize::from(together.contains(1.0));
        pairs += usize::from(apart.contains(1.0));
        narrower.push((together.high - together.low) / (apart.high - apart.low));
    }
    narrower.sort_by(f64::total_cmp);
    let share = |hits: usize| hits as f64 / f64::from(runs);
    println!(
        "the interval contains the truth in {:.1} % of duets and {:.1} % of pairs of runs; median width {:.3} of theirs",
        100.0 * share(duets),
        100.0 * share(pairs),
        narrower[narrower.len() / 2]
    );
    assert!(share(duets) > 0.93, "{}", share(duets));
    assert!(narrower[narrower.len() / 2] < 1.0 / 3.0);
}

/// A comparison with `--at-once`: six rounds of both, six of the base against itself, and further looks. The ratios of rounds
/// vary by `deviation` in both metrics; the new version costs more in one. Returns whether it is a regression, and the number of
/// rounds.
fn look_after_each_round(source: &mut Source, slower: f64, deviation: f64, noise: Noise) -> (bool, u32) {
    let options = ChangeOptions {
        max_slowdown: 0.02,
        ..ChangeOptions::default()
    };
    // Both versions are noisy, so the noise of their ratio is symmetric.
    let mut ratio = || (source.draw(noise) - source.draw(noise)) * std::f64::consts::FRAC_1_SQRT_2;
    let mut rounds = |shift: f64| -> Vec<f64> { (0..6).map(|_| shift + deviation * ratio()).collect() };
    let itself = judged([&rounds(0.0), &rounds(0.0)], &options);
    let (mut cost, mut time) = (rounds(slower.ln_1p()), rounds(0.0));
    let see = |cost: &[f64], time: &[f64], options: &ChangeOptions| -> RunChange {
        judged([cost, time], options).beyond(&itself)
    };
    let mut change = see(&cost, &time, &options);
    let mut further = 0;
    while change.needs_a_look(further, &options) {
        cost.extend(rounds(slower.ln_1p()));
        time.extend(rounds(0.0));
        change = see(&cost, &time, &options.of_further_looks());
        further += 1;
    }
    (change.regressed, 6 * (1 + further))
}

/// With an allowed slowdown of 2 %, a version that is not slower than that rarely fails, and one that is 5 % slower is found.
#[test]
fn a_slowdown_fails_only_where_it_is_more_than_allowed() {
    let comparisons = 2_000;
    for noise in super::NOISES {
        for deviation in [0.01, 0.02, 0.04] {
            for slower in [0.0, 0.01, 0.018, 0.02, 0.03, 0.05] {
                let mut source = Source::new(33);
                let (mut told, mut rounds) = (0, 0);
                for _ in 0..comparisons {
                    let (regressed, taken) = look_after_each_round(&mut source, slower, deviation, noise);
                    told += u32::from(regressed);
                    rounds += taken;
                }
                let share = f64::from(told) / f64::from(comparisons);
                println!(
                    "{noise:?}, rounds vary by {:.0} %, {:.1} % slower: reported in {:.1} %, {:.1} rounds",
                    100.0 * deviation,
                    100.0 * slower,
                    100.0 * share,
                    f64::from(rounds) / f64::from(comparisons)
                );
                if slower <= 0.02 {
                    assert!(share < 0.025, "{noise:?} {deviation} {slower}: {share}");
                } else if slower > 0.04 && deviation < 0.03 {
                    assert!(share > 0.95, "{noise:?} {deviation} {slower}: {share}");
                }
            }
        }
    }
}
