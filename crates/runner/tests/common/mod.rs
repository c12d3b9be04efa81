//! A plan of toy services under the hello contract, on this machine, with a small generator.
#![allow(dead_code, reason = "each test binary uses its own part")]

use prony_config::contract::Contract;
use prony_config::{Catalogue, Class, GroupPlan, Plan, Service, Source, WarmUpChoice, WorkerKind, Workers};
use prony_host::{Isolation, Local};
use prony_load::{Load, Protocol};
use prony_records::{
    Exclusion, Measurement, Recording, ServiceId, TrialRecord, TrialStage, Warning, WarningKind,
};
use prony_runner::designs::design_of;
use prony_runner::generators::ProcessGenerator;
use prony_runner::testbed::{Member, Testbed as Hosts};
use prony_runner::{
    BuildOutput, Cancel, Certificates, Journal, JournalError, NextRound, NoiseLimits, Options, Progress, Run,
    RunContext, RunEnd, Seeds, execute,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const TOY: &str = env!("CARGO_BIN_EXE_prony-runner-toy");

/// A checkout with toy services.
pub(crate) struct Testbed {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) hosts: Hosts,
    pub(crate) generator: ProcessGenerator,
    pub(crate) catalogue: Catalogue,
    pub(crate) plan: Plan,
    pub(crate) options: Options,
    pub(crate) cancel: Cancel,
    pub(crate) built: BTreeMap<ServiceId, Result<BuildOutput, Exclusion>>,
    pub(crate) seeds: Seeds,
    pub(crate) certificates: Certificates,
}

type React = Box<dyn FnMut(&Progress)>;

/// What a run said.
#[derive(Default)]
pub(crate) struct TestJournal {
    /// What an earlier session has kept.
    pub(crate) stored: Vec<TrialRecord>,
    /// How long earlier sessions took.
    pub(crate) time_spent: Duration,
    pub(crate) records: Vec<TrialRecord>,
    /// The records of trials as far as their windows went.
    pub(crate) provisional: Vec<TrialRecord>,
    pub(crate) progress: Vec<Progress>,
    /// Called with each progress.
    pub(crate) react: Option<React>,
    pub(crate) enough_after: Option<u32>,
    /// After this round only these entries go on.
    pub(crate) only: Option<(u32, BTreeSet<usize>)>,
}

impl TestJournal {
    /// Cancels the run in the first phase of a load.
    pub(crate) fn that_cancels(cancel: Cancel) -> Self {
        Self {
            react: Some(Box::new(move |progress| {
                if matches!(progress, Progress::Phase(_)) && !cancel.is_asked() {
                    cancel.ask();
                }
            })),
            ..Self::default()
        }
    }
}

impl Journal for TestJournal {
    fn history(&mut self) -> Result<Vec<TrialRecord>, JournalError> {
        Ok(self.stored.clone())
    }

    fn time_spent(&self) -> Duration {
        self.time_spent
    }

    fn progress(&mut self, progress: Progress) {
        if let Some(react) = &mut self.react {
            react(&progress);
        }
        self.progress.push(progress);
    }

    fn provisional(&mut self, record: &TrialRecord) -> Result<(), JournalError> {
        assert!(record.provisional && record.result.is_ok());
        self.provisional.push(record.clone());
        Ok(())
    }

    fn append(&mut self, record: &TrialRecord) -> Result<(), JournalError> {
        self.records.push(record.clone());
        Ok(())
    }

    fn warnings_of(&self, loads: &[&Recording]) -> Vec<Warning> {
        let text = format!("{} loads at once", loads.len());
        vec![Warning::new(WarningKind::NetworkBound, text)]
    }

    fn next_round(&mut self, done: u32) -> NextRound {
        if self.enough_after.is_some_and(|enough| done >= enough) {
            return NextRound::End(RunEnd::Precise);
        }
        match &self.only {
            Some((after, entries)) if done >= *after => NextRound::Only(entries.clone()),
            _ => NextRound::All,
        }
    }
}

impl Testbed {
    /// A service for each behaviour, in a plan of one round with short trials.
    pub(crate) fn new(behaviours: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/hello");
        let contract = Contract::load(&contract).expect("the contract");
        let host = Local::new(vec![TOY.into(), "supervise".into()]);
        let logs = folder.path().join("log");
        let hosts = Hosts::here(Member::new("", Arc::new(host), vec![TOY.to_owned()], logs));
        let services: Vec<Service> = behaviours
            .iter()
            .map(|behaviour| service(behaviour, folder.path()))
            .collect();
        let built = services
            .iter()
            .map(|service| (id(service), Ok(built(folder.path()))))
            .collect();
        Self {
            generator: ProcessGenerator::new(hosts.clone()),
            hosts,
            plan: plan(&services),
            catalogue: Catalogue {
                root: folder.path().to_owned(),
                shipped: None,
                services,
                toolchains: BTreeMap::new(),
                contracts: BTreeMap::from([("hello".to_owned(), contract)]),
                backing_services: BTreeMap::new(),
                broken: Vec::new(),
            },
            options: Options {
                isolation: Isolation::WherePossible,
                noise: None,
                silence: Duration::from_secs(30),
            },
            cancel: Cancel::new(),
            seeds: Seeds::new(&folder.path().join("backing-services")),
            certificates: Certificates::default(),
            built,
            folder,
        }
    }

    /// The folder of the logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub(crate) fn run(&self, heard: &mut TestJournal) -> RunEnd {
        let run = Run {
            plan: &self.plan,
            context: RunContext {
                testbed: &self.hosts,
                generator: &self.generator,
                options: &self.options,
                cancel: &self.cancel,
                catalogue: &self.catalogue,
                seeds: &self.seeds,
                certificates: &self.certificates,
            },
            built: std::slice::from_ref(&self.built),
        };
        execute(&*design_of(&self.plan), &run, heard).expect("records are kept")
    }

    /// Runs all and gives what each service gave.
    pub(crate) fn results(&self) -> Vec<Result<Measurement, Exclusion>> {
        let mut heard = TestJournal::default();
        assert_eq!(self.run(&mut heard), RunEnd::Complete);
        heard.records.sort_by_key(|record| record.service.clone());
        heard.records.into_iter().map(|record| record.result).collect()
    }

    /// The one exclusion of a testbed with one service.
    pub(crate) fn excluded(&self) -> Exclusion {
        self.results().remove(0).expect_err("excluded")
    }
}

pub(crate) fn id(service: &Service) -> ServiceId {
    ServiceId {
        service: service.name.clone(),
        variant: service.variant.clone(),
    }
}

pub(crate) fn service(behaviour: &str, folder: &Path) -> Service {
    Service {
        name: behaviour.replace(' ', "-"),
        variant: "current".to_owned(),
        default: true,
        title: "Toy".to_owned(),
        language: "Rust".to_owned(),
        framework: "hyper".to_owned(),
        version: "1".to_owned(),
        version_from: None,
        class: Class::Platform,
        pinned: false,
        formerly: Vec::new(),
        note: None,
        contracts: vec!["hello".to_owned()],
        protocols: vec![Protocol::Http1],
        tls: Vec::new(),
        studies: Vec::new(),
        toolchains: Vec::new(),
        workers: Workers {
            kind: Some(WorkerKind::Threads),
            note: "one thread".to_owned(),
        },
        build: vec!["true".to_owned()],
        reached: prony_config::ServiceOrigin::Run(format!("exec {TOY} serve {behaviour}")),
        env: BTreeMap::from([("PRONY_TOY".to_owned(), folder.display().to_string())]),
        pass: Vec::new(),
        compiler_threads: Vec::new(),
        revision: None,
        start_timeout: Duration::from_secs(20),
        project: folder.to_owned(),
        folder: folder.to_owned(),
        source: Source::all_of(folder.to_owned()),
        shared_scripts: folder.parent().map(Path::to_owned),
        copies: BTreeMap::new(),
        guide: None,
        unavailable_hint: None,
    }
}

fn built(folder: &Path) -> BuildOutput {
    BuildOutput {
        folder: folder.to_owned(),
        environment: BTreeMap::new(),
        fingerprint: prony_records::Fingerprint::default(),
        versions: BTreeMap::new(),
        version: None,
        container: None,
        cached: true,
        took: Duration::ZERO,
        in_use: prony_runner::BuildLock::default(),
    }
}

fn plan(services: &[Service]) -> Plan {
    let group = GroupPlan {
        contract: "hello".to_owned(),
        workload: "hello".to_owned(),
        load: Load::closed(1, 1),
        warm_up: WarmUpChoice::FixedNs(200_000_000),
        duration_ns: 500_000_000,
        timeout_ns: 2_000_000_000,
        search: None,
        rank_by: None,
        start: None,
        rounds: None,
        over: None,
        requests_per_connection: None,
        resumption: None,
        baselines: [].into(),
    };
    let services: Vec<&Service> = services.iter().collect();
    Plan {
        title: "Toys".to_owned(),
        seed: 7,
        ..Plan::of_group("toys", 1, group, &services, Protocol::Http1)
    }
}

/// Living processes that a testbed started, wherever they are: they carry its mark in their environment.
pub(crate) fn leftovers(testbed: &Testbed) -> Vec<String> {
    let wanted = format!("PRONY_TOY={}", testbed.folder.path().display());
    let pids = std::fs::read_dir("/proc").expect("there").flatten();
    let pids = pids.filter(|entry| entry.file_name().to_string_lossy().parse::<i32>().is_ok());
    let environment = |path: &Path| std::fs::read(path.join("environ")).unwrap_or_default();
    let marked = pids.filter(|entry| {
        environment(&entry.path())
            .split(|&byte| byte == 0)
            .any(|variable| variable == wanted.as_bytes())
    });
    marked
        .map(|entry| std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default())
        .collect()
}

pub(crate) fn quiet() -> NoiseLimits {
    NoiseLimits {
        others: 1.1,
        steal: 1.1,
    }
}

pub(crate) fn stage(result: &Result<Measurement, Exclusion>) -> Option<TrialStage> {
    result.as_ref().err().map(|excluded| excluded.stage)
}
