//! The result of a calibration: whether the instrument is accurate on this machine, and the smallest difference it can show.

use crate::design::{Cells, Table};
use crate::summary::{Options, all_pairs, sample, table};
use crate::{Metric, PairwiseComparison, StatisticsError, Verdict, smallest_difference};
use prony_records::{Environment, TrialRecord};
use serde::{Deserialize, Serialize};

/// Numbers of rounds for which the smallest difference is reported.
const ROUNDS: [u32; 5] = [3, 5, 10, 20, 30];
/// Confidence for comparing one service with itself: a correct instrument fails this check once in a hundred calibrations.
const TIE_CONFIDENCE: f64 = 0.99;
/// Probability with which the smallest difference is found.
const POWER: f64 = 0.8;

/// The result of `prony calibrate`, as it is stored and cited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of this record's format.
    pub schema: u32,
    /// Version of prony that calibrated.
    pub prony: String,
    /// The machine, or the hosts of the testbed, formatted by [`machine_name`].
    pub machine: String,
    /// When the calibration started, RFC 3339 in UTC.
    pub calibrated_at: String,
    /// Duration of the calibration, s.
    pub took_s: f64,
    /// Whether its stages were shortened. A short calibration shows that the stages work, and proves little about accuracy.
    #[serde(default)]
    pub short: bool,
    /// Names of the hosts, if it ran on a testbed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Measurements whose true value is known.
    pub checks: Vec<TruthCheck>,
    /// One service, entered in the comparison twice.
    pub same_twice: AaTest,
    /// How much trials vary on this machine, and the differences that can be seen despite it.
    pub noise: NoiseFloor,
    /// CPU time of the generator per request, ns.
    pub generator_cpu_ns_per_request: Option<f64>,
    /// CPU time that sampling a service's resources takes: 0.01 is 1 % of one CPU.
    pub watching_cpu_share: Option<f64>,
    /// Whether every check passed and the service tied with itself.
    pub passed: bool,
}

/// A measured number and its known true value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TruthCheck {
    /// What was measured, for people.
    pub what: String,
    /// Unit of `expected` and `measured`.
    pub unit: String,
    /// The true value.
    pub expected: f64,
    /// The measured value.
    pub measured: f64,
    /// Allowed deviation, as a share of `expected`.
    pub allowed: f64,
    /// Whether the deviation is within `allowed`.
    pub passed: bool,
}

impl TruthCheck {
    /// Compares a measured number with its true value.
    ///
    /// ```
    /// let check = prony_statistics::TruthCheck::new("p99 of a stall", "ms", 190.0, 190.4, 0.01);
    /// assert!(check.passed);
    /// ```
    pub fn new(what: impl Into<String>, unit: &str, expected: f64, measured: f64, allowed: f64) -> Self {
        Self {
            what: what.into(),
            unit: unit.to_owned(),
            expected,
            measured,
            allowed,
            passed: (measured / expected - 1.0).abs() <= allowed,
        }
    }
}

/// One service entered twice: any difference comes from the instrument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AaTest {
    /// The comparison; `None` with too few trials.
    pub pair: Option<PairwiseComparison>,
    /// Rounds that both entries completed.
    pub rounds: u32,
    /// Whether the two entries tie.
    pub ties: bool,
}

/// How much trials of the same service vary on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Standard deviation of a trial around its round, on the log scale (0.01 is about 1 %).
    pub trial_deviation: f64,
    /// Standard deviation of the ratio of two services in one round.
    pub ratio_deviation: f64,
    /// The smallest difference between two services that is found with 80 % probability, by number of rounds.
    pub smallest_differences: Vec<SmallestDifference>,
}

/// The smallest difference that a number of rounds shows with 80 % probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SmallestDifference {
    /// Number of rounds.
    pub rounds: u32,
    /// Relative difference: 0.02 is 2 %.
    pub difference: f64,
}

/// The name of a machine or testbed in calibrations: the same for every run on an equal machine or testbed.
pub fn machine_name(environment: &Environment) -> String {
    if environment.hosts.is_empty() {
        return one_machine(environment);
    }
    let hosts = environment.hosts.iter().map(|(name, host)| {
        let (roles, machine) = (host.roles.join(" and "), one_machine(&host.environment));
        format!("{name} ({roles}) on {} of {machine}", host.cpus.len())
    });
    hosts.collect::<Vec<_>>().join("; ")
}

fn one_machine(environment: &Environment) -> String {
    let known = |text: Option<&String>| text.cloned().unwrap_or_else(|| "unknown".to_owned());
    let memory = environment
        .memory_bytes
        .map_or(0.0, |bytes| bytes as f64 / f64::from(1 << 30));
    format!(
        "{} × {}, {memory:.0} GiB, kernel {}, virtualisation {}",
        environment.cpu.online,
        known(environment.cpu.model.as_ref()),
        known(environment.kernel.as_ref()),
        known(environment.virtualisation.as_ref())
    )
}

/// The quantile (0 to 1) of the response time, s, of a server that replies instantly but freezes for `stall_s` in every
/// `period_s`, when requests are due at equal distances and response time counts from the due time.
///
/// A request due t before the end of a freeze waits t. A share t/period therefore waits longer than stall − t: the quantile is
/// stall − (1 − quantile)·period, or 0 if that is negative.
///
/// ```
/// assert!((prony_statistics::stalled_quantile(0.2, 1.0, 0.99) - 0.19).abs() < 1e-12);
/// ```
pub fn stalled_quantile(stall_s: f64, period_s: f64, quantile: f64) -> f64 {
    (stall_s - (1.0 - quantile) * period_s).max(0.0)
}

/// The quantile (0 to 1) of the gap, s, between stream events that are due every `gap_s`, of a server that freezes for `stall_s`
/// in every `period_s` and then sends all overdue events at once.
///
/// Streams have a uniform phase relative to the freezes. The last event before a freeze comes u before it, with u uniform between
/// 0 and the gap. Of the period/gap gaps in a period, one is stall + u, stall/gap − 1 are 0, one is the remainder of a gap,
/// uniform between 0 and the gap, and all others equal the gap.
///
/// ```
/// let quantile = |share| prony_statistics::stalled_gap_quantile(0.05, 0.2, 1.0, share);
/// assert!((quantile(0.5) - 0.05).abs() < 1e-12);
/// assert!((quantile(0.99) - 0.24).abs() < 1e-12);
/// assert_eq!(quantile(0.1), 0.0);
/// ```
pub fn stalled_gap_quantile(gap_s: f64, stall_s: f64, period_s: f64, quantile: f64) -> f64 {
    let left = (quantile * period_s - (stall_s - gap_s)).clamp(0.0, gap_s);
    let beyond = (1.0 - quantile) * period_s;
    if beyond < gap_s {
        stall_s + gap_s - beyond
    } else {
        left
    }
}

/// From the trials of one service entered twice: whether it ties with itself, and the noise floor of its throughput.
pub fn same_twice(
    trials: &[TrialRecord],
    options: &Options,
) -> Result<(AaTest, NoiseFloor), StatisticsError> {
    options.check()?;
    let strict = Options {
        confidence: TIE_CONFIDENCE,
        ..*options
    };
    let too_few = |got| StatisticsError::TooFew {
        what: "the noise floor",
        needed: 2,
        got,
    };
    let samples = sample::groups(trials);
    let services = &samples.first().ok_or_else(|| too_few(0))?.services;
    let names: Vec<String> = services.iter().map(|service| service.id.to_string()).collect();
    let order: Vec<usize> = (0..services.len()).collect();
    // Not through the summary, which does not compare services for which the generator was the limit.
    let goodput = table(Metric::GoodputPerS, services)?;
    let pair = all_pairs(&goodput, &order, &names, Metric::GoodputPerS, &strict)
        .pairs
        .into_iter()
        .next();
    let values = table(Metric::ThroughputPerS, services)?;
    let rounds = values.iter().map(Vec::len).max().unwrap_or(0);
    let logs: Table = values
        .iter()
        .map(|row| row.iter().map(|&(round, value)| (round, value.ln())).collect())
        .collect();
    let model = Cells::new(&logs).fit().ok_or_else(|| too_few(rounds))?;
    let trial_deviation = model.rest_variance.sqrt();
    let ratio_deviation = std::f64::consts::SQRT_2 * trial_deviation;
    let differences = ROUNDS.iter().filter_map(|&rounds| {
        let difference = smallest_difference(ratio_deviation, rounds, options.confidence, POWER)?;
        Some(SmallestDifference { rounds, difference })
    });
    let noise = NoiseFloor {
        trial_deviation,
        ratio_deviation,
        smallest_differences: differences.collect(),
    };
    let tied = |pair: &PairwiseComparison| matches!(pair.verdict, Verdict::Same | Verdict::CannotTell);
    let same = AaTest {
        ties: pair.as_ref().is_some_and(tied),
        pair,
        rounds: rounds as u32,
    };
    Ok((same, noise))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chosen so that all times are integers: periods of 1,000, each starting with a freeze.
    const PERIOD: u64 = 1_000;

    /// The send time of an event that is due at this time.
    fn sent(due: u64, stall: u64) -> u64 {
        let begun = due / PERIOD * PERIOD;
        due.max(if due - begun < stall { begun + stall } else { due })
    }

    #[test]
    fn gaps_under_a_freeze_are_as_in_a_simulation() {
        for (gap, stall) in [(50, 200), (20, 200), (100, 300)] {
            let mut gaps: Vec<u64> = (0..gap)
                .flat_map(|phase| {
                    let sent = move |n| sent(phase + n * gap, stall);
                    (0..PERIOD / gap * 7).map(move |n| sent(n + 1) - sent(n))
                })
                .collect();
            gaps.sort_unstable();
            for quantile in [0.05, 0.3, 0.5, 0.75, 0.94, 0.97, 0.99, 0.999] {
                let simulated = gaps[(quantile * gaps.len() as f64) as usize] as f64;
                let known = stalled_gap_quantile(gap as f64, stall as f64, PERIOD as f64, quantile);
                assert!(
                    (simulated - known).abs() <= 2.0,
                    "gap {gap}, freeze {stall}, {quantile}: {simulated} and {known}"
                );
            }
        }
    }
}
