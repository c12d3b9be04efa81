//! Measuring a plan on this machine: build, begin, measure, finish.

mod checks;
mod environment_warnings;
mod exclusions;
mod observer;
mod plan_record;
mod resume;
mod saved_load;

pub use plan_record::{add_ceilings, service_infos, summary, wished_precision};
pub use resume::ResumedRun;
pub use saved_load::{ReservedRun, neighbours};

use plan_record::plan_to_keep;

use crate::clock::now;
use crate::designs::design_of;
use crate::error::ErrorContext as _;
use crate::{BuildOutput, Builder, Design, Folders, Noise, Progress, Run, RunEnd, builds_at_once, execute};
use crate::{Checkout, CommandError, LocalTestbed};
use checks::Checks;
use observer::RunObserver;
use prony_config::{Catalogue, Plan, Service};
use prony_records::{Exclusion, RunRecord, ServiceId, TrialRecord, Warning, WarningKind};
use prony_store::{RunLock, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long the machine is watched for the noise of others before the first trial.
const IDLE_WINDOW: Duration = Duration::from_secs(1);

/// The end of the variant of a service that is compared with itself: it is in the catalogue twice, and built once.
pub(crate) const AGAIN: &str = "+again";

/// Every service of a plan, built or not.
pub type BuildResults = BTreeMap<ServiceId, Result<BuildOutput, Exclusion>>;

/// Where and how a plan is measured.
pub struct Session<'a> {
    /// The checkout.
    pub checkout: &'a Checkout,
    /// Services and contracts.
    pub catalogue: &'a Catalogue,
    /// Where the trials are kept.
    pub store: &'a Store,
    /// The machine, and how trials are done on it.
    pub workbench: &'a LocalTestbed,
}

/// Who shows how a session goes.
pub trait SessionObserver: Sync {
    /// Something is worth a line.
    fn says(&self, text: &str);

    /// A build goes on.
    fn building(&self, progress: &Progress);

    /// All builds are done.
    fn built(&self, built: &BuildResults);

    /// The run has its name, or goes on.
    fn begins(&mut self, _run: &RunRecord) {}

    /// Trials that ended before the run was continued.
    fn knows(&mut self, trials: &[TrialRecord]);

    /// Something happened.
    fn saw(&mut self, progress: &Progress);

    /// The last trial has ended.
    fn done(&mut self);
}

impl Session<'_> {
    /// Measures a plan, or what a run left of it. A run that the user ended early, or that
    /// lost a host, has no end: it can be continued.
    pub fn measure(
        &self,
        plan: &Plan,
        resumed: Option<ResumedRun>,
        shows: &mut dyn SessionObserver,
    ) -> Result<(RunRecord, RunEnd), CommandError> {
        self.measure_by(&*design_of(plan), plan, resumed, shows)
    }

    /// The same by a design that has more to go by than the plan.
    pub(crate) fn measure_by(
        &self,
        design: &dyn Design,
        plan: &Plan,
        mut resumed: Option<ResumedRun>,
        shows: &mut dyn SessionObserver,
    ) -> Result<(RunRecord, RunEnd), CommandError> {
        let folders = Folders::of(&self.checkout.root, &self.checkout.state());
        let bench = self.workbench;
        let builder = Builder::new(&bench.testbed, &self.catalogue.toolchains, folders, &bench.cancel);
        if let Some(resumed) = &mut resumed {
            resumed.fits(self, plan, &builder)?;
        }
        let names = plan.entries.iter().map(|entry| entry.service.as_str());
        self.checkout.has_room(names)?;
        bench.hold(&|text| shows.says(text))?;
        bench.links()?;
        let built = self.build(plan, builder, shows, resumed.is_none())?;
        // The lock is held until this function returns: no other process may add to the run.
        let (record, _lock) = if let Some(resumed) = resumed {
            resumed.into_parts()
        } else {
            let noise = Noise::before(bench.host(), IDLE_WINDOW);
            let hint = noise.and_then(|noise| environment_warnings::of(noise, plan, "before the run"));
            if let Some(hint) = &hint {
                shows.says(&hint.text);
            }
            let tokens = environment_warnings::of_tokens(self.catalogue, plan);
            if let Some(tokens) = &tokens {
                shows.says(&tokens.text);
            }
            let warnings = noise
                .and_then(Noise::warning)
                .into_iter()
                .chain(hint)
                .chain(tokens);
            self.begin_with(plan, &built[0], warnings.collect())?
        };
        shows.begins(&record);
        let trials = self.store.trials(&record.id)?;
        shows.knows(&trials);
        let run = Run {
            plan,
            context: self.workbench.bench(self.catalogue),
            built: &built,
        };
        let checks = Checks::new(plan, self.catalogue, self.store.check_matrix(Some(&record.id))?);
        let cpus = self.workbench.host().topology().cpus().len();
        let mut watch = RunObserver::new(self.store, (&record, plan), cpus, shows, checks);
        let end =
            execute(design, &run, &mut watch).map_err(|error| CommandError::Failed(error.to_string()))?;
        watch.discard_provisional()?;
        watch.done();
        let warnings = watch.warnings()?;
        self.finish(&record, &end, warnings)?;
        Ok((record, end))
    }

    /// Builds each service as often as the plan says; several builds are made anew where the run is.
    fn build(
        &self,
        plan: &Plan,
        mut builder: Builder<'_>,
        shows: &dyn SessionObserver,
        fresh: bool,
    ) -> Result<Vec<BuildResults>, CommandError> {
        let bench = self.workbench;
        let mut all = Vec::new();
        for number in 0..plan.builds.max(1) {
            if plan.builds > 1 {
                builder = builder.repeated(number, fresh);
            }
            let at_once = builds_at_once(bench.host().memory_available_bytes());
            let services = self.services_of(plan);
            let (again, once): (Vec<&Service>, Vec<&Service>) = services
                .into_iter()
                .partition(|service| service.variant.ends_with(AGAIN));
            let mut built = builder.build_all(&once, at_once, &|progress| {
                shows.building(&progress);
            });
            for service in again {
                let id = |variant: &str| ServiceId {
                    service: service.name.clone(),
                    variant: variant.to_owned(),
                };
                let same = built.get(&id(service.variant.trim_end_matches(AGAIN))).cloned();
                built.extend(same.map(|same| (id(&service.variant), same)));
            }
            if bench.cancel.is_asked() {
                return Err(CommandError::Interrupted(
                    "ended while building: what was built so far is kept".to_owned(),
                ));
            }
            shows.built(&built);
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

    /// Stores a new run of this plan with the state of the machine. While the lock is held, no other process may measure the run.
    pub fn begin(&self, plan: &Plan, built: &BuildResults) -> Result<(RunRecord, RunLock), CommandError> {
        let noise = Noise::before(self.workbench.host(), IDLE_WINDOW);
        let warning = noise.and_then(Noise::warning);
        self.begin_with(plan, built, warning.into_iter().collect())
    }

    fn begin_with(
        &self,
        plan: &Plan,
        built: &BuildResults,
        warnings: Vec<Warning>,
    ) -> Result<(RunRecord, RunLock), CommandError> {
        let started_at = now();
        let mut environment = self.workbench.environment();
        environment.links = self.workbench.links()?.to_vec();
        environment.commit = self.checkout.commit();
        environment.repository = self.checkout.repository();
        environment.runtimes = built
            .values()
            .flatten()
            .flat_map(|built| built.versions.clone())
            .collect();
        let services: Vec<Service> = self.services_of(plan).into_iter().cloned().collect();
        let services = with_built_versions(services, built);
        let plan_json = serde_json::to_value(plan).failed(|| "the plan cannot be stored".to_owned())?;
        let time = started_at.trim_end_matches('Z').replace(':', "-");
        let record = RunRecord {
            id: format!("{time}-{}", plan.suite),
            suite: plan.suite.clone(),
            started_at,
            ended_at: None,
            environment,
            plan: plan_to_keep(plan_json, &services, &self.catalogue.contracts, built),
            planned_trials: plan.len(),
            seed: plan.seed,
            warnings,
        };
        Ok(self.store.begin_new_run(record)?)
    }

    fn finish(
        &self,
        record: &RunRecord,
        end: &RunEnd,
        mut warnings: Vec<Warning>,
    ) -> Result<(), CommandError> {
        let warning = match end {
            RunEnd::Interrupted | RunEnd::HostLost(_) => return Ok(()),
            RunEnd::BudgetSpent => Some(Warning::new(
                WarningKind::BudgetSpent,
                "the budget of time was spent before all rounds were done or every interval reached the requested precision",
            )),
            RunEnd::Complete | RunEnd::Precise => None,
        };
        warnings.extend(warning);
        Ok(self.store.finish_run(&record.id, &now(), &warnings)?)
    }
}

/// The services with the versions that their builds told.
fn with_built_versions(mut services: Vec<Service>, built: &BuildResults) -> Vec<Service> {
    for service in &mut services {
        let id = ServiceId {
            service: service.name.clone(),
            variant: service.variant.clone(),
        };
        let told = built.get(&id).and_then(|built| built.as_ref().ok());
        if let Some(version) = told.and_then(|built| built.version.as_ref()) {
            service.version.clone_from(version);
        }
    }
    services
}
