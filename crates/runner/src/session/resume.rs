//! A resumed run: it is locked, and continues on the same machine with the same commit and builds.

use super::Session;
use super::plan_record::{builds_of, contracts_of};
use crate::Builder;
use crate::error::ErrorContext as _;
use crate::{CommandError, start_time::now};
use prony_config::Plan;
use prony_records::{Environment, RunRecord, Warning, WarningKind};
use prony_statistics::{Mismatch, RunConditions, mismatches};
use prony_store::{RunLock, Store, StoreError};

/// How a run is resumed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResumeOptions {
    /// Continue in spite of another machine, commit or build, with a warning.
    pub force: bool,
    /// Try services again that failed by their own error in an earlier session.
    pub retry_failed: bool,
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
        Ok(Self {
            record: store.run(run)?,
            options,
            lock,
        })
    }

    /// The plan of the run.
    pub fn plan(&self) -> Result<Plan, CommandError> {
        let run = &self.record.id;
        serde_json::from_value(self.record.plan.clone())
            .failed(|| format!("the plan of run {run} is from another version of prony: begin a new run"))
    }

    pub(super) const fn retries_failed(&self) -> bool {
        self.options.retry_failed
    }

    pub(super) fn into_parts(self) -> (RunRecord, RunLock) {
        (self.record, self.lock)
    }

    /// Checks that machine, commit and builds are those of the run. An accepted difference becomes a warning of the run.
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
        differs.extend(self.changed_builds(session, plan, builder)?);
        differs.extend(self.changed_contracts(session));
        if differs.is_empty() {
            return Ok(());
        }
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
                then_and_now(&differs, "\n  ")
            )));
        }
        let text = format!(
            "continued at {} under other conditions, because --force was given: {}",
            now(),
            then_and_now(&differs, "; ")
        );
        let warning = Warning::new(WarningKind::Note, text);
        session
            .store
            .warn_of_run(&self.record.id, std::slice::from_ref(&warning))?;
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
                "the run {} cannot be continued: this checkout has no service {}/{}; begin a new run",
                self.record.id, entry.service, entry.variant
            ))),
        }
    }

    /// Builds that have changed since the run began. Runs of earlier versions have no digests.
    fn changed_builds(
        &self,
        session: &Session<'_>,
        plan: &Plan,
        builder: &Builder<'_>,
    ) -> Result<Vec<Mismatch>, CommandError> {
        let stored = builds_of(&self.record.plan);
        let digests = builder.digests(&session.services_of(plan));
        let digests = digests.failed(|| "cannot compute the digests of the builds".to_owned())?;
        let differs = digests.into_iter().filter_map(|(service, here)| {
            let then = stored.get(&service.to_string())?;
            (here.as_ref() != Some(then)).then(|| Mismatch {
                what: format!("build of {service}"),
                base: then.clone(),
                new: here.unwrap_or_else(|| "none, because a toolchain is missing".to_owned()),
            })
        });
        Ok(differs.collect())
    }

    /// Contracts that have changed since the run began. Runs of earlier versions have no digests.
    fn changed_contracts(&self, session: &Session<'_>) -> Vec<Mismatch> {
        let (then, now) = contracts_of(&self.record.plan, &session.catalogue.contracts);
        let differs = then
            .into_iter()
            .filter(|(name, digest)| now.get(name) != Some(digest));
        differs
            .map(|(name, digest)| Mismatch {
                new: now.get(&name).cloned().unwrap_or_else(|| "none".to_owned()),
                what: format!("contract {name}"),
                base: digest,
            })
            .collect()
    }
}

/// Differences of the machine and the checkout. Unknown values are not differences.
fn changed_conditions(run: &RunRecord, here: &Environment) -> Vec<Mismatch> {
    let of = |environment| RunConditions {
        suite: run.suite.as_str(),
        environment,
        generators: None,
        settings: std::collections::BTreeMap::new(),
        others: None,
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
