//! What a reader must know of services that have fewer trials than others, since rounds went on without them.

use prony_config::{GroupPlan, Plan};
use prony_load::{Arrival, Load, Profile};
use prony_records::{ServiceId, TrialRecord, Warning, WarningKind};
use serde_json::Value;
use std::collections::BTreeSet;

/// A note for each entry of the plan, by its index, that was left out and has fewer rounds than the run: what was settled under
/// one load may have been open under another.
pub(super) fn notes(plan: &Plan, left_out: &BTreeSet<usize>, trials: &[TrialRecord]) -> Vec<Warning> {
    let rounds = |wanted: &dyn Fn(&TrialRecord) -> bool| -> usize {
        let held = trials.iter().filter(|trial| wanted(trial));
        held.map(|trial| trial.round).collect::<BTreeSet<u32>>().len()
    };
    let all = rounds(&|_| true);
    let entries = left_out.iter().filter_map(|&index| plan.entries.get(index));
    let told = entries.filter_map(|entry| {
        let group = plan.group_of(entry);
        let load: Value = group.load_record();
        let service = ServiceId {
            service: entry.service.clone(),
            variant: entry.variant.clone(),
        };
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
                    "{service} took part in {own} of {all} rounds of {}: its interval reached the requested precision and \
                     every comparison with it decided, so that the other rounds went to those whose rank was open",
                    name(plan, group)
                ),
            )
        })
    });
    told.collect()
}

/// The workload of a group, with its load where the plan has it under several.
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
    use prony_config::{Entry, WarmUpChoice};
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
        }
    }

    fn plan(loads: &[u32]) -> Plan {
        let entry = |group: usize| Entry {
            service: "one".to_owned(),
            variant: "current".to_owned(),
            protocol: Protocol::Http1,
            group,
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
            place: 0,
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
        let places = (0..plan.entries.len()).flat_map(|entry| (0..3).map(move |round| (entry, round)));
        let held = places.filter(|&place| place != (0, 2));
        held.map(|(entry, round)| trial(plan, entry, round)).collect()
    }

    #[test]
    fn rounds_are_counted_by_load() {
        let plan = plan(&[4, 64]);
        let told = notes(&plan, &BTreeSet::from([0, 1]), &trials(&plan));
        let texts: Vec<&str> = told.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(
            texts.len(),
            1,
            "under 64 connections it was in all rounds: {texts:?}"
        );
        let begin = "one/current took part in 2 of 3 rounds of hello on 4 connections: ";
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
        let told = notes(&plan, &BTreeSet::from([0]), &trials);
        assert!(
            told[0]
                .text
                .starts_with("one/current took part in 2 of 3 rounds of hello: "),
            "{told:?}"
        );
    }
}
