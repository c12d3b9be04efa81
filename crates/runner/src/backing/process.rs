//! Backing services that run.

use super::ANSWER;
use super::query::{self, Table};
use super::recipe::{self, Recipe};
use super::seed;
use super::usage::UsageSampler;
use crate::generators::GeneratorUsage;
use crate::{Cancel, Failure};
use crate::{RunContext, TrialPlacement};
use prony_check::BackingControl;
use prony_config::ReadinessCheck;
use prony_config::contract::{Contract, UpperLimit};
use prony_host::{HostError, Process};
use prony_records::{BackingUsage, Resources, TrialStage};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// Tries with another port when the one that was free is taken by the time it binds it.
const PORTS: u32 = 3;
/// Time between two looks at one that starts.
const LOOK: Duration = Duration::from_millis(5);
/// Time for its folder to be removed.
const REMOVAL: Duration = Duration::from_secs(30);
/// Lines of its log that are looked through for what it says of itself.
const LINES: usize = 200;

/// The running backing services of one service, in the order of its contract.
#[derive(Default)]
pub struct BackingProcesses {
    all: Vec<BackingProcess>,
}

/// One that runs.
pub struct BackingProcess {
    recipe: Recipe,
    port: u16,
    /// `None` only while it is started anew.
    process: Option<Box<dyn Process>>,
    /// How long it took to start.
    took: Duration,
    /// What looks at it while a load goes on; `None`: nothing yet, or nothing can.
    watch: Option<UsageSampler>,
}

impl BackingProcesses {
    /// Starts all that a contract needs, and waits until each is ready.
    pub fn start(
        bench: &RunContext<'_>,
        contract: &Contract,
        seed: u64,
        seat: &TrialPlacement,
    ) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for wanted in contract.backing_services() {
            all.push(BackingProcess::start(Recipe::new(
                bench, contract, wanted, seed, seat,
            )?)?);
        }
        Ok(Self { all })
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What they add to the environment of the service.
    pub fn exports(&self) -> BTreeMap<String, String> {
        let exports = |one: &BackingProcess| {
            let exports = one.recipe.definition.exports.iter();
            let filled = exports.map(|(name, value)| (name.clone(), one.recipe.address(value, one.port)));
            filled.collect::<Vec<_>>()
        };
        self.all.iter().flat_map(exports).collect()
    }

    fn named(&mut self, name: &str) -> Option<&mut BackingProcess> {
        self.all.iter_mut().find(|one| one.recipe.name == name)
    }

    /// What a query finds at one of them.
    pub(crate) fn ask(&mut self, name: &str, query: &str) -> Result<Table, String> {
        let one = self.named(name);
        let one = one.ok_or_else(|| format!("there is no backing service `{name}`"))?;
        let Some(asked_at) = &one.recipe.definition.asked_at else {
            return Err(format!("{} answers no queries", one.recipe.label()));
        };
        query::query(&one.recipe.address(asked_at, one.port), query, ANSWER)
    }

    /// The number that a contract bounds by at one of them.
    pub(crate) fn number(&self, name: &str, most: &UpperLimit) -> Result<u64, String> {
        let one = self.all.iter().find(|one| one.recipe.name == name);
        let one = one.ok_or_else(|| format!("there is no backing service `{name}`"))?;
        one.recipe.definition.number(most)
    }

    /// Gives all of them the data with which they began. Says whether one was started anew for it: then what the service has
    /// open there is cut off.
    pub(crate) fn reset(&mut self) -> Result<bool, Failure> {
        let mut anew = false;
        for one in &mut self.all {
            anew |= one.reset()?;
        }
        Ok(anew)
    }

    /// Why one of them failed, where one did: nothing is known of the service then.
    pub(crate) fn fault(&mut self) -> Option<String> {
        self.all.iter_mut().find_map(BackingProcess::fault)
    }

    /// The same without a look at their logs.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.all.iter_mut().find_map(BackingProcess::ended)
    }

    /// What they say that the service asked too much of.
    pub(crate) fn blames(&self) -> Option<String> {
        self.all.iter().find_map(BackingProcess::blame)
    }

    /// Gets ready to see what the service's connections do in them.
    pub(crate) fn watch(&mut self) -> Result<(), Failure> {
        self.all.iter_mut().try_for_each(BackingProcess::watch)
    }

    /// From here on their resources count, and what the service's connections do there is seen.
    pub(crate) fn begin_window(&mut self) {
        for one in &mut self.all {
            let _ = one.process.as_mut().map(|process| process.begin_window());
            if let Some(watch) = &mut one.watch {
                watch.begin();
            }
        }
    }

    /// What they used since then.
    pub(crate) fn end_window(&mut self) -> Vec<(BackingUsage, Option<GeneratorUsage>)> {
        self.all.iter_mut().map(BackingProcess::end_window).collect()
    }
}

impl BackingControl<Failure> for BackingProcesses {
    fn stop(&mut self, backing_service: &str) -> Result<(), Failure> {
        self.named(backing_service)
            .map_or(Ok(()), BackingProcess::go_away)
    }

    fn start(&mut self, backing_service: &str) -> Result<(), Failure> {
        self.named(backing_service).map_or(Ok(()), BackingProcess::run)
    }
}

impl BackingProcess {
    fn start(recipe: Recipe) -> Result<Self, Failure> {
        let mut one = Self {
            process: None,
            took: Duration::ZERO,
            watch: None,
            port: 0,
            recipe,
        };
        let mut last = one.recipe.failed("did not start");
        for attempt in 0..PORTS {
            if attempt > 0 {
                seed::again(&one.recipe)?;
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
        self.took = began.elapsed();
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Failure> {
        let began = Instant::now();
        let limit = self.recipe.definition.start_timeout;
        loop {
            let ready = self.is_ready();
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

    fn is_ready(&self) -> Result<bool, Failure> {
        let definition = &self.recipe.definition;
        Ok(match &definition.ready {
            ReadinessCheck::Query(query) => {
                let asked_at = definition.asked_at.as_deref().unwrap_or_default();
                query::query(&self.recipe.address(asked_at, self.port), query, ANSWER).is_ok()
            }
            ReadinessCheck::Get(path) => {
                let status = query::get(
                    &self.recipe.place.address,
                    self.port,
                    path,
                    definition.start_timeout,
                );
                status.is_some_and(|status| status < 500)
            }
            ReadinessCheck::Command(command) => self.command("ready", command)?.is_ok(),
        })
    }

    /// Runs a command of its file on its host; the error is what it printed.
    fn command(&self, what: &str, command: &str) -> Result<Result<(), Vec<String>>, Failure> {
        let environment = BTreeMap::from([
            ("HOST".to_owned(), self.recipe.place.address.clone()),
            ("PORT".to_owned(), self.port.to_string()),
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
                    "cannot forget what the check wrote: {}",
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
        // Its port is free when it is gone.
        self.watch = None;
        self.process = None;
        match self.run() {
            Err(failure) if !failure.is_interrupted() => {
                self.process = None;
                seed::again(&self.recipe)?;
                self.run()?;
            }
            done => done?,
        }
        Ok(true)
    }

    /// Ends it in order; it finds its data when it runs again.
    fn go_away(&mut self) -> Result<(), Failure> {
        if let Some(fault) = self.fault() {
            return Err(Failure::backing_service(TrialStage::Check, fault));
        }
        let spec = self
            .recipe
            .script(("away", include_str!("away.sh")), Vec::new(), BTreeMap::new());
        recipe::run(&self.recipe, &spec, REMOVAL)?.map_err(|log| {
            self.recipe
                .failed(&format!("cannot go away: {}", log.join(" | ")))
        })?;
        self.watch = None;
        if let Some(mut process) = self.process.take() {
            process.stop().map_err(|error| Recipe::host_failed(&error))?;
        }
        Ok(())
    }

    fn watch(&mut self) -> Result<(), Failure> {
        let definition = &self.recipe.definition;
        let (None, Some(query), Some(asked_at)) = (&self.watch, &definition.watch, &definition.asked_at)
        else {
            return Ok(());
        };
        let started = UsageSampler::start(self.recipe.address(asked_at, self.port), query.clone());
        let watch = started.map_err(|reason| Failure {
            stage: TrialStage::WarmUp,
            ..self.recipe.failed(&format!("cannot be watched: {reason}"))
        })?;
        self.watch = Some(watch);
        Ok(())
    }

    fn ended(&mut self) -> Option<String> {
        let ending = self.process.as_mut()?.ended()?;
        Some(format!("{} {ending}", self.recipe.label()))
    }

    fn fault(&mut self) -> Option<String> {
        let ended = self.ended();
        let faults = &self.recipe.definition.faults;
        let log = self.log(if faults.is_empty() { 0 } else { LINES });
        let is_fault = |line: &&String| faults.iter().any(|fault| fault.is_match(line));
        match (ended, log.iter().find(is_fault)) {
            (Some(ended), Some(line)) => Some(format!("{ended}: {line}")),
            (None, Some(line)) => Some(format!("{} failed: {line}", self.recipe.label())),
            (ended, None) => ended,
        }
    }

    fn blame(&self) -> Option<String> {
        let blames = &self.recipe.definition.blames;
        let log = self.log(if blames.is_empty() { 0 } else { LINES });
        blames.iter().find_map(|(pattern, meaning)| {
            let line = log.iter().find(|line| pattern.is_match(line))?;
            Some(format!("{meaning} (its log: {line})"))
        })
    }

    fn log(&self, lines: usize) -> Vec<String> {
        match &self.process {
            Some(process) if lines > 0 => process.log_tail(lines),
            _ => Vec::new(),
        }
    }

    fn end_window(&mut self) -> (BackingUsage, Option<GeneratorUsage>) {
        let watched = self.watch.as_mut().and_then(UsageSampler::end);
        let recipe = &self.recipe;
        let usage = self
            .process
            .as_mut()
            .and_then(|process| process.end_window().ok());
        let beside = recipe.place.host == recipe.seat.placement.service.host;
        let spent = usage.map(|usage| GeneratorUsage::of(usage, beside));
        let resources: Option<Resources> = spent.as_ref().map(|spent| spent.resources.clone());
        let used = BackingUsage {
            name: recipe.name.clone(),
            uses: recipe.definition.name.clone(),
            title: recipe.definition.title.clone(),
            version: recipe.tools.version.clone(),
            settings: recipe.settings.clone(),
            cpus: recipe.place.cpus.as_slice().to_vec(),
            start_s: Some(self.took.as_secs_f64()),
            resources,
            watched,
        };
        (used, spent)
    }
}

impl Drop for BackingProcess {
    /// Ends it, and removes what it wrote.
    fn drop(&mut self) {
        self.watch = None;
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
