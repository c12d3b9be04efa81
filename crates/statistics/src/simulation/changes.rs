//! Change points: the changes found in histories with a step, and the false ones in level histories.

use super::{NOISES, Source};
use crate::change_points;

const HISTORIES: usize = 1_000;
const CONFIDENCE: f64 = 0.99;

/// Runs that vary by 1 % and step by `percent` in the middle.
fn history(source: &mut Source, runs: usize, percent: f64, noise: super::Noise) -> Vec<f64> {
    let level = |run: usize| if run < runs / 2 { 0.0 } else { percent };
    (0..runs)
        .map(|run| ((level(run) + source.draw(noise)) / 100.0).exp())
        .collect()
}

fn found(source: &mut Source, runs: usize, percent: f64, noise: super::Noise) -> Vec<usize> {
    let points = change_points(&history(source, runs, percent, noise), CONFIDENCE).expect("positive values");
    points.iter().map(|point| point.index).collect()
}

#[test]
fn level_histories_rarely_change() {
    for noise in NOISES {
        for runs in [10, 20, 50, 100] {
            let mut source = Source::new(41);
            let histories = if runs > 50 { HISTORIES / 4 } else { HISTORIES };
            let alarms = (0..histories)
                .filter(|_| !found(&mut source, runs, 0.0, noise).is_empty())
                .count();
            let share = alarms as f64 / histories as f64;
            println!(
                "level, {noise:?}, {runs} runs: a change in {:.1} % of histories",
                100.0 * share
            );
            assert!(share < 0.05, "{noise:?} {runs}: {share}");
        }
    }
}

#[test]
fn steps_are_found_near_their_place() {
    let histories = HISTORIES / 4;
    for (percent, runs, least) in [
        (2.0, 20, 0.4),
        (3.0, 20, 0.85),
        (5.0, 20, 0.95),
        (2.0, 50, 0.9),
        (5.0, 50, 0.95),
    ] {
        let mut source = Source::new(42);
        let mut seen = 0;
        let mut more = 0;
        for _ in 0..histories {
            let points = found(&mut source, runs, percent, super::Noise::Normal);
            seen += usize::from(points.iter().any(|&index| index.abs_diff(runs / 2) <= 2));
            more += usize::from(points.len() > 1);
        }
        let share = seen as f64 / histories as f64;
        println!(
            "step of {percent} deviations, {runs} runs: found within 2 runs of its place in {:.0} %, further changes in {:.1} %",
            100.0 * share,
            100.0 * more as f64 / histories as f64
        );
        assert!(share > least, "{percent} {runs}: {share}");
        assert!((more as f64) < 0.08 * histories as f64, "{percent} {runs}");
    }
}
