//! Change points in a history of runs: E-divisive with a t-test, as in `MongoDB` (Daly and others 2020) and Otava (Fleming and
//! others 2023).

use crate::distribution::no_difference;
use crate::interval::{self, mean};
use crate::{Estimate, StatisticsError};
use serde::{Deserialize, Serialize};

/// Fewest values on each side of a change.
const FEWEST: usize = 3;

/// A point at which a history changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Index of the first value after the change.
    pub index: usize,
    /// Level after the change over the level before it, each up to the neighbouring change.
    pub ratio: Estimate,
    /// p-value of "no change here", adjusted for the number of candidate positions.
    pub p_value: f64,
}

/// The changes in a history of positive values, one per run, oldest first.
///
/// Within a stretch, the candidate is the position that splits it best by energy distance (Matteson and James 2014). It is tested
/// with Welch's t on the logarithms, and the p-value is multiplied by the number of candidate positions: half of the error is
/// spent on splits of the whole stretch, half on splits of its parts. A candidate that passes at 1 − `confidence` splits the
/// stretch, and both sides are searched the same way. Finally, changes that no longer pass against their neighbours are removed,
/// weakest first.
///
/// Histories of fewer than six values have no detectable change.
pub fn change_points(history: &[f64], confidence: f64) -> Result<Vec<ChangePoint>, StatisticsError> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(StatisticsError::Confidence(confidence));
    }
    for &value in history {
        if !value.is_finite() {
            return Err(StatisticsError::NotFinite {
                what: "a history".to_owned(),
                value,
            });
        }
        if value <= 0.0 {
            return Err(StatisticsError::NotPositive {
                what: "a history".to_owned(),
                value,
            });
        }
    }
    let logs: Vec<f64> = history.iter().map(|value| value.ln()).collect();
    let mut cuts = divide(&logs, &Distances::new(&logs), 1.0 - confidence);
    take_back(&logs, &mut cuts, 1.0 - confidence);
    let bounded = bounds(&cuts, logs.len());
    let point = |stretch: &[usize]| describe(&logs, stretch, confidence);
    Ok(bounded.windows(3).map(point).collect())
}

fn divide(logs: &[f64], distances: &Distances, level: f64) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut stretches = vec![(0, logs.len())];
    while let Some((begin, end)) = stretches.pop() {
        let Some((cut, until)) = distances.best(begin, end) else {
            continue;
        };
        let tries = if until == end {
            places(end - begin)
        } else {
            windows(end - begin)
        };
        if 2.0 * tries * test(&logs[begin..cut], &logs[cut..until]).p_value <= level {
            cuts.push(cut);
            stretches.extend([(begin, cut), (cut, end)]);
        }
    }
    cuts.sort_unstable();
    cuts
}

/// Number of positions at which a stretch can be split.
fn places(length: usize) -> f64 {
    (length.saturating_sub(2 * FEWEST) + 1) as f64
}

/// Number of positions at which a stretch, or any shorter one with the same start, can be split.
fn windows(length: usize) -> f64 {
    0.5 * places(length) * (places(length) + 1.0)
}

/// Removes the weakest change until all pass against their neighbours.
fn take_back(logs: &[f64], cuts: &mut Vec<usize>, level: f64) {
    loop {
        let bounded = bounds(cuts, logs.len());
        let strengths = bounded.windows(3).map(|stretch| adjusted(logs, stretch));
        let weakest = strengths
            .enumerate()
            .max_by(|left, right| left.1.total_cmp(&right.1));
        match weakest {
            Some((index, p_value)) if p_value > level => {
                cuts.remove(index);
            }
            _ => return,
        }
    }
}

fn bounds(cuts: &[usize], length: usize) -> Vec<usize> {
    [&[0], cuts, &[length]].concat()
}

/// The p-value of a change between its neighbours, adjusted for all positions between them.
fn adjusted(logs: &[f64], stretch: &[usize]) -> f64 {
    let found = test(&logs[stretch[0]..stretch[1]], &logs[stretch[1]..stretch[2]]);
    (places(stretch[2] - stretch[0]) * found.p_value).min(1.0)
}

fn describe(logs: &[f64], stretch: &[usize], confidence: f64) -> ChangePoint {
    let found = test(&logs[stretch[0]..stretch[1]], &logs[stretch[1]..stretch[2]]);
    let interval = interval::around(found.difference, found.error, found.freedom, confidence);
    ChangePoint {
        index: stretch[1],
        ratio: interval.map(f64::exp),
        p_value: adjusted(logs, stretch),
    }
}

struct WelchTest {
    difference: f64,
    error: f64,
    freedom: f64,
    p_value: f64,
}

/// Welch's t for two stretches of at least two values each.
fn test(before: &[f64], after: &[f64]) -> WelchTest {
    let part = |values: &[f64]| interval::squares(values) / (values.len() - 1) as f64 / values.len() as f64;
    let (old, new) = (part(before), part(after));
    let freedom = |values: &[f64]| (values.len() - 1) as f64;
    let sum = old + new;
    let welch = sum.powi(2) / (old.powi(2) / freedom(before) + new.powi(2) / freedom(after));
    let freedom = if sum > 0.0 {
        welch
    } else {
        freedom(before) + freedom(after)
    };
    let difference = mean(after) - mean(before);
    let p_value = no_difference(difference, sum.sqrt(), freedom);
    WelchTest {
        difference,
        error: sum.sqrt(),
        freedom,
        p_value,
    }
}

/// Prefix sums of the distances between values, for any pair of stretches.
struct Distances {
    length: usize,
    /// Sum over all pairs whose first index is below the row and whose second is below the column.
    sums: Vec<f64>,
}

impl Distances {
    fn new(values: &[f64]) -> Self {
        let length = values.len();
        let mut sums = vec![0.0; (length + 1) * (length + 1)];
        for row in 0..length {
            let mut line = 0.0;
            for column in 0..length {
                line += (values[row] - values[column]).abs();
                sums[(row + 1) * (length + 1) + column + 1] = sums[row * (length + 1) + column + 1] + line;
            }
        }
        Self { length, sums }
    }

    fn between(&self, rows: (usize, usize), columns: (usize, usize)) -> f64 {
        let at = |row: usize, column: usize| self.sums[row * (self.length + 1) + column];
        at(rows.1, columns.1) - at(rows.0, columns.1) - at(rows.1, columns.0) + at(rows.0, columns.0)
    }

    /// The position that splits the stretch best, and the end of the part that it splits. Considering shorter ends lets a change
    /// that is later reverted be found.
    fn best(&self, begin: usize, end: usize) -> Option<(usize, usize)> {
        let mut best = None;
        let mut highest = 0.0;
        for cut in begin + FEWEST..(end + 1).saturating_sub(FEWEST) {
            for until in cut + FEWEST..=end {
                let divergence = self.divergence((begin, cut), (cut, until));
                if divergence > highest {
                    highest = divergence;
                    best = Some((cut, until));
                }
            }
        }
        best
    }

    /// The scaled energy distance of two neighbouring stretches, with exponent 1.
    fn divergence(&self, left: (usize, usize), right: (usize, usize)) -> f64 {
        let (m, n) = ((left.1 - left.0) as f64, (right.1 - right.0) as f64);
        let across = 2.0 * self.between(left, right) / (m * n);
        let inside = |stretch, count: f64| self.between(stretch, stretch) / (count * (count - 1.0));
        m * n / (m + n) * (across - inside(left, m) - inside(right, n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(levels: &[(usize, f64)]) -> Vec<f64> {
        let values = levels
            .iter()
            .flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        let wobble = |index: usize| 1.0 + 0.01 * ((index * 7919 % 13) as f64 / 6.0 - 1.0);
        values
            .enumerate()
            .map(|(index, level)| level * wobble(index))
            .collect()
    }

    fn places(history: &[f64]) -> Vec<usize> {
        let found = change_points(history, 0.99).expect("sound values");
        found.iter().map(|point| point.index).collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let history = noisy(&[(20, 1000.0), (15, 900.0), (25, 1100.0)]);
        assert_eq!(places(&history), [20, 35]);
        let found = change_points(&history, 0.99).expect("sound values");
        assert!(found[0].ratio.contains(0.9), "{:?}", found[0]);
    }

    #[test]
    fn a_change_that_returns_is_two() {
        assert_eq!(
            places(&noisy(&[(20, 1000.0), (10, 900.0), (20, 1000.0)])),
            [20, 30]
        );
    }

    #[test]
    fn nothing_in_little_or_level_history() {
        assert!(places(&[]).is_empty());
        assert!(places(&[1.0, 2.0, 1.0, 2.0, 9.0]).is_empty());
        assert!(places(&[5.0; 30]).is_empty());
        assert!(places(&noisy(&[(40, 1000.0)])).is_empty());
    }

    #[test]
    fn damaged_history_is_an_error() {
        assert!(matches!(
            change_points(&[1.0, f64::NAN], 0.99),
            Err(StatisticsError::NotFinite { .. })
        ));
        assert!(matches!(
            change_points(&[1.0, 0.0], 0.99),
            Err(StatisticsError::NotPositive { .. })
        ));
    }
}
