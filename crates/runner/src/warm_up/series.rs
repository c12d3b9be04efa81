//! One series: its segments by PELT, and whether its end is steady.

use super::{STEADY_ERROR, STEADY_INTERVALS, STEADY_SHARE};
use prony_records::Classification;

/// Which way a series gets better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Higher,
    Lower,
}

/// How far apart two values may be and still count as equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum EqualityTolerance {
    /// This share of the value.
    Share(f64),
    /// This difference. Of logarithms it is about a share of the original values.
    Difference(f64),
}

/// A series of values.
#[derive(Debug)]
pub(super) struct Series {
    values: Vec<f64>,
    same: EqualityTolerance,
}

/// Values between two changes; adjacent segments that count as equal are joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Segment {
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) mean: f64,
    deviation: f64,
}

/// A value that is further from the median of its neighbourhood than this number of deviations is an event (a garbage collection, a
/// burst of another program), not a state of the service.
const OUTLIER: f64 = 5.0;
/// Number of values on either side that form the neighbourhood.
const NEIGHBOURS: usize = 7;
/// Longest series of outliers that is an event, and the number of values after it that show its end.
const EVENT: usize = 2;
const SETTLED: usize = 3;
/// Normal deviate of a significant trend, two-sided at 1 %.
const TREND: f64 = 2.576;

impl EqualityTolerance {
    /// The tolerance at a level, as a difference.
    fn at(self, level: f64) -> f64 {
        match self {
            Self::Share(share) => share * level.abs(),
            Self::Difference(difference) => difference,
        }
    }
}

impl Series {
    pub(super) fn new(values: &[f64], same: EqualityTolerance) -> Self {
        Self {
            values: without_outliers(values, same),
            same,
        }
    }

    fn tolerance(&self, level: f64) -> f64 {
        self.same.at(level)
    }

    pub(super) fn segments(&self) -> Vec<Segment> {
        let level = mean(&self.values);
        let floor = (self.tolerance(level) / 10.0).powi(2).max(f64::MIN_POSITIVE);
        let begins = segments(&self.values, floor);
        let ends = begins.iter().skip(1).copied().chain([self.values.len()]);
        let mut joined: Vec<Segment> = Vec::new();
        // From the end, so that segments equal to the last state are joined with it.
        for (begin, end) in begins
            .iter()
            .copied()
            .zip(ends)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            let segment = self.segment(begin, end);
            match joined.last_mut() {
                Some(later) if self.equal(&segment, later) => *later = self.segment(begin, later.end),
                _ => joined.push(segment),
            }
        }
        joined.reverse();
        joined
    }

    fn segment(&self, begin: usize, end: usize) -> Segment {
        let values = &self.values[begin..end];
        Segment {
            begin,
            end,
            mean: mean(values),
            deviation: deviation(values),
        }
    }

    fn equal(&self, one: &Segment, other: &Segment) -> bool {
        (one.mean - other.mean).abs() <= self.tolerance(other.mean).max(other.deviation)
    }

    pub(super) fn verdict(&self, better: Better) -> Classification {
        let segments = self.segments();
        let Some(last) = segments.last() else {
            return Classification::NoSteadyState;
        };
        let long_enough = ((self.values.len() as f64 * STEADY_SHARE).ceil() as usize).max(STEADY_INTERVALS);
        let count = self.values.len();
        let unsettled = (count.saturating_sub(SETTLED)..count)
            .any(|index| outlier(&self.values, index, self.same).is_some());
        let length = last.end - last.begin;
        let error = last.deviation / (length as f64).sqrt();
        let vague = error > STEADY_ERROR * self.tolerance(last.mean);
        if length < long_enough || unsettled || vague || self.has_trend(last) {
            return Classification::NoSteadyState;
        }
        let improved = |segment: &Segment| match better {
            Better::Higher => last.mean > segment.mean,
            Better::Lower => last.mean < segment.mean,
        };
        match segments.split_last() {
            Some((_, [])) | None => Classification::Flat,
            Some((_, before)) if before.iter().all(improved) => Classification::WarmedUp,
            Some(_) => Classification::SlowingDown,
        }
    }

    /// Whether the last state still rises or falls in its second half: significantly by the Mann-Kendall test, and by more than the
    /// tolerance.
    fn has_trend(&self, last: &Segment) -> bool {
        let half = usize::midpoint(last.begin, last.end);
        let from = half
            .min(last.end.saturating_sub(STEADY_INTERVALS))
            .max(last.begin);
        let values = &self.values[from..last.end];
        let count = values.len() as f64;
        let pairs = values
            .iter()
            .enumerate()
            .flat_map(|(index, one)| values[index + 1..].iter().map(move |two| (one, two)));
        let score: f64 = pairs.map(|(one, two)| sign(two - one)).sum();
        let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
        let quarter = (values.len() / 4).max(1);
        let moved = (mean(&values[values.len() - quarter..]) - mean(&values[..quarter])).abs();
        score.abs() > 1.0
            && (score.abs() - 1.0) / variance.sqrt() > TREND
            && moved > self.tolerance(last.mean)
    }
}

fn sign(difference: f64) -> f64 {
    if difference == 0.0 {
        0.0
    } else {
        difference.signum()
    }
}

/// Each outlier replaced by the median of its neighbourhood. Several in a row are a change, not an outlier; at the end of the series
/// the two cannot be distinguished yet.
fn without_outliers(values: &[f64], same: EqualityTolerance) -> Vec<f64> {
    let typical: Vec<Option<f64>> = (0..values.len())
        .map(|index| outlier(values, index, same))
        .collect();
    let mut clean = values.to_vec();
    let mut index = 0;
    while index < values.len() {
        let run = typical[index..]
            .iter()
            .take_while(|typical| typical.is_some())
            .count();
        let settled = index + run + SETTLED <= values.len();
        if (1..=EVENT).contains(&run) && settled {
            for (value, typical) in clean[index..index + run].iter_mut().zip(&typical[index..]) {
                *value = typical.unwrap_or(*value);
            }
        }
        index += run.max(1);
    }
    clean
}

/// The median of the neighbourhood, if the value is an outlier.
fn outlier(values: &[f64], index: usize, same: EqualityTolerance) -> Option<f64> {
    let from = index.saturating_sub(NEIGHBOURS);
    let to = (index + NEIGHBOURS + 1).min(values.len());
    let middle = median(values[from..to].to_vec());
    let spread = median(
        values[from..to]
            .iter()
            .map(|value| (value - middle).abs())
            .collect(),
    );
    // 1.4826 makes the median deviation of a normal distribution its standard deviation.
    let far = OUTLIER * 1.4826 * spread.max(same.at(middle) / 3.0);
    ((values[index] - middle).abs() > far).then_some(middle)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if values.len() < 2 {
        0.0
    } else {
        (squares / (values.len() - 1) as f64).sqrt()
    }
}

/// Shortest segment: fewer values say nothing about a variance.
const SHORTEST: usize = 3;
/// The penalty for a change is this times ln n (Barrett et al.); it makes PELT cautious.
const PENALTY: f64 = 15.0;

/// Prefix sums, from which the cost of any segment is computed in constant time.
struct PrefixSums {
    values: Vec<f64>,
    squares: Vec<f64>,
    floor: f64,
}

impl PrefixSums {
    /// `floor` is the smallest variance; a series of equal values would have 0.
    fn new(series: &[f64], floor: f64) -> Self {
        let mut sums = Self {
            values: vec![0.0],
            squares: vec![0.0],
            floor,
        };
        for &value in series {
            sums.values.push(sums.values[sums.values.len() - 1] + value);
            sums.squares
                .push(sums.squares[sums.squares.len() - 1] + value * value);
        }
        sums
    }

    /// Twice the negative log likelihood of `begin..end` under a normal distribution with its own mean and variance.
    fn cost(&self, begin: usize, end: usize) -> f64 {
        let count = (end - begin) as f64;
        let mean = (self.values[end] - self.values[begin]) / count;
        let variance = ((self.squares[end] - self.squares[begin]) / count - mean * mean).max(self.floor);
        count * ((2.0 * std::f64::consts::PI * variance).ln() + 1.0)
    }
}

/// The first index of each segment, ascending; the first is 0. The segmentation minimises the sum of the costs of the segments plus a
/// penalty for each.
pub(super) fn segments(series: &[f64], floor: f64) -> Vec<usize> {
    let count = series.len();
    if count < 2 * SHORTEST {
        return vec![0];
    }
    // Centred values avoid cancellation in the squares.
    let centre = series.iter().sum::<f64>() / count as f64;
    let centred: Vec<f64> = series.iter().map(|value| value - centre).collect();
    let sums = PrefixSums::new(&centred, floor);
    let penalty = PENALTY * (count as f64).ln();
    // best[end]: the least total of series[..end]; previous[end]: where its last segment begins.
    let mut best = vec![f64::INFINITY; count + 1];
    let mut previous = vec![0; count + 1];
    best[0] = -penalty;
    let mut candidates: Vec<usize> = vec![0];
    for end in SHORTEST..=count {
        let total = |&begin: &usize| best[begin] + sums.cost(begin, end) + penalty;
        let long_enough = |begin: &&usize| end - **begin >= SHORTEST;
        let (least, begin) = candidates
            .iter()
            .filter(long_enough)
            .map(|begin| (total(begin), *begin))
            .fold(
                (f64::INFINITY, 0),
                |least, other| if other.0 < least.0 { other } else { least },
            );
        // A candidate that is worse than the best even without its penalty can never become the best.
        let keep = |begin: &usize| end - begin < SHORTEST || best[*begin] + sums.cost(*begin, end) <= least;
        let mut kept: Vec<usize> = candidates.iter().copied().filter(keep).collect();
        best[end] = least;
        previous[end] = begin;
        kept.push(end);
        candidates = kept;
    }
    let mut begins = Vec::new();
    let mut end = count;
    while end > 0 {
        begins.push(previous[end]);
        end = previous[end];
    }
    begins.reverse();
    begins
}
