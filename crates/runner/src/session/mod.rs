//! A session measures a plan: it builds the services, begins or resumes a run, executes the design and finishes the run.

mod checks;
mod observer;
mod plan_record;
mod resume;
mod saved_load;
mod warnings;

pub use plan_record::{add_ceilings, precision_of, service_infos, summary};
pub use resume::{ResumeOptions, ResumedRun};
pub use saved_load::{REQUESTS_SETTING, ReservedRun, neighbours};

use plan_record::plan_to_keep;

use crate::build::id_of;
use crate::designs::design_of;
use crate::error::ErrorContext as _;
use crate::fingerprint::{FingerprintKey, Fingerprints, IgnoredFiles};
use crate::source_files;
use crate::start_time::now;
use crate::trial::{COPY, original};
use crate::withheld::withheld_variables;
use crate::{BuildOutput, Builder, Design, Folders, Noise, Progress, Run, RunEnd, builds_at_once, execute};
use crate::{Checkout, CommandError, LocalTestbed};
use checks::Checks;
use observer::{EarlierSessions, RunObserver};
use prony_config::{Catalogue, Plan, Service, SourceFiles};
use prony_records::{Exclusion, Fingerprint, RunRecord, ServiceId, TrialRecord, Warning, WarningKind};
use prony_store::{RunLock, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long the noise of the machine is observed before the first trial.
const IDLE_WINDOW: Duration = Duration::from_secs(1);

/// The result of building each service of a plan.
pub type BuildResults = BTreeMap<ServiceId, Result<BuildOutput, Exclusion>>;

/// What is needed to measure plans.
pub struct Session<'a> {
    /// The checkout.
    pub checkout: &'a Checkout,
    /// Services and contracts.
    pub catalogue: &'a Catalogue,
    /// The store of the trials.
    pub store: &'a Store,
    /// The testbed, and the options of trials.
    pub workbench: &'a LocalTestbed,
}

/// Receives the events of a session, for the live view.
pub trait SessionObserver: Sync {
    /// A message for the user.
    fn message(&self, text: &str);

    /// An event of a build.
    fn build_progress(&self, progress: &Progress);

    /// All builds have ended.
    fn builds_done(&self, built: &BuildResults);

    /// The run has begun, or continues.
    fn run_started(&mut self, _run: &RunRecord) {}

    /// Trials that earlier sessions of the run stored.
    fn stored_trials(&mut self, trials: &[TrialRecord]);

    /// An event of the run.
    fn progress(&mut self, progress: &Progress);

    /// The last trial has ended.
    fn trials_done(&mut self);
}

impl Session<'_> {
    /// Measures a plan, or the rest of a run. A run that was cancelled, or that lost a host, is not finished and can be resumed.
    pub fn measure(
        &self,
        plan: &Plan,
        resumed: Option<ResumedRun>,
        observer: &mut dyn SessionObserver,
    ) -> Result<(RunRecord, RunEnd), CommandError> {
        self.measure_by(&*design_of(plan), plan, resumed, observer)
    }

    /// Like [`Self::measure`], with a design that has more parameters than the plan.
    pub(crate) fn measure_by(
        &self,
        design: &dyn Design,
        plan: &Plan,
        mut resumed: Option<ResumedRun>,
        observer: &mut dyn SessionObserver,
    ) -> Result<(RunRecord, RunEnd), CommandError> {
        let folders = Folders::of(&self.checkout.root, &self.checkout.state());
        let bench = self.workbench;
        let builder = Builder::new(&bench.testbed, &self.catalogue.toolchains, folders, &bench.cancel);
        if let Some(resumed) = &mut resumed {
            resumed.check(self, plan, &builder)?;
        }
        let names = plan.entries.iter().map(|entry| entry.service.as_str());
        self.checkout.has_room(names)?;
        bench.hold(&|text| observer.message(text))?;
        let variables = self.workbench.environment().variables;
        if let Some(note) = withheld_variables(&variables, &self.services_of(plan)) {
            observer.message(&note);
        }
        bench.links()?;
        let built = self.build(plan, builder, observer, resumed.is_none())?;
        let earlier = match &resumed {
            Some(resumed) => self.earlier_sessions(resumed)?,
            None => EarlierSessions::default(),
        };
        // The lock is held until this function returns: no other process may add to the run.
        let (record, _lock) = if let Some(resumed) = resumed {
            resumed.into_parts()
        } else {
            let noise = Noise::before(bench.host(), IDLE_WINDOW);
            let hint = noise.and_then(|noise| warnings::of(noise, plan, "before the run"));
            if let Some(hint) = &hint {
                observer.message(&hint.text);
            }
            let tokens = warnings::of_tokens(self.catalogue, plan);
            if let Some(tokens) = &tokens {
                observer.message(&tokens.text);
            }
            // The hint says the same, with better advice.
            let of_noise = hint.or_else(|| noise.and_then(Noise::warning));
            let warnings = of_noise.into_iter().chain(tokens);
            self.begin_with(plan, &built[0], warnings.collect())?
        };
        observer.run_started(&record);
        let trials = self.store.trials(&record.id)?;
        observer.stored_trials(&trials);
        let run = Run {
            plan,
            context: self.workbench.bench(self.catalogue),
            built: &built,
        };
        let checks = Checks::new(plan, self.catalogue, self.store.check_matrix(Some(&record.id))?);
        let cpus = self.workbench.host().topology().cpus().len();
        let machine = (cpus, &self.workbench.cancel);
        let run_observer = RunObserver::new(self.store, (&record, plan), machine, observer, checks);
        let mut run_observer = run_observer.after(earlier);
        let end = execute(design, &run, &mut run_observer)
            .map_err(|error| CommandError::Failed(error.to_string()))?;
        run_observer.discard_provisional()?;
        run_observer.trials_done();
        let warnings = run_observer.warnings()?;
        self.finish(&record, &end, warnings)?;
        Ok((record, end))
    }

    fn earlier_sessions(&self, resumed: &ResumedRun) -> Result<EarlierSessions, CommandError> {
        let progress = self.store.progress(&resumed.record.id)?;
        let spent = progress.map(|progress| Duration::try_from_secs_f64(progress.spent_s));
        Ok(EarlierSessions {
            spent: spent.and_then(Result::ok).unwrap_or_default(),
            retry_failed: resumed.retries_failed(),
        })
    }

    /// Builds each service as often as the plan requires. Several builds of a new run are made from scratch (`fresh`).
    fn build(
        &self,
        plan: &Plan,
        mut builder: Builder<'_>,
        observer: &dyn SessionObserver,
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
            let (copies, originals): (Vec<&Service>, Vec<&Service>) = services
                .into_iter()
                .partition(|service| service.variant.ends_with(COPY));
            let mut built = builder.build_all(&originals, at_once, &|progress| {
                observer.build_progress(&progress);
            });
            for service in copies {
                let id = id_of(service);
                let same = built.get(&original(&id)).cloned();
                built.extend(same.map(|same| (id, same)));
            }
            if bench.cancel.is_asked() {
                return Err(CommandError::Interrupted(
                    "cancelled while building: completed builds are kept".to_owned(),
                ));
            }
            observer.builds_done(&built);
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

    /// What the results of the services of a plan depend on. `builds`: what their builds depend on; others are left out.
    fn fingerprints(
        &self,
        plan: &Plan,
        mut builds: BTreeMap<ServiceId, Fingerprint>,
    ) -> Result<BTreeMap<ServiceId, Fingerprint>, CommandError> {
        let ignored = IgnoredFiles::of(&self.checkout.root);
        let all = Fingerprints::new(self.catalogue, plan, &ignored);
        let host = self.workbench.environment();
        let key = FingerprintKey::of(&self.checkout.state())?;
        let key = self.workbench.testbed.service().is_here().then_some(&key);
        let services = self.services_of(plan).into_iter();
        let of = |service: &Service| {
            let build = builds.remove(&id_of(service))?;
            Some((id_of(service), all.for_run(service, build, &host.variables, key)))
        };
        Ok(services.filter_map(of).collect())
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
        mut warnings: Vec<Warning>,
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
        let builds = built.iter().filter_map(|(service, built)| {
            let built = built.as_ref().ok()?;
            Some((service.clone(), built.fingerprint.clone()))
        });
        let fingerprints = self.fingerprints(plan, builds.collect())?;
        let services: Vec<Service> = self.services_of(plan).into_iter().cloned().collect();
        warnings.extend(warnings::of_contracts(&services, &fingerprints));
        let services = with_built_versions(services, built);
        let plan_json = serde_json::to_value(plan).failed(|| "the plan cannot be stored".to_owned())?;
        let time = started_at.trim_end_matches('Z').replace(':', "-");
        let record = RunRecord {
            id: format!("{time}-{}", plan.suite),
            suite: plan.suite.clone(),
            started_at,
            ended_at: None,
            environment,
            plan: plan_to_keep(
                plan_json,
                &services,
                &self.catalogue.contracts,
                (built, &fingerprints),
            ),
            planned_trials: plan.len(),
            spent_s: None,
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
            RunEnd::BudgetSpent => {
                let text = "Time budget spent before all rounds were done.";
                Some(Warning::new(WarningKind::BudgetSpent, text).advise("Raise --budget."))
            }
            RunEnd::Complete | RunEnd::Precise => None,
        };
        warnings.extend(warning);
        Ok(self.store.finish_run(&record.id, &now(), &warnings)?)
    }
}

/// The services, with the versions that their builds reported. Without one, a service that is built from a repository has that of its
/// commit.
fn with_built_versions(mut services: Vec<Service>, built: &BuildResults) -> Vec<Service> {
    for service in &mut services {
        if service.source.files == SourceFiles::NotIgnored
            && service.written_version().is_none()
            && let Some(version) = source_files::version(service)
        {
            service.version = version;
        }
        let result = built.get(&id_of(service));
        let output = result.and_then(|result| result.as_ref().ok());
        if let Some(version) = output.and_then(|output| output.version.as_ref()) {
            service.version.clone_from(version);
        }
    }
    services
}
