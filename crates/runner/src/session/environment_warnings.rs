//! Warnings before a run: that the machine is noisy and interleaved trials would be better; and that a token will expire before the
//! run ends.

use crate::Noise;
use prony_config::contract::Contract;
use prony_config::{Catalogue, Design, GroupPlan, Plan};
use prony_load::Load;
use prony_records::{Warning, WarningKind};
use std::collections::BTreeSet;
use std::time::SystemTime;

/// Share of the machine that others take, from which turns serve better.
const NOISY: f64 = 0.10;
/// The word by which a hint is found again among the warnings of a run.
const TURNS: &str = "--turns";

/// The hint for a plan on a machine with this noise, seen then; `None` where turns would not help, or cannot be taken.
pub(super) fn of(noise: Noise, plan: &Plan, when: &str) -> Option<Warning> {
    let share = noise.share().filter(|share| *share > NOISY)?;
    let possible = plan.rounds > 1
        && plan.design == Design::Sequence
        && (0..plan.groups.len()).all(|group| may_take_turns(plan, group));
    let text = format!(
        "others used {:.0} % of this machine {when}: the intervals will be wide. `prony run {} {TURNS}` compares CPU time per request \
         in short windows, which neighbours disturb less",
        100.0 * share,
        plan.suite,
    );
    possible.then(|| Warning::new(WarningKind::Noise, text))
}

/// Whether this warning is a hint.
pub(super) fn is_one(warning: &Warning) -> bool {
    warning.text.contains(TURNS)
}

/// The usual noise of several trials: the median one.
pub(super) fn usual(seen: impl Iterator<Item = Noise>) -> Option<Noise> {
    let mut all: Vec<Noise> = seen.filter(|noise| noise.share().is_some()).collect();
    all.sort_by(|left, right| {
        left.share()
            .partial_cmp(&right.share())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    all.get(all.len() / 2).copied()
}

/// The contract whose token expires before the plan is expected to end.
pub(super) fn of_tokens(catalogue: &Catalogue, plan: &Plan) -> Option<Warning> {
    let lasts = plan.expected();
    let end = SystemTime::now() + lasts;
    let names: BTreeSet<&str> = plan.groups.iter().map(|group| group.contract.as_str()).collect();
    let short = |name: &&str| {
        let expire = catalogue.contracts.get(*name).and_then(Contract::tokens_expire);
        expire.is_some_and(|expire| expire < end)
    };
    let name = names.into_iter().find(short)?;
    let text = format!(
        "contract `{name}`: a token of it expires before the run ends, which is expected in {:.0} min: raise its `exp`",
        (lasts.as_secs_f64() / 60.0).ceil()
    );
    Some(Warning::new(WarningKind::Note, text))
}

/// Turns need two services, and windows that are alike.
fn may_take_turns(plan: &Plan, group: usize) -> bool {
    let GroupPlan { load, search, .. } = &plan.groups[group];
    let services = plan.entries.iter().filter(|entry| entry.group == group).count();
    services > 1 && search.is_none() && !matches!(load, Load::Users { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_config::{Entry, WarmUpChoice};
    use prony_load::Protocol;

    fn noise(others: f64) -> Noise {
        Noise {
            others: Some(others),
            steal: Some(0.0),
        }
    }

    fn plan(services: usize) -> Plan {
        let group = GroupPlan {
            contract: "hello".to_owned(),
            workload: "hello".to_owned(),
            load: Load::closed(4, 1),
            warm_up: WarmUpChoice::FixedNs(1),
            duration_ns: 1,
            timeout_ns: 1,
            search: None,
            rank_by: None,
        };
        let entry = |number: usize| Entry {
            service: format!("service-{number}"),
            variant: "current".to_owned(),
            protocol: Protocol::Http1,
            group: 0,
        };
        Plan {
            entries: (0..services).map(entry).collect(),
            ..Plan::of_group("mine", 5, group, &[], Protocol::Http1)
        }
    }

    #[test]
    fn a_noisy_machine_is_told_of_turns_without_a_made_up_precision() {
        let told = of(noise(0.6), &plan(2), "before the run").expect("a hint");
        assert!(is_one(&told));
        for part in [
            "others used 60 % of this machine before the run",
            "`prony run mine --turns`",
        ] {
            assert!(told.text.contains(part), "{}", told.text);
        }
        assert!(!told.text.contains('±'), "{}", told.text);
    }

    #[test]
    fn a_quiet_machine_and_a_plan_that_cannot_take_turns_hear_nothing() {
        assert_eq!(of(noise(0.05), &plan(2), "before the run"), None);
        assert_eq!(of(noise(0.6), &plan(1), "before the run"), None);
        let in_turns = Plan {
            design: Design::interleaved(),
            ..plan(2)
        };
        assert_eq!(of(noise(0.6), &in_turns, "before the run"), None);
        let once = Plan { rounds: 1, ..plan(2) };
        assert_eq!(of(noise(0.6), &once, "before the run"), None);
    }

    #[test]
    fn one_disturbed_trial_is_not_a_noisy_machine() {
        let seen = [0.02, 0.9, 0.03].map(noise);
        assert_eq!(usual(seen.into_iter()), Some(noise(0.03)));
        let blind = Noise {
            others: None,
            steal: None,
        };
        assert_eq!(usual([blind].into_iter()), None);
    }
}
