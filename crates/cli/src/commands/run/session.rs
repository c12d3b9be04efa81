//! Measuring a plan on this machine: build, begin, measure, finish.

use super::checks::Checks;
use super::signals::listen;
use super::view::View;
use super::watch::Watch;
use crate::checkout::Checkout;
use crate::reporting;
use anyhow::{Context as _, anyhow};
use prony_host::{Host, Isolation, Local};
use prony_measurement::{Exclusion, RunRecord, ServiceId, Warning, WarningKind};
use prony_plan::{Catalogue, Plan, Service};
use prony_store::Store;
use prony_trial::{
    Bench, Builder, Built, Cancel, Folders, NoiseLimits, Options, ProcessGenerator, Run, RunEnd, run_plan,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::{Duration, SystemTime};

/// Builds at once: each of them may use all CPUs for a while, and a JVM's build a gigabyte of memory.
const BUILDS_AT_ONCE: usize = 2;
/// How long the machine is watched for the noise of others before the first trial.
const IDLE_WINDOW: Duration = Duration::from_secs(1);

/// Every service of a plan, built or not.
pub(crate) type AllBuilt = BTreeMap<ServiceId, Result<Built, Exclusion>>;

/// Where and how a plan is measured.
pub(crate) struct Session<'a> {
    /// The checkout.
    pub(crate) checkout: &'a Checkout,
    /// Services and contracts.
    pub(crate) catalogue: &'a Catalogue,
    /// Where the trials are kept.
    pub(crate) store: &'a Store,
    /// Whether limits that cannot be set are errors.
    pub(crate) isolation: Isolation,
    /// Whether a trial that others disturbed is repeated.
    pub(crate) repeat_disturbed: bool,
}

/// The machine, and how trials are done on it.
struct Workbench {
    host: Local,
    generator: ProcessGenerator,
    options: Options,
    cancel: Cancel,
}

impl Session<'_> {
    /// Measures a plan that another command made; shows how it goes.
    pub(crate) fn carry_out(&self, plan: &Plan) -> anyhow::Result<RunRecord> {
        let mut view = View::new();
        view.announce(plan, None);
        self.measure(plan, None, &mut view)
    }

    /// Measures a plan, or what a run left of it.
    pub(super) fn measure(
        &self,
        plan: &Plan,
        resumed: Option<RunRecord>,
        view: &mut View,
    ) -> anyhow::Result<RunRecord> {
        let bench = self.workbench()?;
        listen(&bench.cancel)?;
        let built = self.build(plan, &bench, view, resumed.is_none())?;
        let record = match resumed {
            Some(record) => record,
            None => self.begin(plan, &bench.host, &built[0])?,
        };
        let trials = self.store.trials(&record.id)?;
        view.knows(&trials);
        let run = Run {
            plan,
            catalogue: self.catalogue,
            bench: Bench {
                host: &bench.host,
                generator: &bench.generator,
                options: &bench.options,
                cancel: &bench.cancel,
            },
            built: &built,
            done: &trials.iter().map(|trial| trial.place).collect(),
        };
        let checks = Checks::new(plan, self.catalogue, self.store.check_matrix(Some(&record.id))?);
        let mut watch = Watch::new(self.store, &record, plan, view, checks);
        let end = run_plan(&run, &mut watch).map_err(|reason| anyhow!(reason))?;
        watch.done();
        let left_out = watch.left_out()?;
        self.finish(&record, &end, left_out)?;
        Ok(record)
    }

    fn workbench(&self) -> anyhow::Result<Workbench> {
        let executable = std::env::current_exe().context("cannot tell where this binary lies")?;
        let program = executable
            .to_str()
            .context("the path of this binary is not UTF-8: move it elsewhere")?;
        let command = |words: &[&str]| -> Vec<String> {
            [program]
                .iter()
                .chain(words)
                .map(|&word| word.to_owned())
                .collect()
        };
        let logs = self.checkout.state().join("log");
        std::fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
        Ok(Workbench {
            host: Local::new(command(&["supervise"]).into_iter().map(OsString::from).collect()),
            generator: ProcessGenerator::new(command(&["load", "--job", "-"]), self.checkout.root.clone()),
            options: Options {
                logs,
                isolation: self.isolation,
                backend: command(&["backend"]),
                noise: self.repeat_disturbed.then(NoiseLimits::default),
            },
            cancel: Cancel::new(),
        })
    }

    /// Builds each service as often as the plan says; several builds are made anew where the run is.
    fn build(
        &self,
        plan: &Plan,
        bench: &Workbench,
        view: &View,
        fresh: bool,
    ) -> anyhow::Result<Vec<AllBuilt>> {
        let mut all = Vec::new();
        for number in 0..plan.builds.max(1) {
            let folders = Folders::of(&self.checkout.root, &self.checkout.state());
            let builder = Builder::new(&bench.host, &self.catalogue.toolchains, folders, &bench.cancel);
            let builder = if plan.builds > 1 {
                builder.repeated(number, fresh)
            } else {
                builder
            };
            let built = builder.build_all(&self.services_of(plan), BUILDS_AT_ONCE, &|progress| {
                view.building(&progress);
            });
            if bench.cancel.is_asked() {
                return Err(anyhow!("ended while building: what was built so far is kept"));
            }
            view.built(&built);
            all.push(built);
        }
        Ok(all)
    }

    /// The services of a plan, each once.
    fn services_of(&self, plan: &Plan) -> Vec<&Service> {
        let wanted: BTreeSet<(&str, &str)> = plan
            .entries
            .iter()
            .map(|entry| (entry.service.as_str(), entry.variant.as_str()))
            .collect();
        let is_wanted =
            |service: &&Service| wanted.contains(&(service.name.as_str(), service.variant.as_str()));
        self.catalogue.services.iter().filter(is_wanted).collect()
    }

    /// Stores a new run of this plan, with what the machine is like.
    pub(crate) fn begin(&self, plan: &Plan, host: &Local, built: &AllBuilt) -> anyhow::Result<RunRecord> {
        let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let mut environment = host.environment();
        environment.prony = String::from(env!("CARGO_PKG_VERSION"));
        environment.commit = self.checkout.commit();
        environment.runtimes = built
            .values()
            .flatten()
            .flat_map(|built| built.versions.clone())
            .collect();
        let services: Vec<Service> = self.services_of(plan).into_iter().cloned().collect();
        let plan_json = serde_json::to_value(plan).context("the plan cannot be stored")?;
        let noise = prony_trial::idle(host, IDLE_WINDOW, NoiseLimits::default());
        let record = RunRecord {
            id: format!(
                "{}-{}",
                started_at.trim_end_matches('Z').replace(':', "-"),
                plan.suite
            ),
            suite: plan.suite.clone(),
            started_at,
            ended_at: None,
            environment,
            plan: reporting::plan_to_keep(plan_json, &services, &self.catalogue.contracts),
            planned_trials: plan.len(),
            seed: plan.seed,
            warnings: noise.into_iter().collect(),
        };
        self.store.begin_run(&record)?;
        Ok(record)
    }

    /// A run that the user ended early has no end: it can be continued.
    fn finish(&self, record: &RunRecord, end: &RunEnd, mut warnings: Vec<Warning>) -> anyhow::Result<()> {
        let warning = match end {
            RunEnd::Interrupted => {
                eprintln!(
                    "prony: ended early; `prony run --resume {}` continues it",
                    record.id
                );
                return Ok(());
            }
            RunEnd::BudgetSpent => Some(Warning::new(
                WarningKind::BudgetSpent,
                "the budget of time was spent before all rounds were done or every interval was as tight as wished",
            )),
            RunEnd::Complete | RunEnd::Precise => None,
        };
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        warnings.extend(warning);
        Ok(self.store.finish_run(&record.id, &now, &warnings)?)
    }
}
