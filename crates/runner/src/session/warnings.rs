//! Warnings about a run: a noisy machine on which interleaved trials would be better, tokens that expire before the run ends, and
//! services that later rounds left out.

use crate::Noise;
use crate::build::id_of;
use crate::trial::service_id;
use prony_config::contract::Contract;
use prony_config::{Catalogue, Design, GroupPlan, Plan, Service};
use prony_load::{Arrival, Load, Profile};
use prony_records::{Fingerprint, Part, ServiceId, TrialRecord, Warning, WarningKind};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

/// Share of the machine used by other programs above which an interleaved run is recommended.
const NOISY: f64 = 0.10;
/// The option that the hint recommends, and its former name in stored runs; they identify the hint among the warnings of a run.
const OPTION: &str = "--interleaved";
const FORMER_OPTION: &str = "--turns";

/// Recommends an interleaved run on a noisy machine; `None` if that would not help or is not possible. `when` is the time of the
/// observation.
pub(super) fn of(noise: Noise, plan: &Plan, when: &str) -> Option<Warning> {
    let share = noise.share().filter(|share| *share > NOISY)?;
    let possible = plan.rounds > 1
        && plan.design == Design::Sequence
        && (0..plan.groups.len()).all(|group| can_interleave(plan, group));
    let text = format!(
        "Other programs used {:.0} % of this machine {when}: the intervals will be wide.",
        100.0 * share
    );
    let advice = format!("`prony run {} {OPTION}` gives narrower intervals.", plan.suite);
    possible.then(|| Warning::new(WarningKind::Noise, text).advise(advice))
}

/// Whether this warning is the hint of [`of`].
pub(super) fn is_hint(warning: &Warning) -> bool {
    [OPTION, FORMER_OPTION]
        .iter()
        .any(|option| warning.whole().contains(option))
}

/// The median noise of several trials.
pub(super) fn median(noises: impl Iterator<Item = Noise>) -> Option<Noise> {
    let mut all: Vec<Noise> = noises.filter(|noise| noise.share().is_some()).collect();
    all.sort_by(|left, right| {
        left.share()
            .partial_cmp(&right.share())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    all.get(all.len() / 2).copied()
}

/// Warns about a contract whose token expires before the expected end of the plan.
pub(super) fn of_tokens(catalogue: &Catalogue, plan: &Plan) -> Option<Warning> {
    let duration = plan.expected();
    let end = SystemTime::now() + duration;
    let names: BTreeSet<&str> = plan.groups.iter().map(|group| group.contract.as_str()).collect();
    let short = |name: &&str| {
        let expire = catalogue.contracts.get(*name).and_then(Contract::tokens_expire);
        expire.is_some_and(|expire| expire < end)
    };
    let name = names.into_iter().find(short)?;
    let text = format!(
        "Contract `{name}`: a token expires before the run ends, which is expected in {:.0} min.",
        (duration.as_secs_f64() / 60.0).ceil()
    );
    Some(Warning::new(WarningKind::Note, text).advise("Raise its `exp`."))
}

/// Names services of earlier revisions that have another contract than a service of another revision, with which they are compared.
pub(super) fn of_contracts(
    services: &[Service],
    fingerprints: &BTreeMap<ServiceId, Fingerprint>,
) -> Option<Warning> {
    let contract = |service: &Service| fingerprints.get(&id_of(service))?.part(Part::Contract);
    let (earlier, current): (Vec<_>, Vec<_>) =
        services.iter().partition(|service| service.revision.is_some());
    // Two earlier revisions are compared with each other.
    let (others, one) = if current.is_empty() {
        (&earlier, "that of another revision")
    } else {
        (&current, "the current one")
    };
    let differs = |service: &&&Service| {
        let own = contract(service);
        others.iter().any(|other| contract(other) != own)
    };
    let names: Vec<String> = earlier
        .iter()
        .filter(differs)
        .map(|service| service.label())
        .collect();
    let text = format!(
        "{} {} the contract of that revision, which differs from {one}: the services may get different requests.",
        names.join(", "),
        if names.len() == 1 {
            "was checked and loaded with"
        } else {
            "were checked and loaded with"
        },
    );
    (!names.is_empty()).then(|| Warning::new(WarningKind::Note, text))
}

/// Interleaving needs at least two services, and windows that are alike.
fn can_interleave(plan: &Plan, group: usize) -> bool {
    let GroupPlan { load, search, .. } = &plan.groups[group];
    let services = plan.entries.iter().filter(|entry| entry.group == group).count();
    services > 1 && search.is_none() && !matches!(load, Load::Users { .. })
}

/// A note for each left-out entry of the plan that has fewer rounds than the run.
pub(super) fn of_left_out(plan: &Plan, left_out: &BTreeSet<usize>, trials: &[TrialRecord]) -> Vec<Warning> {
    let rounds = |wanted: &dyn Fn(&TrialRecord) -> bool| -> usize {
        let held = trials.iter().filter(|trial| wanted(trial));
        held.map(|trial| trial.round).collect::<BTreeSet<u32>>().len()
    };
    let all = rounds(&|_| true);
    let entries = left_out.iter().filter_map(|&index| plan.entries.get(index));
    let notes = entries.filter_map(|entry| {
        let group = plan.group_of(entry);
        let load: Value = group.load_record();
        let service = service_id(entry);
        let own = rounds(&|trial| {
            trial.service == service
                && trial.contract == group.contract
                && trial.workload == group.workload
                && trial.load == load
        });
        (own < all).then(|| {
            Warning::new(
                WarningKind::Note,
                format!(
                    "{service} was measured in {own} of {all} rounds of {}: its rank was settled.",
                    name(plan, group)
                ),
            )
        })
    });
    notes.collect()
}

/// The workload of a group; with its load if the plan has the workload under several loads.
fn name(plan: &Plan, group: &GroupPlan) -> String {
    let workload = &group.workload;
    let same = |other: &&GroupPlan| other.contract == group.contract && other.workload == group.workload;
    if plan.groups.iter().filter(same).count() == 1 {
        return workload.clone();
    }
    match &group.load {
        Load::Open {
            arrival:
                Arrival {
                    profile: Profile::Constant { rate },
                    ..
                },
            ..
        } => format!("{workload} at {rate}"),
        load => format!("{workload} on {} connections", load.connections()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_config::{Channel, Entry, WarmUpChoice};
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
            start: None,
            rounds: None,
            over: None,
            requests_per_connection: None,
            resumption: None,
            baselines: [].into(),
        };
        let entry = |number: usize| Entry {
            service: format!("service-{number}"),
            variant: "current".to_owned(),
            channel: Channel::Http1,
            group: 0,
            expected_warm_up_ns: 0,
        };
        Plan {
            entries: (0..services).map(entry).collect(),
            ..Plan::of_group("mine", 5, group, &[], Protocol::Http1)
        }
    }

    #[test]
    fn noise_recommends_an_interleaved_run_without_a_precision() {
        let hint = of(noise(0.6), &plan(2), "before the run").expect("a hint");
        assert!(is_hint(&hint));
        for part in [
            "Other programs used 60 % of this machine before the run",
            "`prony run mine --interleaved`",
        ] {
            assert!(hint.whole().contains(part), "{}", hint.whole());
        }
        assert!(!hint.whole().contains('±'), "{}", hint.whole());
    }

    #[test]
    fn there_is_no_hint_on_a_quiet_machine_or_if_interleaving_is_impossible() {
        assert_eq!(of(noise(0.05), &plan(2), "before the run"), None);
        assert_eq!(of(noise(0.6), &plan(1), "before the run"), None);
        let interleaved = Plan {
            design: Design::interleaved(),
            ..plan(2)
        };
        assert_eq!(of(noise(0.6), &interleaved, "before the run"), None);
        let once = Plan { rounds: 1, ..plan(2) };
        assert_eq!(of(noise(0.6), &once, "before the run"), None);
    }

    #[test]
    fn one_disturbed_trial_is_not_a_noisy_machine() {
        let noises = [0.02, 0.9, 0.03].map(noise);
        assert_eq!(median(noises.into_iter()), Some(noise(0.03)));
        let blind = Noise {
            others: None,
            steal: None,
        };
        assert_eq!(median([blind].into_iter()), None);
    }
}

#[cfg(test)]
mod exclusions_tests {
    use super::*;
    use prony_config::{Channel, Entry, WarmUpChoice};
    use prony_load::Protocol;
    use prony_records::{Exclusion, Fault, TrialStage};

    fn group(connections: u32) -> GroupPlan {
        GroupPlan {
            contract: "hello".to_owned(),
            workload: "hello".to_owned(),
            load: Load::closed(connections, 1),
            warm_up: WarmUpChoice::FixedNs(1),
            duration_ns: 1,
            timeout_ns: 1,
            search: None,
            rank_by: None,
            start: None,
            rounds: None,
            over: None,
            requests_per_connection: None,
            resumption: None,
            baselines: [].into(),
        }
    }

    fn plan(loads: &[u32]) -> Plan {
        let entry = |group: usize| Entry {
            service: "one".to_owned(),
            variant: "current".to_owned(),
            channel: Channel::Http1,
            group,
            expected_warm_up_ns: 0,
        };
        Plan {
            groups: loads.iter().map(|&connections| group(connections)).collect(),
            entries: (0..loads.len()).map(entry).collect(),
            ..Plan::of_group("mine", 5, group(4), &[], Protocol::Http1)
        }
    }

    fn trial(plan: &Plan, entry: usize, round: u32) -> TrialRecord {
        let entry = &plan.entries[entry];
        let group = plan.group_of(entry);
        TrialRecord {
            number: 0,
            round,
            build: None,
            start: None,
            provisional: false,
            service: ServiceId {
                service: entry.service.clone(),
                variant: entry.variant.clone(),
            },
            contract: group.contract.clone(),
            workload: group.workload.clone(),
            load: group.load_record(),
            rank_by: None,
            baseline: None,
            started_at: String::new(),
            took_s: 0.0,
            result: Err(Exclusion {
                stage: TrialStage::Build,
                reason: String::new(),
                log_tail: Vec::new(),
                fault: Fault::Service,
            }),
        }
    }

    /// Two rounds of the first entry, three of all others.
    fn trials(plan: &Plan) -> Vec<TrialRecord> {
        let all = (0..plan.entries.len()).flat_map(|entry| (0..3).map(move |round| (entry, round)));
        let held = all.filter(|&one| one != (0, 2));
        held.map(|(entry, round)| trial(plan, entry, round)).collect()
    }

    #[test]
    fn rounds_are_counted_by_load() {
        let plan = plan(&[4, 64]);
        let notes_found = of_left_out(&plan, &BTreeSet::from([0, 1]), &trials(&plan));
        let texts: Vec<&str> = notes_found.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(
            texts.len(),
            1,
            "under 64 connections it was in all rounds: {texts:?}"
        );
        let begin = "one/current was measured in 2 of 3 rounds of hello on 4 connections: ";
        assert!(texts[0].starts_with(begin), "{texts:?}");
    }

    #[test]
    fn one_load_alone_needs_no_name() {
        let plan = Plan {
            entries: plan(&[4]).entries.into_iter().cycle().take(2).collect(),
            ..plan(&[4])
        };
        let mut trials = trials(&plan);
        trials.retain(|trial| trial.round != 2);
        let mut other = trial(&plan, 1, 2);
        other.service.service = "other".to_owned();
        trials.push(other);
        let notes_found = of_left_out(&plan, &BTreeSet::from([0]), &trials);
        assert!(
            notes_found[0]
                .text
                .starts_with("one/current was measured in 2 of 3 rounds of hello: "),
            "{notes_found:?}"
        );
    }
}
