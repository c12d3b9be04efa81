//! PELT: where the mean or the variance of a series changes.

/// Shortest segment: fewer values say nothing about a variance.
const SHORTEST: usize = 3;
/// The penalty for a change is this times ln n (Barrett et al.); it makes PELT cautious.
const PENALTY: f64 = 15.0;

/// Sums that give the cost of any segment at once.
struct PrefixSums {
    values: Vec<f64>,
    squares: Vec<f64>,
    floor: f64,
}

impl PrefixSums {
    /// `floor` is the smallest variance: a series of equal values would else have none.
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
    // Centred, the squares keep their digits.
    let centre = series.iter().sum::<f64>() / count as f64;
    let centred: Vec<f64> = series.iter().map(|value| value - centre).collect();
    let sums = PrefixSums::new(&centred, floor);
    let penalty = PENALTY * (count as f64).ln();
    // best[end]: the least total of series[..end]; came[end]: where its last segment begins.
    let mut best = vec![f64::INFINITY; count + 1];
    let mut came = vec![0; count + 1];
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
        // A begin that is worse than the best without its penalty can never become the best again.
        let keep = |begin: &usize| end - begin < SHORTEST || best[*begin] + sums.cost(*begin, end) <= least;
        let mut kept: Vec<usize> = candidates.iter().copied().filter(keep).collect();
        best[end] = least;
        came[end] = begin;
        kept.push(end);
        candidates = kept;
    }
    let mut begins = Vec::new();
    let mut end = count;
    while end > 0 {
        begins.push(came[end]);
        end = came[end];
    }
    begins.reverse();
    begins
}
