//! What a calibration found: whether the instrument tells the truth on this machine, and how small a difference it can show.

use crate::design::{Cells, Table};
use crate::summary::{Options, all_pairs, sample, table};
use crate::{Metric, Pair, StatisticsError, Verdict, smallest_difference};
use prony_records::{Environment, TrialRecord};
use serde::{Deserialize, Serialize};

/// Rounds for which the smallest difference is told.
const ROUNDS: [u32; 5] = [3, 5, 10, 20, 30];
/// Confidence with which one service entered twice must tie: an instrument that is right fails once in a hundred times.
const TIE_CONFIDENCE: f64 = 0.99;
/// Probability with which a smallest difference is seen.
const POWER: f64 = 0.8;

/// The result of `prony calibrate`, as it is stored and cited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of this record.
    pub schema: u32,
    /// Version of prony.
    pub prony: String,
    /// The machine, or the hosts of the lab.
    pub machine: String,
    /// When, RFC 3339 in UTC.
    pub calibrated_at: String,
    /// How long it took, s.
    pub took_s: f64,
    /// Whether its stages were shortened, which shows that they work and proves little.
    #[serde(default)]
    pub short: bool,
    /// The hosts, where it was done in a lab.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// What was compared with a known truth.
    pub checks: Vec<TruthCheck>,
    /// One service entered twice.
    pub same_twice: SameTwice,
    /// How much trials vary here, and what follows.
    pub noise: NoiseFloor,
    /// CPU time of the generator per request, ns.
    pub generator_cpu_ns_per_request: Option<f64>,
    /// CPU that watching a service takes: 0.01 is 1 % of one CPU.
    pub watching_cpu_share: Option<f64>,
    /// Whether every check passed and the service tied with itself.
    pub passed: bool,
}

/// A number beside its known truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TruthCheck {
    /// What was measured.
    pub what: String,
    /// Its unit.
    pub unit: String,
    /// What it must be.
    pub expected: f64,
    /// What it was.
    pub measured: f64,
    /// Deviation that is allowed, as a share of the truth.
    pub allowed: f64,
    /// Whether it lies within.
    pub passed: bool,
}

impl TruthCheck {
    /// Judges a measured number.
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

/// One service entered twice: any difference is the instrument's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SameTwice {
    /// The comparison; `None` where there were too few trials.
    pub pair: Option<Pair>,
    /// Rounds behind it.
    pub rounds: u32,
    /// Whether they tie.
    pub ties: bool,
}

/// How much trials of the same service vary on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Standard deviation of a trial around its round, on the log scale (0.01 is about 1 %).
    pub trial_deviation: f64,
    /// Standard deviation of the ratio of two services in one round.
    pub ratio_deviation: f64,
    /// The smallest difference of two services that is seen with 80 % probability, by rounds.
    pub smallest_differences: Vec<SmallestDifference>,
}

/// The smallest difference that a number of rounds shows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SmallestDifference {
    /// Rounds.
    pub rounds: u32,
    /// Relative difference: 0.02 is 2 %.
    pub difference: f64,
}

/// What a machine, or a lab, is called in calibrations: the same for every run on an equal machine, or in an equal lab.
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

/// The quantile (0 to 1) of the response time, s, of a server that is instant but freezes `stall_s` in every `period_s`,
/// under requests due at equal distances, where response time counts from the due time.
///
/// A request due t before the end of a freeze waits t, so a share t/period waits longer than stall − t: the quantile is
/// stall − (1 − quantile)·period, and 0 where that is negative.
///
/// ```
/// assert!((prony_statistics::stalled_quantile(0.2, 1.0, 0.99) - 0.19).abs() < 1e-12);
/// ```
pub fn stalled_quantile(stall_s: f64, period_s: f64, quantile: f64) -> f64 {
    (stall_s - (1.0 - quantile) * period_s).max(0.0)
}

/// The quantile (0 to 1) of the gap, s, between events of streams that are due every `gap_s`, of a server that freezes `stall_s` in every
/// `period_s` and then sends at once what was due meanwhile.
///
/// Streams lie evenly to the freezes, so an event comes u before a freeze, where u is uniform between 0 and the gap. Of the
/// period/gap gaps of a period one is then stall + u; stall/gap − 1 are 0; one is what is left of a gap, uniform between 0 and it; all
/// others are the gap.
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

/// What trials of one service entered twice say of the machine: the tie, and the noise floor of throughput.
pub fn same_twice(
    trials: &[TrialRecord],
    options: &Options,
) -> Result<(SameTwice, NoiseFloor), StatisticsError> {
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
    // Directly, and not by the summary: it does not compare services for which the generator was the limit.
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
    let tied = |pair: &Pair| matches!(pair.verdict, Verdict::Same | Verdict::CannotTell);
    let same = SameTwice {
        ties: pair.as_ref().is_some_and(tied),
        pair,
        rounds: rounds as u32,
    };
    Ok((same, noise))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in units that come out even: periods of 1,000, freezes at their begin.
    const PERIOD: u64 = 1_000;

    /// When something that is due at this time is sent.
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
