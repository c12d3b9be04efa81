//! Measures further rounds of a suspected slowdown until the result is clear.

use super::gate::{ChangeOptions, RunChange};

/// The most further looks after the first.
pub const LOOKS: u32 = 4;

impl ChangeOptions {
    /// The options for each further look: all looks together err no more often than a single one would (Bonferroni).
    #[must_use]
    pub fn of_further_looks(&self) -> Self {
        Self {
            confidence: 1.0 - (1.0 - self.confidence) / f64::from(LOOKS),
            ..self.clone()
        }
    }
}

impl RunChange {
    /// Whether to look again after `further` further looks: yes while the new version seems slower and is not proven to be, and,
    /// if an inconclusive comparison fails, while the comparison is inconclusive. The first look never proves a slowdown, so it
    /// adds no false alarm.
    pub fn needs_a_look(&self, further: u32, options: &ChangeOptions) -> bool {
        let is_proven = further > 0 && self.regressed;
        let is_open = options.fail_on_inconclusive && self.inconclusive;
        further < LOOKS && !is_proven && (is_open || self.is_suspicious(options.max_slowdown))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::change::gate::{Change, UnadjustedRatio, adjust};
    use crate::interval;
    use crate::{Estimate, GroupChange, Metric, ServiceChange, Verdict};

    /// Lower is better for both.
    const METRICS: [Metric; 2] = [Metric::CpuNsPerRequest, Metric::ResponseTimeNsP99];

    /// A comparison of one service with these changes.
    pub(crate) fn change_of_one(changes: Vec<Change>) -> RunChange {
        RunChange {
            missing: Vec::new(),
            without_bound: Vec::new(),
            gates: true,
            regressed: changes.iter().any(|change| change.regressed),
            inconclusive: false,
            groups: vec![GroupChange {
                contract: "hello".to_owned(),
                workload: "hello".to_owned(),
                load: serde_json::Value::Null,
                services: vec![ServiceChange {
                    service: "toy/current".to_owned(),
                    changes,
                }],
            }],
        }
    }

    /// The comparison of two gated metrics, from the log ratios of their rounds.
    pub(crate) fn judged(ratios: [&[f64]; 2], options: &ChangeOptions) -> RunChange {
        let open = Estimate {
            point: 1.0,
            low: 1.0,
            high: 1.0,
            confidence: options.confidence,
        };
        let open_change = |metric| Change {
            metric,
            base: open,
            new: open,
            ratio: open,
            p_adjusted: 1.0,
            verdict: Verdict::CannotTell,
            gated: true,
            regressed: false,
            inconclusive: false,
        };
        let mut change = change_of_one(METRICS.map(open_change).to_vec());
        let raws = ratios.map(|ratios| {
            let freedom = ratios.len() as f64 - 1.0;
            UnadjustedRatio {
                point: interval::mean(ratios),
                error: (interval::squares(ratios) / freedom / ratios.len() as f64).sqrt(),
                freedom,
            }
        });
        adjust(&mut change, &raws, options);
        change
    }

    #[test]
    fn looks_end_when_it_is_clear() {
        let options = ChangeOptions {
            max_slowdown: 0.02,
            ..ChangeOptions::default()
        };
        let slower: Vec<f64> = (0..12).map(|round| 0.05 + 0.001 * f64::from(round % 3)).collect();
        let loud: Vec<f64> = (0..12)
            .map(|round| 0.05 + 0.3 * f64::from(round % 2) - 0.15)
            .collect();
        let equal: Vec<f64> = slower.iter().map(|ratio| ratio - 0.05).collect();
        let needs = |ratios, further| {
            judged([ratios, &equal], &options.of_further_looks()).needs_a_look(further, &options)
        };
        // The first look alone never settles it, however clear it is.
        assert!(needs(&slower, 0) && !needs(&slower, 1));
        assert!(needs(&loud, 1) && needs(&loud, 3) && !needs(&loud, 4));
        assert!(!needs(&equal, 0) && !needs(&equal, 2));
        // It does not look slower, but it is not known to be within the limit either.
        let open: Vec<f64> = (0..12).map(|round| 0.1 * f64::from(round % 2) - 0.05).collect();
        let strict = ChangeOptions {
            fail_on_inconclusive: true,
            ..options.clone()
        };
        let found = judged([&open, &equal], &options.of_further_looks());
        assert!(found.inconclusive && !found.regressed);
        assert!(found.needs_a_look(1, &strict) && !found.needs_a_look(1, &options));
        assert!((options.of_further_looks().confidence - 0.9875).abs() < 1e-12);
    }
}
