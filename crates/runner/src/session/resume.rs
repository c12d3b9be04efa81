//! A resumed run: it is locked, and continues on the same machine with the same commit and builds.

use super::Session;
use super::plan_record::{builds_of, contracts_of};
use crate::Builder;
use crate::error::ErrorContext as _;
use crate::{CommandError, clock::now};
use prony_config::Plan;
use prony_records::{Environment, RunRecord, Warning, WarningKind};
use prony_statistics::{Mismatch, RunConditions, mismatches};
use prony_store::{RunLock, Store, StoreError};

/// A run that goes on.
#[derive(Debug)]
pub struct ResumedRun {
    /// The run.
    pub record: RunRecord,
    all_the_same: bool,
    lock: RunLock,
}

impl ResumedRun {
    /// Locks the run of this name. With `all_the_same` it continues in spite of another machine, commit or build, with a warning.
    pub fn of(store: &Store, run: &str, all_the_same: bool) -> Result<Self, CommandError> {
        let lock = store.lock_run(run).map_err(|error| match error {
            StoreError::RunBusy { .. } => CommandError::Input(error.to_string()),
            other => other.into(),
        })?;
        Ok(Self {
            record: store.run(run)?,
            all_the_same,
            lock,
        })
    }

    /// The plan of the run.
    pub fn plan(&self) -> Result<Plan, CommandError> {
        let run = &self.record.id;
        serde_json::from_value(self.record.plan.clone())
            .failed(|| format!("the plan of run {run} is of another version of prony: begin a new run"))
    }

    pub(super) fn into_parts(self) -> (RunRecord, RunLock) {
        (self.record, self.lock)
    }

    /// Checks that machine, commit and builds are those of the run. An accepted difference becomes a warning of the run.
    pub(super) fn fits(
        &mut self,
        session: &Session<'_>,
        plan: &Plan,
        builder: &Builder<'_>,
    ) -> Result<(), CommandError> {
        self.has_its_services(session, plan)?;
        let mut here = session.workbench.environment();
        here.commit = session.checkout.commit();
        self.is_in_a_testbed_again(&here)?;
        let mut differs = circumstances(&self.record, &here);
        differs.extend(self.builds(session, plan, builder)?);
        differs.extend(self.contracts(session));
        if differs.is_empty() {
            return Ok(());
        }
        let then_and_now = |differs: &[Mismatch], between: &str| {
            let each = differs
                .iter()
                .map(|found| format!("{}: {} then, {} now", found.what, found.base, found.new));
            each.collect::<Vec<String>>().join(between)
        };
        if !self.all_the_same {
            return Err(CommandError::Input(format!(
                "the run {} began under other circumstances, and trials from both do not belong on one board:\n  {}\nbegin a \
                 new run with `prony run`, or continue all the same with --force: the report will say so",
                self.record.id,
                then_and_now(&differs, "\n  ")
            )));
        }
        let text = format!(
            "continued at {} under other circumstances than it began, since --force was given: {}",
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

    /// What began on several hosts is not continued on this one alone.
    fn is_in_a_testbed_again(&self, here: &Environment) -> Result<(), CommandError> {
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

    /// What was measured is to be measured again: services of a git revision, or that are gone, are not there.
    fn has_its_services(&self, session: &Session<'_>, plan: &Plan) -> Result<(), CommandError> {
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

    /// Builds that are other ones than those that the run began with. A run of an earlier version kept none.
    fn builds(
        &self,
        session: &Session<'_>,
        plan: &Plan,
        builder: &Builder<'_>,
    ) -> Result<Vec<Mismatch>, CommandError> {
        let kept = builds_of(&self.record.plan);
        let digests = builder.digests(&session.services_of(plan));
        let digests = digests.failed(|| "cannot tell which builds the services have now".to_owned())?;
        let differs = digests.into_iter().filter_map(|(service, here)| {
            let then = kept.get(&service.to_string())?;
            (here.as_ref() != Some(then)).then(|| Mismatch {
                what: format!("build of {service}"),
                base: then.clone(),
                new: here.unwrap_or_else(|| "none, since a toolchain is missing".to_owned()),
            })
        });
        Ok(differs.collect())
    }

    /// Contracts that ask for something else than those that the run began with. A run of an earlier version kept none.
    fn contracts(&self, session: &Session<'_>) -> Vec<Mismatch> {
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

/// In what the machine and the checkout differ. What was not known then or is not known now is no difference.
fn circumstances(run: &RunRecord, here: &Environment) -> Vec<Mismatch> {
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
