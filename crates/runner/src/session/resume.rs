//! A resumed run: it is locked, and continues on the same machine with the same commit and builds.

use super::Session;
use crate::Builder;
use crate::error::ErrorContext as _;
use crate::{CommandError, start_time::now};
use prony_config::Plan;
use prony_records::{Environment, Part, RunRecord, ServiceId, Warning, WarningKind};
use prony_statistics::{Mismatch, RunConditions, mismatches, part_mismatches};
use prony_store::{RunLock, Store, StoreError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How a run is resumed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResumeOptions {
    /// Continue in spite of another machine, commit or build, with a warning.
    pub force: bool,
    /// Try services again that failed by their own error in an earlier session.
    pub retry_failed: bool,
    /// Another budget for all sessions of the run together.
    pub budget: Option<Duration>,
}

/// A run that is resumed.
#[derive(Debug)]
pub struct ResumedRun {
    pub record: RunRecord,
    options: ResumeOptions,
    lock: RunLock,
}

impl ResumedRun {
    /// Locks the run of this name.
    pub fn of(store: &Store, run: &str, options: ResumeOptions) -> Result<Self, CommandError> {
        let lock = store.lock_run(run).map_err(|error| match error {
            StoreError::RunBusy { .. } => CommandError::Input(error.to_string()),
            other => other.into(),
        })?;
        let mut record = store.run(run)?;
        if let Some(budget) = options.budget {
            record.plan["budget_ns"] = Value::from(budget.as_nanos() as u64);
        }
        Ok(Self {
            record,
            options,
            lock,
        })
    }

    /// The plan of the run.
    pub fn plan(&self) -> Result<Plan, CommandError> {
        let run = &self.record.id;
        serde_json::from_value(self.record.plan.clone())
            .failed(|| format!("the plan of run {run} is from another version of prony → Begin a new run."))
    }

    pub(super) const fn retries_failed(&self) -> bool {
        self.options.retry_failed
    }

    pub(super) fn into_parts(self) -> (RunRecord, RunLock) {
        (self.record, self.lock)
    }

    /// Checks that machine, commit and builds are those of the run. An accepted difference becomes a warning of the run. Stores its
    /// new budget.
    pub(super) fn check(
        &mut self,
        session: &Session<'_>,
        plan: &Plan,
        builder: &Builder<'_>,
    ) -> Result<(), CommandError> {
        self.check_services(session, plan)?;
        let mut here = session.workbench.environment();
        here.commit = session.checkout.commit();
        self.check_testbed(&here)?;
        let mut differs = changed_conditions(&self.record, &here);
        differs.extend(self.changed_services(session, plan, builder)?);
        if !differs.is_empty() {
            self.accept(&differs, session.store)?;
        }
        if self.options.budget.is_some() {
            session
                .store
                .set_plan(&self.record.id, self.record.plan.clone())?;
        }
        Ok(())
    }

    /// Accepts differences with `--force`, as a warning of the run.
    fn accept(&mut self, differs: &[Mismatch], store: &Store) -> Result<(), CommandError> {
        let then_and_now = |differs: &[Mismatch], between: &str| {
            let each = differs
                .iter()
                .map(|found| format!("{}: {} then, {} now", found.what, found.base, found.new));
            each.collect::<Vec<String>>().join(between)
        };
        if !self.options.force {
            return Err(CommandError::Input(format!(
                "the run {} began under other conditions, and trials from both must not be in one ranking:\n  {}\nbegin a \
                 new run with `prony run`, or use --force to continue anyway: the report will say so",
                self.record.id,
                then_and_now(differs, "\n  ")
            )));
        }
        let text = format!(
            "Resumed with --force at {}; changed: {}.",
            now(),
            then_and_now(differs, "; ")
        );
        let warning = Warning::new(WarningKind::Note, text);
        store.warn_of_run(&self.record.id, std::slice::from_ref(&warning))?;
        self.record.warnings.push(warning);
        Ok(())
    }

    /// A run that began in a testbed cannot continue on this machine alone.
    fn check_testbed(&self, here: &Environment) -> Result<(), CommandError> {
        let then = &self.record.environment.hosts;
        if then.is_empty() || !here.hosts.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = then.keys().map(String::as_str).collect();
        Err(CommandError::Input(format!(
            "the run {} began in a testbed of the hosts {}, and the numbers of this machine alone are not comparable: give the file of \
             that testbed (`prony run --resume {} --testbed testbed.toml`), or begin a new run",
            self.record.id,
            names.join(", "),
            self.record.id
        )))
    }

    /// All services of the plan must exist. Services of a git revision do not.
    fn check_services(&self, session: &Session<'_>, plan: &Plan) -> Result<(), CommandError> {
        let known = &session.catalogue.services;
        let gone = plan.entries.iter().find(|entry| {
            known
                .iter()
                .all(|service| service.name != entry.service || service.variant != entry.variant)
        });
        match gone {
            None => Ok(()),
            Some(entry) => Err(CommandError::Input(format!(
                "the run {} cannot be continued: this checkout has no service {}/{} → Begin a new run.",
                self.record.id, entry.service, entry.variant
            ))),
        }
    }

    /// What has changed of the services since the run began, by the parts of their fingerprints.
    fn changed_services(
        &self,
        session: &Session<'_>,
        plan: &Plan,
        builder: &Builder<'_>,
    ) -> Result<Vec<Mismatch>, CommandError> {
        let Some(then) = self.record.fingerprints() else {
            return Ok(vec![Mismatch {
                what: "version of prony".to_owned(),
                base: "an earlier one, which did not store what the results depend on".to_owned(),
                new: env!("CARGO_PKG_VERSION").to_owned(),
            }]);
        };
        let builds = builder.fingerprints(&session.services_of(plan));
        let builds = builds.failed(|| "cannot compute what the builds depend on".to_owned())?;
        let is_built = |service: &ServiceId| then.contains_key(&service.to_string());
        let missing = |service: &ServiceId| Mismatch {
            what: format!("build of {service}"),
            base: "built".to_owned(),
            new: "impossible, because a toolchain is missing".to_owned(),
        };
        let (found, lost): (Vec<_>, Vec<_>) = builds
            .into_iter()
            .filter(|(service, _)| is_built(service))
            .partition(|(_, build)| build.is_some());
        let mut differs: Vec<Mismatch> = lost.iter().map(|(service, _)| missing(service)).collect();
        let found = found
            .into_iter()
            .filter_map(|(service, build)| Some((service, build?)));
        for (service, now) in session.fingerprints(plan, found.collect())? {
            differs.extend(part_mismatches(
                &service.to_string(),
                (&then[&service.to_string()], &now),
                Part::ALL,
            ));
        }
        Ok(differs)
    }
}

/// Differences of the machine and the checkout. Unknown values are not differences.
fn changed_conditions(run: &RunRecord, here: &Environment) -> Vec<Mismatch> {
    let of = |environment| RunConditions {
        suite: run.suite.as_str(),
        environment,
        generators: None,
        settings: BTreeMap::new(),
        others: None,
        fingerprints: BTreeMap::new(),
    };
    let mut differs = mismatches(&of(&run.environment), &of(here));
    if let (Some(then), Some(now)) = (&run.environment.commit, &here.commit)
        && then != now
    {
        differs.push(Mismatch {
            what: "commit".to_owned(),
            base: then.clone(),
            new: now.clone(),
        });
    }
    differs
}
