//! The plan as stored in a run: writing and reading its additional keys.

use super::BuildResults;
use crate::{CommandError, git};
use prony_config::Service;
use prony_config::contract::Contract;
use prony_load::Load;
use prony_records::{Fingerprint, RunRecord, ServiceId, ServiceInfo, TrialRecord};
use prony_statistics::{Options, Summary, summarise};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Key of a group of a stored plan: the highest rate that a service can reach, if something limits it.
const CEILING: &str = "ceiling_per_s";

/// The summary of a run's trials, with the confidence and the band of a tie of its plan.
pub fn summary(run: &RunRecord, trials: &[TrialRecord]) -> Result<Summary, CommandError> {
    let defaults = Options::default();
    let options = Options {
        confidence: run.plan["confidence"].as_f64().unwrap_or(defaults.confidence),
        tie_band: run.plan["tie"].as_f64().unwrap_or(defaults.tie_band),
        precision: precision_of(&run.plan),
        ..defaults
    };
    summarise(trials, &options)
        .map_err(|error| CommandError::Failed(format!("cannot summarise the run {}: {error}", run.id)))
}

/// The half-width that a plan requests, else the default of the statistics: 0.02 is ±2 %.
pub fn precision_of(plan: &Value) -> f64 {
    let defaults = Options::default().precision;
    plan["precision"].as_f64().unwrap_or(defaults)
}

/// What a report says about services in addition to their numbers. A run stores it in its plan.
pub fn service_infos(services: &[Service]) -> Vec<ServiceInfo> {
    let info = |service: &Service| ServiceInfo {
        service: service.name.clone(),
        variant: service.variant.clone(),
        title: service.title.clone(),
        language: service.language.clone(),
        framework: service.framework.clone(),
        class: service.class.word().to_owned(),
        version: Some(service.version.clone()),
        workers: Some(service.workers.note.clone()).filter(|note| !note.is_empty()),
        note: service.note.clone(),
        pinned: service.pinned,
        formerly: service.formerly.clone(),
        image: None,
        source: source_of(service),
        build: service.build.clone(),
        start: service.reached.command().map(str::to_owned),
    };
    services.iter().map(info).collect()
}

/// The folder of a service's source, relative to the root of its repository, or else of its project.
fn source_of(service: &Service) -> Option<String> {
    let folder = &service.source.folder;
    let revision = service.revision.as_ref();
    let top = revision.map(|revision| revision.checkout.as_path());
    let top = top.or_else(|| git::work_tree(folder)).unwrap_or(&service.project);
    let path = folder.strip_prefix(top).ok()?;
    if path == Path::new("") {
        return Some(".".to_owned());
    }
    Some(path.to_string_lossy().into_owned())
}

/// The plan to store, with a description of its services for the report.
pub(super) fn plan_to_keep(
    plan: Value,
    services: &[Service],
    contracts: &BTreeMap<String, Contract>,
    (built, fingerprints): (&BuildResults, &BTreeMap<ServiceId, Fingerprint>),
) -> Value {
    let mut plan = plan;
    if let Some(object) = plan.as_object_mut() {
        let fingerprints: BTreeMap<String, &Fingerprint> = fingerprints
            .iter()
            .map(|(service, fingerprint)| (service.to_string(), fingerprint))
            .collect();
        object.insert(
            RunRecord::FINGERPRINTS.to_owned(),
            serde_json::json!(fingerprints),
        );
        let infos = with_images(service_infos(services), built);
        object.insert("services".to_owned(), serde_json::json!(infos));
    }
    add_ceilings(&mut plan, |name| contracts.get(name));
    plan
}

/// Adds the container images.
fn with_images(mut infos: Vec<ServiceInfo>, built: &BuildResults) -> Vec<ServiceInfo> {
    for info in &mut infos {
        let id = ServiceId {
            service: info.service.clone(),
            variant: info.variant.clone(),
        };
        let container = built
            .get(&id)
            .and_then(|built| built.as_ref().ok()?.container.as_ref());
        info.image = container.map(|container| container.image.to_string());
    }
    infos
}

/// Adds to each group the highest rate that a slow backing service of the contract permits; null if there is no limit. Groups that
/// have the key already stay as they are.
pub fn add_ceilings<'a>(plan: &mut Value, contract: impl Fn(&str) -> Option<&'a Contract>) {
    let groups = plan.get_mut("groups").and_then(Value::as_array_mut);
    for group in groups.into_iter().flatten().filter_map(Value::as_object_mut) {
        if group.contains_key(CEILING) {
            continue;
        }
        let text = |key: &str| group.get(key).and_then(Value::as_str);
        let load = group
            .get("load")
            .and_then(|load| serde_json::from_value::<Load>(load.clone()).ok());
        let Some(contract) = text("contract").and_then(&contract) else {
            continue;
        };
        let ceiling = load
            .zip(text("workload"))
            .and_then(|(load, workload)| contract.ceiling_per_s(workload, &load).ok()?);
        group.insert(CEILING.to_owned(), ceiling.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_can_name_source_and_commands_of_a_service() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalogue = prony_config::Catalogue::read(&root).expect("the catalogue");
        let all = service_infos(&catalogue.services);
        let axum = all
            .iter()
            .find(|info| info.service == "rust-axum")
            .expect("the service");
        assert_eq!(axum.source.as_deref(), Some("services/rust-axum"));
        assert!(axum.build[0].contains("cargo build"), "{:?}", axum.build);
        assert!(axum.start.is_some());
    }

    #[test]
    fn a_plan_keeps_the_ceiling_that_its_slow_backing_service_sets() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/relay");
        let relay = Contract::load(&folder).expect("the contract");
        let contracts = BTreeMap::from([("relay".to_owned(), relay)]);
        let load = serde_json::json!({ "kind": "closed", "connections": 2000, "in_flight": 1 });
        let group =
            |contract: &str| serde_json::json!({ "contract": contract, "workload": "half", "load": load });
        let plan = serde_json::json!({ "groups": [group("relay"), group("another")] });
        let stored_plan = plan_to_keep(plan, &[], &contracts, (&BuildResults::new(), &BTreeMap::new()));
        let ceiling = stored_plan["groups"][0][CEILING].as_f64().expect("a ceiling");
        assert!((ceiling - 2000.0 / 0.015).abs() < 1e-6, "{ceiling}");
        assert!(stored_plan["groups"][1].get(CEILING).is_none());
        assert_eq!(
            plan_to_keep(
                stored_plan.clone(),
                &[],
                &BTreeMap::new(),
                (&BuildResults::new(), &BTreeMap::new())
            )["groups"],
            stored_plan["groups"]
        );
        assert_eq!(
            plan_to_keep(
                Value::Null,
                &[],
                &contracts,
                (&BuildResults::new(), &BTreeMap::new())
            ),
            Value::Null
        );
    }
}
