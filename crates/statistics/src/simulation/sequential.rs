//! Stopping early, and duets.

use super::{Board, Noise, Source};
use crate::design::{pooled_means, values};
use crate::interval::mean;
use crate::{DuetRound, consecutive, duet};

/// Runs rounds until every interval is narrower than `precision` (in deviations of a trial); gives rounds and coverage.
fn until_narrow(source: &mut Source, services: usize, fewest: usize, precision: f64) -> (usize, f64) {
    let most = 60;
    let table = source.board(&Board::equal(services, most as u32), Noise::Normal);
    for rounds in fewest..=most {
        let so_far = table.iter().map(|row| row[..rounds].to_vec()).collect();
        let intervals: Vec<_> = pooled_means(&so_far, 0.95)
            .into_iter()
            .zip(&so_far)
            .map(|(pooled, row)| {
                pooled.map_or_else(
                    || mean::mean_interval(&values(row), 0.95).expect("rounds"),
                    |(estimate, _)| estimate,
                )
            })
            .collect();
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
    let runs = 1_500;
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
                "{services} services, half-width {precision} deviations: {:.1} rounds, {:.2} % hold",
                rounds as f64 / f64::from(runs),
                100.0 * held
            );
            assert!(held > 0.90, "{services} {precision}: {held}");
        }
    }
}

/// Windows of a machine whose speed wanders (AR(1), 5 %), with 1 % of a service's own noise.
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
            },
            DuetRound {
                swapped: true,
                ratios: ratios[30..].to_vec(),
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
        "duet holds in {:.1} %, two runs in {:.1} %, median width {:.3} of theirs",
        100.0 * share(duets),
        100.0 * share(pairs),
        narrower[narrower.len() / 2]
    );
    assert!(share(duets) > 0.93, "{}", share(duets));
    assert!(narrower[narrower.len() / 2] < 1.0 / 3.0);
}
