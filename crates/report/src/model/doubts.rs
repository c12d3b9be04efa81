//! Which numbers a warning puts in doubt. The page has the same in `web/src/doubts.ts`; `web/tests/doubts.json` keeps both in step.

use prony_measurement::{Warning, WarningKind};
use prony_statistics::Metric;

/// Warnings that speak of the machine more than of the service: where every service has one, the numbers in it matter little.
pub(super) const OF_THE_MACHINE: [WarningKind; 4] = [
    WarningKind::ScheduleLag,
    WarningKind::NotSteady,
    WarningKind::Noise,
    WarningKind::Repeated,
];

/// Whether a warning is about this number. What is only worth knowing is about none.
pub(crate) fn doubts(warning: &Warning, metric: Metric) -> bool {
    use Metric::{
        CpuNsPerRequest, CpusBusy, OfferedPerS, ResponseTimeNsMax, ResponseTimeNsP99, ResponseTimeNsP99_9,
    };
    use WarningKind as Kind;
    let times = ["response_time", "first_message"];
    let time = times.iter().any(|name| metric.key().starts_with(name));
    let load = time || (metric.unit() == "1/s" && metric != OfferedPerS);
    match warning.kind {
        Kind::ConnectionClosed
        | Kind::MissingHeader
        | Kind::Environment
        | Kind::FewTrials
        | Kind::OneCpu
        | Kind::Repeated
        | Kind::BudgetSpent
        | Kind::Interrupted
        | Kind::Note => false,
        Kind::NotIsolated | Kind::EstimatesDisagree | Kind::Degraded => true,
        Kind::FewSamples => matches!(
            metric,
            ResponseTimeNsP99 | ResponseTimeNsP99_9 | ResponseTimeNsMax
        ),
        Kind::ScheduleLag | Kind::LittlesLaw | Kind::SurvivorsOnly => time,
        Kind::CpuContradiction => metric == CpuNsPerRequest,
        Kind::NotSteady | Kind::SlowingDown | Kind::Noise => {
            load || matches!(metric, CpuNsPerRequest | CpusBusy)
        }
        _ => load,
    }
}

/// Whether what a group is warned of says what a warning of one of its services says: that the generator was the limit
/// (of this service: `generator_bound`), or what holds for all services.
pub(crate) fn said_for_all(of_group: &[Warning], generator_bound: bool, warning: &Warning) -> bool {
    let says = |said: &Warning| {
        said.kind == warning.kind
            && (said.text.ends_with(&warning.text) || OF_THE_MACHINE.contains(&warning.kind))
    };
    match warning.kind {
        WarningKind::GeneratorSaturated => generator_bound,
        _ => of_group.iter().any(says),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::collections::{BTreeMap, BTreeSet};

    /// What the tests of the page read, too.
    const CASES: &str = include_str!("../../web/tests/doubts.json");

    #[derive(Deserialize)]
    struct Cases {
        /// Metrics by the name of their set.
        sets: BTreeMap<String, Vec<String>>,
        /// The sets that a warning of each kind puts in doubt.
        doubted: BTreeMap<String, Vec<String>>,
        said: Vec<Said>,
    }

    #[derive(Deserialize)]
    struct Said {
        what: String,
        group: Vec<Warning>,
        generator_bound: bool,
        warning: Warning,
        for_all: bool,
    }

    fn cases() -> Cases {
        serde_json::from_str(CASES).expect("a table of cases")
    }

    /// All kinds, from what serde says when it is given none of them.
    fn kinds() -> BTreeSet<String> {
        let refused = serde_json::from_str::<WarningKind>("\"-\"").expect_err("is no kind");
        let told = refused.to_string();
        told.split('`')
            .skip(3)
            .step_by(2)
            .map(ToOwned::to_owned)
            .collect()
    }

    #[test]
    fn each_kind_doubts_what_the_table_says() {
        let cases = cases();
        assert_eq!(cases.doubted.keys().cloned().collect::<BTreeSet<_>>(), kinds());
        let shown: Vec<Metric> = Metric::ALL
            .iter()
            .copied()
            .filter(|metric| cases.sets["all"].iter().any(|key| key == metric.key()))
            .collect();
        assert_eq!(shown.len(), cases.sets["all"].len(), "a metric that is none");
        for (kind, sets) in &cases.doubted {
            let kind: WarningKind = serde_json::from_value(kind.as_str().into()).expect("a kind");
            let warning = Warning::new(kind, "");
            for &metric in &shown {
                let wanted = sets
                    .iter()
                    .any(|set| cases.sets[set].iter().any(|key| key == metric.key()));
                assert_eq!(doubts(&warning, metric), wanted, "{kind:?}, {}", metric.key());
            }
        }
    }

    #[test]
    fn what_is_said_for_all_is_as_the_table_says() {
        for case in cases().said {
            let said = said_for_all(&case.group, case.generator_bound, &case.warning);
            assert_eq!(said, case.for_all, "{}", case.what);
        }
    }
}
