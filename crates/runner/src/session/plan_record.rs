//! The plan as stored in a run: writing and reading its additional keys.

use super::BuildResults;
use crate::CommandError;
use crate::build::hex;
use prony_config::Service;
use prony_config::contract::Contract;
use prony_files::{Entry, EntryKind, Walk};
use prony_load::Load;
use prony_records::{RunRecord, ServiceId, ServiceInfo, TrialRecord};
use prony_statistics::{Options, Summary, summarise};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// Key of a group of a stored plan: the highest rate that a service can reach, if something limits it.
const CEILING: &str = "ceiling_per_s";

/// Key of a stored plan: the digest that identifies each service's build, by the label of the service.
const BUILDS: &str = "build_digests";

/// Key of a stored plan: the digest of each contract of its groups, by name.
const CONTRACTS: &str = "contract_digests";

/// Hexadecimal digits of a contract's digest.
const DIGITS: usize = 12;

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
        source: source_of(&service.folder),
    };
    services.iter().map(info).collect()
}

/// The folder of a service, relative to the root of its project.
fn source_of(folder: &Path) -> Option<String> {
    let parts: Vec<&str> = folder.iter().filter_map(OsStr::to_str).collect();
    let at = parts.iter().rposition(|&part| part == "services")?;
    Some(parts[at..].join("/"))
}

/// The plan to store, with a description of its services for the report.
pub(super) fn plan_to_keep(
    plan: Value,
    services: &[Service],
    contracts: &BTreeMap<String, Contract>,
    built: &BuildResults,
) -> Value {
    let mut plan = plan;
    if let Some(object) = plan.as_object_mut() {
        let digests: BTreeMap<String, &String> = built
            .iter()
            .filter_map(|(id, built)| Some((id.to_string(), &built.as_ref().ok()?.digest)))
            .collect();
        object.insert(BUILDS.to_owned(), serde_json::json!(digests));
        let infos = with_images(service_infos(services), built);
        object.insert("services".to_owned(), serde_json::json!(infos));
        let digests = contract_digests(object.get("groups"), contracts);
        object.insert(CONTRACTS.to_owned(), serde_json::json!(digests));
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

/// The digests of the builds with which a run began, by label of the service; empty if the run has none.
pub(super) fn builds_of(plan: &Value) -> BTreeMap<String, String> {
    stored(plan, BUILDS)
}

/// The digests of the contracts of a stored plan, and their digests now, by the name of the contract.
pub(super) fn contracts_of(
    plan: &Value,
    contracts: &BTreeMap<String, Contract>,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    (
        stored(plan, CONTRACTS),
        contract_digests(plan.get("groups"), contracts),
    )
}

fn stored(plan: &Value, key: &str) -> BTreeMap<String, String> {
    let value = plan.get(key).cloned();
    value
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default()
}

fn contract_digests(
    groups: Option<&Value>,
    contracts: &BTreeMap<String, Contract>,
) -> BTreeMap<String, String> {
    let groups = groups.and_then(Value::as_array).into_iter().flatten();
    let names = groups.filter_map(|group| group["contract"].as_str());
    let known = names.filter_map(|name| contracts.get(name));
    known
        .map(|contract| (contract.name.clone(), digest(&contract.folder)))
        .collect()
}

/// The digest of names and contents of all files of a folder. Unreadable files count as empty. A link counts as the file that it
/// leads to, or else as its target.
fn digest(folder: &Path) -> String {
    let mut digest = Sha256::new();
    let walk = Walk::new(folder);
    let mut entries: Vec<Entry> = walk.readable().collect();
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    for Entry { path, kind, .. } in entries {
        let file = folder.join(&path);
        let content = match kind {
            EntryKind::Link(target) if !file.is_file() => target.into_os_string().into_encoded_bytes(),
            EntryKind::File | EntryKind::Link(_) => std::fs::read(&file).unwrap_or_default(),
            EntryKind::Folder | EntryKind::Special(_) => continue,
        };
        digest.update(path.as_os_str().as_encoded_bytes());
        digest.update((content.len() as u64).to_le_bytes());
        digest.update(content);
    }
    let bytes = digest.finalize();
    hex(&bytes[..DIGITS / 2])
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
    fn a_plan_keeps_the_ceiling_that_its_slow_backing_service_sets() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/relay");
        let relay = Contract::load(&folder).expect("the contract");
        let contracts = BTreeMap::from([("relay".to_owned(), relay)]);
        let load = serde_json::json!({ "kind": "closed", "connections": 2000, "in_flight": 1 });
        let group =
            |contract: &str| serde_json::json!({ "contract": contract, "workload": "half", "load": load });
        let plan = serde_json::json!({ "groups": [group("relay"), group("another")] });
        let stored_plan = plan_to_keep(plan, &[], &contracts, &BuildResults::new());
        let ceiling = stored_plan["groups"][0][CEILING].as_f64().expect("a ceiling");
        assert!((ceiling - 2000.0 / 0.015).abs() < 1e-6, "{ceiling}");
        assert!(stored_plan["groups"][1].get(CEILING).is_none());
        assert_eq!(
            plan_to_keep(stored_plan.clone(), &[], &BTreeMap::new(), &BuildResults::new())["groups"],
            stored_plan["groups"]
        );
        assert_eq!(
            plan_to_keep(Value::Null, &[], &contracts, &BuildResults::new()),
            Value::Null
        );
    }
}
