//! Building services: a copy of the service's folder, in which its build commands run, found again by its content.

mod cache;
mod copy;
mod digest;
mod steps;
mod toolchain;

use crate::{Cancel, Failure, Progress};
use prony_host::Host;
use prony_measurement::{Exclusion, ServiceId, Stage};
use prony_plan::{Service, Toolchain};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub use toolchain::{Found, probe};

/// Builds services of a checkout.
pub struct Builder<'a> {
    host: &'a dyn Host,
    toolchains: &'a BTreeMap<String, Toolchain>,
    folders: Folders,
    cancel: &'a Cancel,
    found: Mutex<BTreeMap<String, Result<Found, String>>>,
    repetition: Option<Repetition>,
}

/// A build beside the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Repetition {
    number: u32,
    fresh: bool,
}

/// Where a checkout has what a build needs.
#[derive(Debug, Clone)]
pub struct Folders {
    /// `services/`.
    pub services: PathBuf,
    /// `.prony/build/`.
    pub builds: PathBuf,
    /// `.prony/cache/`.
    pub cache: PathBuf,
    /// `.prony/log/`.
    pub logs: PathBuf,
}

/// A built service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Where it runs.
    pub folder: PathBuf,
    /// What its toolchains add to its environment.
    pub environment: BTreeMap<String, String>,
    /// Versions of its toolchains, by their titles.
    pub versions: BTreeMap<String, String>,
    /// Whether an equal one was already there.
    pub cached: bool,
    /// How long it took.
    pub took: Duration,
}

/// Written into a build folder when the build is complete.
const MARK: &str = ".prony-built";
/// Lines of the log that are kept with a failure.
const LOG_LINES: usize = 30;

impl Folders {
    /// Those of the checkout at `root`, with its state in `state` (`.prony`).
    pub fn of(root: &Path, state: &Path) -> Self {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Self {
            services: absolute(root.join("services")),
            builds: absolute(state.join("build")),
            cache: absolute(state.join("cache")),
            logs: absolute(state.join("log")),
        }
    }
}

impl<'a> Builder<'a> {
    /// A builder.
    pub const fn new(
        host: &'a dyn Host,
        toolchains: &'a BTreeMap<String, Toolchain>,
        folders: Folders,
        cancel: &'a Cancel,
    ) -> Self {
        Self {
            host,
            toolchains,
            folders,
            cancel,
            found: Mutex::new(BTreeMap::new()),
            repetition: None,
        }
    }

    /// Makes its builds beside the usual ones, in folders with this number. `fresh` builds anew what is there already, so
    /// that equal builds can be compared.
    #[must_use]
    pub fn repeated(self, number: u32, fresh: bool) -> Self {
        Self {
            repetition: Some(Repetition { number, fresh }),
            ..self
        }
    }

    /// Builds a service unless an equal one is there.
    pub fn build(&self, service: &Service) -> Result<Built, Exclusion> {
        let began = Instant::now();
        let tools = self
            .tools(service)
            .map_err(|failure| failure.with_log(Vec::new()))?;
        let mut name = format!("{}-{}", service.name, digest::of(service, &tools, &self.folders));
        if let Some(repetition) = self.repetition {
            name = format!("{name}-{}", repetition.number);
        }
        let entry = cache::Entry::lock(&self.folders.builds, &name)
            .map_err(|error| Failure::new(Stage::Build, error).with_log(Vec::new()))?;
        let cached = entry.is_complete() && !self.repetition.is_some_and(|repetition| repetition.fresh);
        if !cached {
            entry
                .renew(&service.folder)
                .map_err(|error| Failure::new(Stage::Build, error).with_log(Vec::new()))?;
            steps::run(self, service, &tools, entry.folder())?;
            entry
                .complete()
                .map_err(|error| Failure::new(Stage::Build, error).with_log(Vec::new()))?;
        }
        Ok(Built {
            folder: entry.folder().to_owned(),
            environment: tools.environment,
            versions: tools.versions,
            cached,
            took: began.elapsed(),
        })
    }

    /// Builds several, `at_once` at a time, in their order. Variants that build the same share one build.
    pub fn build_all(
        &self,
        services: &[&Service],
        at_once: usize,
        watch: &(dyn Fn(Progress) + Sync),
    ) -> BTreeMap<ServiceId, Result<Built, Exclusion>> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(BTreeMap::new());
        thread::scope(|scope| {
            for _ in 0..at_once.clamp(1, services.len().max(1)) {
                scope.spawn(|| {
                    while let Some(service) = services.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let id = ServiceId {
                            service: service.name.clone(),
                            variant: service.variant.clone(),
                        };
                        watch(Progress::Building(id.clone()));
                        let result = self.build(service);
                        watch(match &result {
                            Ok(built) => Progress::Built {
                                service: id.clone(),
                                cached: built.cached,
                                took: built.took,
                            },
                            Err(failed) => Progress::NotBuilt {
                                service: id.clone(),
                                reason: failed.reason.clone(),
                            },
                        });
                        lock(&results).insert(id, result);
                    }
                });
            }
        });
        results
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What the machine has of what the service needs.
    fn tools(&self, service: &Service) -> Result<Tools, Failure> {
        let mut tools = Tools::default();
        for requirement in &service.toolchains {
            let Some(toolchain) = self.toolchains.get(&requirement.toolchain) else {
                let text = format!("nobody knows toolchain `{}`", requirement.toolchain);
                return Err(Failure::new(Stage::Toolchain, text));
            };
            let found = self.probed(toolchain);
            let lacking = |what: String| {
                let text = format!("{what}; {}", toolchain.how_to_install());
                Failure::new(Stage::Toolchain, text)
            };
            let found = found.map_err(lacking)?;
            if let Some(minimum) = requirement
                .minimum
                .as_ref()
                .filter(|minimum| found.version < **minimum)
            {
                let text = format!(
                    "{} {} is too old: {minimum} is needed",
                    toolchain.title, found.version
                );
                return Err(lacking(text));
            }
            tools
                .versions
                .insert(toolchain.title.clone(), found.version.to_string());
            tools.environment.extend(found.located);
        }
        Ok(tools)
    }

    /// Asked once for all services.
    fn probed(&self, toolchain: &Toolchain) -> Result<Found, String> {
        let mut found = lock(&self.found);
        found
            .entry(toolchain.name.clone())
            .or_insert_with(|| probe(toolchain))
            .clone()
    }
}

/// What the machine has for a service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Tools {
    environment: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
