//! A/A test: one service under two names. Differences come from prony or the machine.

use crate::RunEnd;
use crate::error::ErrorContext as _;
use crate::{Checkout, CommandError, LocalTestbed, Session, SessionObserver};
use prony_config::{Catalogue, GroupPlan, Plan, Service, WarmUpChoice};
use prony_load::{Load, Protocol};
use prony_records::TrialRecord;
use prony_store::Store;

const NAMES: [&str; 2] = ["toy-once", "toy-again"];
const SERVICE: &str = r#"name = "NAME"
title = "prony's toy server"
language = "Rust"
framework = "none"
class = "stripped"
contracts = ["hello"]
toolchains = []
build = []
run = RUN
start_timeout = "10s"

[workers]
uses = "one-cpu"
how = "one thread"

[[variant]]
name = "current"
version = "VERSION"
"#;
const CONNECTIONS: u32 = 32;
const WARM_UP_NS: u64 = 500_000_000;
const MEASUREMENT_NS: u64 = 1_500_000_000;
const TIMEOUT_NS: u64 = 10_000_000_000;

/// Measures the toy server under two names in a separate run. Returns its trials.
pub(super) fn measure(
    checkout: &Checkout,
    (store, workbench): (&Store, &LocalTestbed),
    rounds: u32,
    observe: &mut dyn FnMut(&Plan) -> Box<dyn SessionObserver>,
) -> Result<Vec<TrialRecord>, CommandError> {
    let project = Checkout {
        root: checkout.state().join("calibration"),
    };
    let run = command(&workbench.testbed.service().prony(&["toy"]));
    NAMES.iter().try_for_each(|name| write(&project, name, &run))?;
    let catalogue = &project.catalogue()?;
    let plan = plan(rounds, catalogue);
    let session = Session {
        checkout: &project,
        catalogue,
        store,
        workbench,
    };
    let (record, end) = session.measure(&plan, None, &mut *observe(&plan))?;
    if end == RunEnd::Interrupted {
        return Err(CommandError::Interrupted(
            "ended early: nothing was calibrated".to_owned(),
        ));
    }
    if let RunEnd::HostLost(reason) = end {
        return Err(CommandError::Failed(reason));
    }
    let trials = store.trials(&record.id)?;
    let failed = trials.iter().find_map(|trial| trial.result.as_ref().err());
    match failed {
        Some(excluded) if trials.iter().all(|trial| trial.result.is_err()) => Err(CommandError::Failed(
            format!("no trial of the toy server has a result: {}", excluded.reason),
        )),
        _ => Ok(trials),
    }
}

/// A shell command that runs these words.
fn command(words: &[String]) -> String {
    let quoted = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    format!("exec {}", quoted.collect::<Vec<_>>().join(" "))
}

/// Writes a service that runs the toy server: as a service it can run on any host.
fn write(project: &Checkout, name: &str, run: &str) -> Result<(), CommandError> {
    let folder = project.root.join("services").join(name);
    let cannot = || format!("cannot write the folder {}", folder.display());
    std::fs::create_dir_all(&folder).failed(cannot)?;
    let text = SERVICE
        .replace("NAME", name)
        .replace("VERSION", env!("CARGO_PKG_VERSION"))
        .replace("RUN", &toml::Value::from(run).to_string());
    std::fs::write(folder.join("service.toml"), text).failed(cannot)
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
        rank_by: None,
        start: None,
        rounds: None,
        over: None,
        requests_per_connection: None,
        resumption: None,
        baselines: [].into(),
    };
    Plan {
        title: "one service entered twice".to_owned(),
        no_errors: true,
        ..Plan::of_group("calibrate", rounds, group, &services, Protocol::Http1)
    }
}
