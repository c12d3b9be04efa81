//! Duets: two services loaded at the same time and compared window by window.
//!
//! A disturbance of the machine affects both sides of a synchronous window: their ratio stays stable although the values do not
//! (Bulej and others 2020). Swapping sides from round to round cancels the effect of a side of the machine (its CPU, the start
//! order).

use crate::interval::median;
use crate::interval::{self, mean, squares};
use crate::{Estimate, StatisticsError};
use prony_records::Interval;
use serde::{Deserialize, Serialize};

/// Upper limit of the correlation between neighbouring windows.
const MOST_MEMORY: f64 = 0.9;
/// Share of the usual length from which an interval counts as complete.
pub(crate) const WHOLE: f64 = 0.9;
/// Rounds of each placement from which rounds instead of windows are the sample.
const ROUNDS_EACH: usize = 3;

/// One round of a duet: both services in fresh processes, loaded at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DuetRound {
    /// Whether the first service ran on the second side of the machine.
    pub swapped: bool,
    /// First service over second for each synchronous window; all above 0.
    pub ratios: Vec<f64>,
    /// First service over second over all windows together, above 0. `None`: the geometric mean of `ratios` is used for the
    /// round.
    #[serde(default)]
    pub whole: Option<f64>,
}

/// The ratio of two services that were loaded at the same time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairedWindows {
    /// First service over second for each window.
    pub ratios: Vec<f64>,
    /// First service over second over all windows; `None` if one side received no reply at all.
    pub whole: Option<f64>,
}

/// The result of a duet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Duet {
    /// First service over second, with the effect of the sides cancelled.
    pub ratio: Estimate,
    /// Unit of the sample that the interval is based on.
    pub sample: DuetSample,
    /// The effect of the sides: first side over second; `None` if no round was swapped.
    pub side: Option<Estimate>,
    /// Number of rounds.
    pub rounds: u32,
    /// Number of synchronous windows.
    pub windows: u32,
}

/// The unit of the sample that a duet's interval is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuetSample {
    /// Rounds: the interval holds for fresh starts of both services.
    Rounds,
    /// Windows, since there were too few rounds: the interval holds for these starts only.
    Windows,
}

/// The length of most intervals, s. The last one may be cut short, and one may be longer if the generator lost its CPU for a
/// while.
pub(crate) fn usual_length(intervals: &[Interval]) -> f64 {
    let lengths: Vec<f64> = intervals.iter().map(|interval| interval.length_s).collect();
    if lengths.is_empty() { 0.0 } else { median(&lengths) }
}

/// First service over second for the windows that are complete on both sides, matched by start time.
///
/// If one side received no reply in some window, neighbouring windows are joined, by the same factor everywhere, until all hold
/// replies: a ratio cannot contain a zero, and skipping the window would hide the time during which a service stalled.
pub fn synchronous(first: &[Interval], second: &[Interval]) -> PairedWindows {
    let usual = usual_length(first);
    let whole = |interval: &&Interval| interval.length_s > WHOLE * usual;
    let pairs: Vec<[&Interval; 2]> = first
        .iter()
        .filter(whole)
        .filter_map(|one| {
            let near = |other: &&Interval| (other.start_s - one.start_s).abs() < 0.5 * usual;
            Some([one, second.iter().filter(whole).find(near)?])
        })
        .collect();
    let joined = (1..=pairs.len()).find_map(|length| {
        let windows = pairs.chunks_exact(length).map(ratio_of);
        windows.collect::<Option<Vec<f64>>>()
    });
    PairedWindows {
        ratios: joined.unwrap_or_default(),
        whole: ratio_of(&pairs),
    }
}

/// The ratio of the rates of valid replies over some windows; `None` if one side has none.
fn ratio_of(windows: &[[&Interval; 2]]) -> Option<f64> {
    let rate = |side: usize| {
        let (valid, length) = windows.iter().fold((0.0, 0.0), |(valid, length), pair| {
            (valid + pair[side].valid as f64, length + pair[side].length_s)
        });
        (valid > 0.0).then(|| valid / length)
    };
    Some(rate(0)? / rate(1)?)
}

/// Computes the ratio of two services from their duet.
///
/// With three or more rounds of each placement the unit is the round: its log ratio (over all windows together, or their mean) is
/// averaged for each placement. The variance is pooled; Student's t has two degrees of freedom less than rounds. With fewer
/// rounds the windows are the unit, and their number n is reduced to n·(1−r)/(1+r) for the correlation r of neighbours (Bayley
/// and Hammersley 1946).
pub fn duet(rounds: &[DuetRound], confidence: f64) -> Result<Duet, StatisticsError> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(StatisticsError::Confidence(confidence));
    }
    let logs = logarithms(rounds)?;
    let windows: usize = logs.iter().map(|round| round.windows.len()).sum();
    let side_of =
        |wanted: bool| -> Vec<&Logs> { logs.iter().filter(|round| round.swapped == wanted).collect() };
    let (straight, swapped) = (side_of(false), side_of(true));
    let by_rounds = straight.len() >= ROUNDS_EACH && swapped.len() >= ROUNDS_EACH;
    let parts: Vec<Part> = [&straight, &swapped]
        .into_iter()
        .filter(|rounds| !rounds.is_empty())
        .map(|rounds| {
            if by_rounds {
                Part::of_rounds(rounds)
            } else {
                Part::of_windows(&windows_of(rounds))
            }
        })
        .collect();
    let freedom: f64 = parts.iter().map(|part| part.freedom).sum();
    if freedom < 1.0 {
        return Err(StatisticsError::TooFew {
            what: "a duet",
            needed: 3,
            got: windows,
        });
    }
    let variance = parts.iter().map(|part| part.squares).sum::<f64>() / freedom;
    let count = parts.len() as f64;
    let point = parts.iter().map(|part| part.mean).sum::<f64>() / count;
    let error = (variance * parts.iter().map(|part| 1.0 / part.count).sum::<f64>()).sqrt() / count;
    let side = |[first, second]: &[Part; 2]| {
        interval::around(0.5 * (first.mean - second.mean), error, freedom, confidence).map(f64::exp)
    };
    Ok(Duet {
        ratio: interval::around(point, error, freedom, confidence).map(f64::exp),
        sample: if by_rounds {
            DuetSample::Rounds
        } else {
            DuetSample::Windows
        },
        side: <[Part; 2]>::try_from(parts).ok().as_ref().map(side),
        rounds: rounds.len() as u32,
        windows: windows as u32,
    })
}

/// The ratio of two runs made one after the other, from their windows, as the baseline for a duet. Welch's t on the logarithms,
/// with the number of windows reduced as for a duet.
pub fn consecutive(first: &[f64], second: &[f64], confidence: f64) -> Result<Estimate, StatisticsError> {
    let round = |values: &[f64]| DuetRound {
        swapped: false,
        ratios: values.to_vec(),
        whole: None,
    };
    let logs = logarithms(&[round(first), round(second)])?;
    let parts = [0, 1].map(|side| Part::of_windows(&[&logs[side].windows]));
    let [one, other] = &parts;
    if one.freedom < 1.0 || other.freedom < 1.0 {
        return Err(StatisticsError::TooFew {
            what: "a comparison of two runs",
            needed: 3,
            got: first.len().min(second.len()),
        });
    }
    let part = |part: &Part| part.squares / part.freedom / part.count;
    let error = (part(one) + part(other)).sqrt();
    let freedom = one.freedom.min(other.freedom);
    Ok(interval::around(one.mean - other.mean, error, freedom, confidence).map(f64::exp))
}

/// Log ratios of a round.
struct Logs {
    swapped: bool,
    windows: Vec<f64>,
    round: f64,
}

fn windows_of<'a>(rounds: &[&'a Logs]) -> Vec<&'a Vec<f64>> {
    rounds.iter().map(|round| &round.windows).collect()
}

fn logarithms(rounds: &[DuetRound]) -> Result<Vec<Logs>, StatisticsError> {
    let log = |&value: &f64| match value {
        value if !value.is_finite() => Err(StatisticsError::NotFinite {
            what: "a duet".to_owned(),
            value,
        }),
        value if value <= 0.0 => Err(StatisticsError::NotPositive {
            what: "a duet".to_owned(),
            value,
        }),
        value => Ok(value.ln()),
    };
    let with_windows = rounds.iter().filter(|round| !round.ratios.is_empty());
    with_windows
        .map(|round| {
            let windows = round.ratios.iter().map(log).collect::<Result<Vec<f64>, _>>()?;
            Ok(Logs {
                swapped: round.swapped,
                round: round.whole.as_ref().map_or_else(|| Ok(mean(&windows)), log)?,
                windows,
            })
        })
        .collect()
}

/// Statistics of the rounds of one placement.
#[derive(Debug, Clone, Copy)]
struct Part {
    mean: f64,
    squares: f64,
    count: f64,
    freedom: f64,
}

impl Part {
    fn of_rounds(rounds: &[&Logs]) -> Self {
        let means: Vec<f64> = rounds.iter().map(|round| round.round).collect();
        let count = means.len() as f64;
        Self {
            mean: mean(&means),
            squares: squares(&means),
            count,
            freedom: count - 1.0,
        }
    }

    fn of_windows(rounds: &[&Vec<f64>]) -> Self {
        let all: Vec<f64> = rounds.iter().copied().flatten().copied().collect();
        let count = all.len() as f64;
        let memory = memory(rounds, mean(&all));
        let effective = (count * (1.0 - memory) / (1.0 + memory)).max(2.0f64.min(count));
        let freedom = (effective - 1.0).max(0.0);
        let variance = if count > 1.0 {
            squares(&all) / (count - 1.0)
        } else {
            0.0
        };
        Self {
            mean: mean(&all),
            squares: variance * freedom,
            count: effective,
            freedom,
        }
    }
}

/// Correlation of neighbouring windows, clamped to 0..=[`MOST_MEMORY`].
fn memory(rounds: &[&Vec<f64>], centre: f64) -> f64 {
    let product = |pair: &[f64]| (pair[0] - centre) * (pair[1] - centre);
    let neighbours: f64 = rounds
        .iter()
        .flat_map(|round| round.windows(2))
        .map(product)
        .sum();
    let all: f64 = rounds
        .iter()
        .copied()
        .flatten()
        .map(|value| (value - centre).powi(2))
        .sum();
    if all > 0.0 {
        (neighbours / all).clamp(0.0, MOST_MEMORY)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(swapped: bool, ratios: &[f64]) -> DuetRound {
        DuetRound {
            swapped,
            ratios: ratios.to_vec(),
            whole: None,
        }
    }

    #[test]
    fn the_side_cancels() {
        let rounds: Vec<DuetRound> = (0..6)
            .map(|index| {
                let swapped = index % 2 == 1;
                let side = if swapped { 1.0 / 1.2 } else { 1.2 };
                round(swapped, &[1.5 * side, 1.5 * side * 1.001])
            })
            .collect();
        let found = duet(&rounds, 0.95).expect("six rounds");
        assert_eq!(found.sample, DuetSample::Rounds);
        assert!((found.ratio.point - 1.5).abs() < 0.002);
        assert!((found.side.expect("both placements").point - 1.2).abs() < 1e-9);
    }

    #[test]
    fn few_rounds_fall_back_to_windows() {
        let found = duet(&[round(false, &[1.0, 1.1, 0.9, 1.05])], 0.95).expect("four windows");
        assert_eq!((found.sample, found.side), (DuetSample::Windows, None));
        assert!(found.ratio.contains(1.0));
    }

    #[test]
    fn nothing_to_say_is_an_error() {
        assert!(matches!(duet(&[], 0.95), Err(StatisticsError::TooFew { .. })));
        assert!(matches!(
            duet(&[round(false, &[1.0])], 0.95),
            Err(StatisticsError::TooFew { .. })
        ));
        assert!(matches!(
            duet(&[round(false, &[1.0, f64::NAN])], 0.95),
            Err(StatisticsError::NotFinite { .. })
        ));
    }

    fn interval(start_s: f64, length_s: f64, valid: u64) -> Interval {
        Interval {
            start_s,
            length_s,
            completed: valid,
            valid,
            errors: 0,
            messages: None,
            response_time_ns_p50: None,
            response_time_ns_p99: None,
        }
    }

    #[test]
    fn a_stretched_window_does_not_drop_the_others() {
        let mut start_s = 0.0;
        let windows = [0.1, 0.1, 0.25, 0.1, 0.1].map(|length_s| {
            start_s += length_s;
            interval(start_s - length_s, length_s, 100)
        });
        assert_eq!(synchronous(&windows, &windows).ratios.len(), 5);
    }

    #[test]
    fn windows_match_by_their_begin() {
        let first = [
            interval(0.0, 1.0, 100),
            interval(1.0, 1.0, 200),
            interval(2.0, 0.2, 9),
        ];
        let second = [
            interval(0.01, 1.0, 50),
            interval(1.01, 1.0, 0),
            interval(2.01, 0.2, 9),
        ];
        let found = synchronous(&first, &second);
        // The second window of one side holds no reply, but its time still counts.
        assert_eq!((found.ratios, found.whole), (vec![6.0], Some(6.0)));
    }

    #[test]
    fn time_without_a_reply_counts() {
        let windows = |freezes: bool| -> Vec<Interval> {
            let valid = |index: usize| if freezes && index % 10 < 2 { 0 } else { 100 };
            (0..60)
                .map(|index| interval(index as f64 / 10.0, 0.1, valid(index)))
                .collect()
        };
        let found = synchronous(&windows(true), &windows(false));
        assert!((found.whole.expect("both replied") - 0.8).abs() < 1e-9);
        assert_eq!(found.ratios.len(), 20);
        let none = synchronous(&[interval(0.0, 1.0, 0)], &[interval(0.0, 1.0, 5)]);
        assert_eq!(none, PairedWindows::default());
    }
}
