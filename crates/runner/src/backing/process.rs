//! Running backing services.

use super::ANSWER;
use super::query::{self, Table};
use super::recipe::{self, Recipe};
use super::seed;
use super::usage::UsageSampler;
use crate::generators::GeneratorUsage;
use crate::job::{DirectPath, target_of};
use crate::{Cancel, Failure};
use crate::{RunContext, TrialPlacement};
use prony_check::{BackingControl, BackingTargets};
use prony_config::ReadinessCheck;
use prony_config::contract::{Contract, FileChange, UpperLimit};
use prony_host::{HostError, Process};
use prony_records::{BackingUsage, Resources, SentEvents, TrialStage};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// Attempts to start with another port, if the chosen one was taken before the backing service bound it.
const PORTS: u32 = 3;
/// Interval at which readiness is checked.
const LOOK: Duration = Duration::from_millis(5);
/// Time to remove its folder.
const REMOVAL: Duration = Duration::from_secs(30);
/// Log lines that are searched for faults.
const LINES: usize = 200;

/// The running backing services of one service, in the order of its contract.
#[derive(Default)]
pub struct BackingProcesses {
    all: Vec<BackingProcess>,
}

/// A running backing service.
pub struct BackingProcess {
    recipe: Recipe,
    port: u16,
    /// `None` only while it is restarted.
    process: Option<Box<dyn Process>>,
    /// The folder with its data on its host, if the service must know it.
    data: String,
    /// Time that it took to start.
    took: Duration,
    /// Samples its connections during a load; `None` before the first load, or if it has no `watch` query.
    sampler: Option<UsageSampler>,
    /// The events that it had sent when the measurement began.
    sent_before: Option<SentEvents>,
}

impl BackingProcesses {
    /// Starts the backing services of a contract, and waits until each is ready.
    pub fn start(
        bench: &RunContext<'_>,
        contract: &Contract,
        seed: u64,
        trial_placement: &TrialPlacement,
    ) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for requirement in contract.backing_services() {
            all.push(BackingProcess::start(Recipe::new(
                bench,
                contract,
                requirement,
                seed,
                trial_placement,
            )?)?);
        }
        Ok(Self { all })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The variables that they add to the environment of the service.
    pub fn exports(&self) -> BTreeMap<String, String> {
        let exports = |one: &BackingProcess| {
            let exports = one.recipe.definition.env.iter();
            let filled = exports.map(|(name, value)| {
                let value = value.replace("{data}", &one.data);
                (name.clone(), one.recipe.address(&value, one.port))
            });
            filled.collect::<Vec<_>>()
        };
        self.all.iter().flat_map(exports).collect()
    }

    /// Their addresses, by their names in the contract.
    pub(crate) fn targets(&self) -> BackingTargets {
        let target = |one: &BackingProcess| {
            let target = target_of(&one.recipe.placement.address, one.port);
            (one.recipe.name.clone(), target)
        };
        self.all.iter().map(target).collect()
    }

    /// The path to the first of them that can be loaded directly.
    pub(crate) fn direct_path(&self) -> Option<DirectPath> {
        self.all.iter().find_map(|one| {
            let headers = one.recipe.definition.direct_headers.as_ref()?.iter();
            let filled = headers.map(|(name, value)| (name.clone(), one.recipe.address(value, one.port)));
            Some(DirectPath {
                target: target_of(&one.recipe.placement.address, one.port),
                headers: filled.collect(),
            })
        })
    }

    fn find(&mut self, name: &str) -> Option<&mut BackingProcess> {
        self.all.iter_mut().find(|one| one.recipe.name == name)
    }

    /// Runs a query at one of them.
    pub(crate) fn query(&mut self, name: &str, query: &str) -> Result<Table, String> {
        let one = self.find(name);
        let one = one.ok_or_else(|| format!("there is no backing service `{name}`"))?;
        let Some(url) = one.query_url() else {
            return Err(format!("{} answers no queries", one.recipe.label()));
        };
        query::query(&url, query, ANSWER)
    }

    /// The value of a limit that a contract sets for one of them.
    pub(crate) fn limit(&self, name: &str, most: &UpperLimit) -> Result<u64, String> {
        let one = self.all.iter().find(|one| one.recipe.name == name);
        let one = one.ok_or_else(|| format!("there is no backing service `{name}`"))?;
        one.recipe.definition.number(most)
    }

    /// Resets all of them to their initial data. Returns whether one was restarted for this, which closes the connections of the
    /// service.
    pub(crate) fn reset(&mut self) -> Result<bool, Failure> {
        let mut restarted = false;
        for one in &mut self.all {
            restarted |= one.reset()?;
        }
        Ok(restarted)
    }

    /// Why one of them failed, if one did: then the service is not to blame.
    pub(crate) fn fault(&mut self) -> Option<String> {
        self.all.iter_mut().find_map(BackingProcess::fault)
    }

    /// Like [`Self::fault`], without reading their logs.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.all.iter_mut().find_map(BackingProcess::ended)
    }

    /// What a log says about a limit that the service exceeded.
    pub(crate) fn blames(&self) -> Option<String> {
        self.all.iter().find_map(BackingProcess::blame)
    }

    /// Pauses all of them: what stands still needs no CPU time and is not sampled. One that has ended is left for
    /// [`Self::ended`].
    pub(crate) fn rest(&mut self) -> Result<(), Failure> {
        let mut running = self.running();
        running.try_for_each(|process| process.rest().map_err(|error| Recipe::host_failed(&error)))
    }

    /// Resumes all of them after [`Self::rest`].
    pub(crate) fn wake(&mut self) -> Result<(), Failure> {
        let mut running = self.running();
        running.try_for_each(|process| process.wake().map_err(|error| Recipe::host_failed(&error)))
    }

    fn running(&mut self) -> impl Iterator<Item = &mut Box<dyn Process>> {
        let processes = self.all.iter_mut().filter_map(|one| one.process.as_mut());
        processes.filter_map(|process| process.ended().is_none().then_some(process))
    }

    /// Prepares sampling of the service's connections.
    pub(crate) fn watch(&mut self) -> Result<(), Failure> {
        self.all.iter_mut().try_for_each(BackingProcess::watch)
    }

    /// Begins counting their resources and sampling the service's connections.
    pub(crate) fn begin_window(&mut self) {
        for one in &mut self.all {
            one.sent_before = one.sent_events();
            let _ = one.process.as_mut().map(|process| process.begin_window());
            if let Some(watch) = &mut one.sampler {
                watch.begin();
            }
        }
    }

    /// Their resource usage since [`Self::begin_window`]. One that only wrote files does nothing in the window.
    pub(crate) fn end_window(&mut self) -> Vec<(BackingUsage, Option<GeneratorUsage>)> {
        let busy = self
            .all
            .iter_mut()
            .filter(|one| !one.recipe.definition.beside_service);
        busy.map(BackingProcess::end_window).collect()
    }
}

impl BackingControl<Failure> for BackingProcesses {
    fn stop(&mut self, backing_service: &str) -> Result<(), Failure> {
        self.find(backing_service).map_or(Ok(()), BackingProcess::suspend)
    }

    fn start(&mut self, backing_service: &str) -> Result<(), Failure> {
        self.find(backing_service).map_or(Ok(()), BackingProcess::run)
    }

    fn change(&mut self, change: &FileChange) -> Result<(), Failure> {
        let one = self.find(&change.backing_service);
        one.map_or(Ok(()), |one| one.change(change.version))
    }
}

impl BackingProcess {
    fn start(recipe: Recipe) -> Result<Self, Failure> {
        let mut one = Self {
            process: None,
            took: Duration::ZERO,
            sampler: None,
            sent_before: None,
            port: 0,
            data: String::new(),
            recipe,
        };
        let mut last = one.recipe.failed("did not start");
        for attempt in 0..PORTS {
            if attempt > 0 {
                seed::restore(&one.recipe)?;
            }
            let port = one.recipe.member.host.free_port();
            one.port = port.map_err(|error| Recipe::host_failed(&error))?;
            match one.run() {
                Ok(()) => return Ok(one),
                Err(failure) if failure.is_interrupted() => return Err(failure),
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    /// Starts the process on its port, and waits until it is ready.
    fn run(&mut self) -> Result<(), Failure> {
        let began = Instant::now();
        let spec = self.recipe.running(self.port);
        let started = self.recipe.member.host.start(&spec);
        self.process = Some(started.map_err(|error: HostError| Recipe::host_failed(&error))?);
        self.wait()?;
        if self
            .recipe
            .definition
            .env
            .values()
            .any(|value| value.contains("{data}"))
        {
            self.data = self.data_folder()?;
        }
        self.took = began.elapsed();
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Failure> {
        let began = Instant::now();
        let limit = self.recipe.definition.start_timeout;
        let mut credentials = self.recipe.definition.credentials.clone();
        loop {
            if let Some(command) = &credentials
                && self.command("credentials", command)?.is_ok()
            {
                credentials = None;
            }
            let ready = match credentials {
                Some(_) => Ok(false),
                None => self.is_ready(),
            };
            if let Some(fault) = self.ended() {
                let last = self.log(3).join(" | ");
                return Err(Failure::backing_service(
                    TrialStage::Start,
                    format!("{fault}: {last}"),
                ));
            }
            if ready? {
                return Ok(());
            }
            if self.recipe.cancel.is_now() {
                return Err(Failure::interrupted(TrialStage::Start));
            }
            if began.elapsed() > limit {
                let last = self.log(3).join(" | ");
                return Err(self
                    .recipe
                    .failed(&format!("was not ready within {limit:?}: {last}")));
            }
            thread::sleep(LOOK);
        }
    }

    fn query_url(&self) -> Option<String> {
        let pid = self.process.as_ref().map(|process| process.pid());
        self.recipe.query_url(self.port, pid)
    }

    fn is_ready(&self) -> Result<bool, Failure> {
        let definition = &self.recipe.definition;
        Ok(match &definition.ready {
            ReadinessCheck::Query(query) => {
                let url = self.query_url().unwrap_or_default();
                query::query(&url, query, ANSWER).is_ok()
            }
            ReadinessCheck::Get(path) => {
                let reply = query::get(
                    &self.recipe.placement.address,
                    self.port,
                    path,
                    definition.start_timeout,
                );
                reply.is_some_and(|reply| reply.status < 500)
            }
            ReadinessCheck::Command(command) => self.command("ready", command)?.is_ok(),
        })
    }

    /// The folder with its data, which is named after its process.
    fn data_folder(&self) -> Result<String, Failure> {
        let log = format!("data-{}", self.recipe.name);
        let spec = self
            .recipe
            .script((&log, "echo \"$(mine)/data\""), Vec::new(), BTreeMap::new());
        let folder = recipe::output(&self.recipe, &spec, REMOVAL)?;
        let folder = folder.ok().and_then(|mut lines| lines.pop());
        folder.ok_or_else(|| self.recipe.failed("does not say where its data is"))
    }

    /// Writes another version of its file.
    fn change(&self, version: u32) -> Result<(), Failure> {
        let Some(change) = &self.recipe.definition.change else {
            return Err(self.recipe.failed("has no file that changes"));
        };
        let version = ("VERSION".to_owned(), version.to_string());
        let done = self.command_with("change", change, BTreeMap::from([version]))?;
        done.map_err(|log| {
            let reason = format!("cannot change its file: {}", log.join(" | "));
            self.recipe.failed(&reason)
        })
    }

    /// Runs a command of its definition on its host; the inner error is its output.
    fn command(&self, what: &str, command: &str) -> Result<Result<(), Vec<String>>, Failure> {
        self.command_with(what, command, BTreeMap::new())
    }

    fn command_with(
        &self,
        what: &str,
        command: &str,
        mut environment: BTreeMap<String, String>,
    ) -> Result<Result<(), Vec<String>>, Failure> {
        environment.extend([
            ("HOST".to_owned(), self.recipe.placement.address.clone()),
            ("PORT".to_owned(), self.port.to_string()),
            ("SEED".to_owned(), self.recipe.number.to_string()),
        ]);
        let text = self.recipe.filled(command, self.port);
        let log = format!("{what}-{}", self.recipe.name);
        let spec = self.recipe.script((&log, &text), Vec::new(), environment);
        recipe::run(&self.recipe, &spec, self.recipe.definition.start_timeout)
    }

    fn reset(&mut self) -> Result<bool, Failure> {
        if let Some(reset) = &self.recipe.definition.reset {
            let done = self.command("reset", reset)?;
            return match done {
                Ok(()) => Ok(false),
                Err(log) => Err(self.recipe.failed(&format!(
                    "cannot remove what the check wrote: {}",
                    log.join(" | ")
                ))),
            };
        }
        if self.recipe.definition.seed.is_none() {
            return Ok(false);
        }
        if let Some(fault) = self.fault() {
            return Err(Failure::backing_service(TrialStage::Start, fault));
        }
        // Dropping the process frees its port.
        self.sampler = None;
        self.process = None;
        match self.run() {
            Err(failure) if !failure.is_interrupted() => {
                self.process = None;
                seed::restore(&self.recipe)?;
                self.run()?;
            }
            done => done?,
        }
        Ok(true)
    }

    /// Stops it and keeps its data for the next [`Self::run`].
    fn suspend(&mut self) -> Result<(), Failure> {
        if let Some(fault) = self.fault() {
            return Err(Failure::backing_service(TrialStage::Check, fault));
        }
        let spec = self
            .recipe
            .script(("away", include_str!("away.sh")), Vec::new(), BTreeMap::new());
        recipe::run(&self.recipe, &spec, REMOVAL)?.map_err(|log| {
            self.recipe
                .failed(&format!("cannot be stopped: {}", log.join(" | ")))
        })?;
        self.sampler = None;
        if let Some(mut process) = self.process.take() {
            process.stop().map_err(|error| Recipe::host_failed(&error))?;
        }
        Ok(())
    }

    fn watch(&mut self) -> Result<(), Failure> {
        let definition = &self.recipe.definition;
        let (None, Some(query), Some(url)) = (&self.sampler, &definition.watch, self.query_url()) else {
            return Ok(());
        };
        let started = UsageSampler::start(url, query.clone());
        let watch = started.map_err(|reason| Failure {
            stage: TrialStage::WarmUp,
            ..self.recipe.failed(&format!("cannot be watched: {reason}"))
        })?;
        self.sampler = Some(watch);
        Ok(())
    }

    fn ended(&mut self) -> Option<String> {
        let ending = self.process.as_mut()?.ended()?;
        Some(format!("{} {ending}", self.recipe.label()))
    }

    fn fault(&mut self) -> Option<String> {
        let ended = self.ended();
        let faults = &self.recipe.definition.fatal_log;
        let log = self.log(if faults.is_empty() { 0 } else { LINES });
        let is_fault = |line: &&String| faults.iter().any(|fault| fault.is_match(line));
        match (ended, log.iter().find(is_fault)) {
            (Some(ended), Some(line)) => Some(format!("{ended}: {line}")),
            (None, Some(line)) => Some(format!("{} failed: {line}", self.recipe.label())),
            (ended, None) => ended,
        }
    }

    fn blame(&self) -> Option<String> {
        let blames = &self.recipe.definition.service_error_log;
        let log = self.log(if blames.is_empty() { 0 } else { LINES });
        blames.iter().find_map(|(pattern, meaning)| {
            let line = log.iter().find(|line| pattern.is_match(line))?;
            let title = &self.recipe.definition.title;
            Some(format!("{title} reports: {meaning} (its log: {line})"))
        })
    }

    fn log(&self, lines: usize) -> Vec<String> {
        match &self.process {
            Some(process) if lines > 0 => process.log_tail(lines),
            _ => Vec::new(),
        }
    }

    /// The events that it has sent since it started; `None` if it does not count them.
    fn sent_events(&self) -> Option<SentEvents> {
        let path = self.recipe.definition.lateness.as_ref()?;
        let reply = query::get(&self.recipe.placement.address, self.port, path, ANSWER)?;
        let counts: serde_json::Value = serde_json::from_slice(&reply.body).ok()?;
        Some(SentEvents {
            sent: counts.get("events")?.as_u64()?,
            late: counts.get("late_events")?.as_u64()?,
        })
    }

    fn end_window(&mut self) -> (BackingUsage, Option<GeneratorUsage>) {
        let watched = self.sampler.as_mut().and_then(UsageSampler::end);
        let counts = self.sent_events().zip(self.sent_before.take());
        let events = counts.map(|(all, before)| SentEvents {
            sent: all.sent.saturating_sub(before.sent),
            late: all.late.saturating_sub(before.late),
        });
        let recipe = &self.recipe;
        let usage = self
            .process
            .as_mut()
            .and_then(|process| process.end_window().ok());
        let is_on_service_host = recipe.placement.host == recipe.trial_placement.placement.service.host;
        let spent = usage.map(|usage| GeneratorUsage::of(usage, is_on_service_host));
        let resources: Option<Resources> = spent.as_ref().map(|spent| spent.resources.clone());
        let used = BackingUsage {
            name: recipe.name.clone(),
            uses: recipe.definition.name.clone(),
            title: recipe.definition.title.clone(),
            version: recipe.tools.version.clone(),
            settings: recipe.settings.clone(),
            cpus: recipe.placement.cpus.as_slice().to_vec(),
            start_s: Some(self.took.as_secs_f64()),
            resources,
            watched,
            events,
        };
        (used, spent)
    }
}

impl Drop for BackingProcess {
    /// Ends it and removes its data.
    fn drop(&mut self) {
        self.sampler = None;
        self.process = None;
        // If this fails, the next backing service that starts removes the data, which then has no owner.
        // The data is removed after a cancel, too.
        self.recipe.cancel = Cancel::new();
        let log = format!("left-{}", self.recipe.name);
        let spec = self
            .recipe
            .script((&log, include_str!("left.sh")), Vec::new(), BTreeMap::new());
        let _ = recipe::run(&self.recipe, &spec, REMOVAL);
    }
}
