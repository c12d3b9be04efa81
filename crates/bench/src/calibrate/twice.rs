//! One service entered twice: what differs is the instrument and the machine.

use crate::error::Told as _;
use crate::{BenchError, Checkout, Session, Shows, Workbench};
use prony_load::{Load, Protocol};
use prony_measurement::TrialRecord;
use prony_plan::{Catalogue, Class, GroupPlan, Plan, Reached, Service, WarmUpChoice, Workers, WorkersUse};
use prony_store::Store;
use prony_trial::RunEnd;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const NAMES: [&str; 2] = ["toy-once", "toy-again"];
const CONNECTIONS: u32 = 32;
const WARM_UP_NS: u64 = 500_000_000;
const MEASUREMENT_NS: u64 = 1_500_000_000;
const TIMEOUT_NS: u64 = 10_000_000_000;

/// Measures the toy server under two names in a run of its own, and gives its trials.
pub(super) fn measure(
    checkout: &Checkout,
    catalogue: &mut Catalogue,
    (store, workbench): (&Store, &Workbench),
    rounds: u32,
    shows: &mut dyn FnMut(&Plan) -> Box<dyn Shows>,
) -> Result<Vec<TrialRecord>, BenchError> {
    let folder = checkout.state().join("calibration");
    std::fs::create_dir_all(&folder).failed(|| format!("cannot make the folder {}", folder.display()))?;
    catalogue
        .services
        .extend(NAMES.map(|name| toy(name, Path::new(&workbench.program), &folder)));
    let plan = plan(rounds, catalogue);
    let session = Session {
        checkout,
        catalogue,
        store,
        workbench,
    };
    let (record, end) = session.measure(&plan, None, &mut *shows(&plan))?;
    if end == RunEnd::Interrupted {
        return Err(BenchError::Interrupted(
            "ended early: nothing was calibrated".to_owned(),
        ));
    }
    if let RunEnd::HostLost(reason) = end {
        return Err(BenchError::Failed(reason));
    }
    let trials = store.trials(&record.id)?;
    let failed = trials.iter().find_map(|trial| trial.result.as_ref().err());
    match failed {
        Some(excluded) if trials.iter().all(|trial| trial.result.is_err()) => Err(BenchError::Failed(
            format!("no trial of the toy server gave numbers: {}", excluded.reason),
        )),
        _ => Ok(trials),
    }
}

fn toy(name: &str, executable: &Path, folder: &Path) -> Service {
    Service {
        name: name.to_owned(),
        variant: "current".to_owned(),
        default: true,
        title: "prony's toy server".to_owned(),
        language: "Rust".to_owned(),
        framework: "none".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        version_from: None,
        class: Class::Stripped,
        era: false,
        note: None,
        contracts: vec!["hello".to_owned()],
        protocols: vec![Protocol::Http1],
        documents: Vec::new(),
        toolchains: Vec::new(),
        workers: Workers {
            uses: WorkersUse::OneCpu,
            how: "one thread".to_owned(),
        },
        build: Vec::new(),
        reached: Reached::Run(format!(
            "exec '{}' toy",
            executable.display().to_string().replace('\'', r"'\''")
        )),
        env: BTreeMap::new(),
        start_timeout: Duration::from_secs(10),
        folder: folder.to_owned(),
        copies: BTreeMap::new(),
        guide: None,
        unavailable_hint: None,
    }
}

fn plan(rounds: u32, catalogue: &Catalogue) -> Plan {
    let services: Vec<&Service> = catalogue
        .services
        .iter()
        .filter(|service| NAMES.contains(&service.name.as_str()))
        .collect();
    let group = GroupPlan {
        contract: "hello".to_owned(),
        workload: "hello".to_owned(),
        load: Load::closed(CONNECTIONS, 1),
        warm_up: WarmUpChoice::FixedNs(WARM_UP_NS),
        duration_ns: MEASUREMENT_NS,
        timeout_ns: TIMEOUT_NS,
        search: None,
    };
    Plan {
        title: "one service entered twice".to_owned(),
        no_errors: true,
        ..Plan::of_group("calibrate", rounds, group, &services, Protocol::Http1)
    }
}
