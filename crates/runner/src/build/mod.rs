//! Building services: a copy of the service's folder, in which its build commands run, found again by its content.

mod cache;
mod copy;
mod digest;
mod disk_space;
mod image;
mod local;
mod queue;
mod remote;
mod steps;
mod toolchain;

use crate::testbed::{Member, Reached, Testbed};
use crate::{Cancel, Failure, Progress};
use prony_config::{Service, Toolchain};
use prony_host::{Container, Host};
use prony_records::{Exclusion, ServiceId, Stage};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use queue::Queue;
use remote::There;
use serde::{Deserialize, Serialize};

pub use cache::InUse;
pub(crate) use copy::is_left_behind;
pub(crate) use digest::short;
pub use disk_space::{Folders, builds_at_once, room_for};
pub use image::lacks_image;
pub use remote::BuildEvent;
pub(crate) use toolchain::before_path;
pub use toolchain::{Found, probe, system};

/// Builds services of a checkout.
pub struct Builder<'a> {
    host: &'a dyn Host,
    /// The host of the services, where that is not this machine.
    there: Option<(&'a Member, &'a Reached)>,
    /// Whether this machine builds for it.
    sends: bool,
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

/// A built service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// Where it runs.
    pub folder: PathBuf,
    /// What its toolchains add to its environment.
    pub environment: BTreeMap<String, String>,
    /// What makes it equal to another build, and another to it.
    pub digest: String,
    /// Versions of its toolchains, by their titles.
    pub versions: BTreeMap<String, String>,
    /// The service's own version, where its `version_from` tells it.
    pub version: Option<String>,
    /// The container that it runs in, where it is an image.
    pub container: Option<Container>,
    /// Whether an equal one was already there.
    pub cached: bool,
    /// How long it took.
    pub took: Duration,
    /// Keeps the folder as it is.
    #[serde(skip)]
    pub in_use: InUse,
}

/// Written into a build folder when the build is complete.
const MARK: &str = ".prony-built";
/// Lines of the log that are kept with a failure.
const LOG_LINES: usize = 30;

impl<'a> Builder<'a> {
    /// A builder of services that run where the testbed says.
    pub fn new(
        testbed: &'a Testbed,
        toolchains: &'a BTreeMap<String, Toolchain>,
        folders: Folders,
        cancel: &'a Cancel,
    ) -> Self {
        let member = testbed.service();
        Self {
            host: member.builds.as_deref().unwrap_or(&*member.host),
            sends: member.builds.is_some(),
            there: member.remote.as_deref().map(|remote| (member, remote)),
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
        self.build_watched(service, &|_| {})
    }

    /// The same; says when it waits for somebody else who builds it.
    pub fn build_watched(&self, service: &Service, watch: &dyn Fn(Progress)) -> Result<Built, Exclusion> {
        if self.there.is_some() {
            let mut built = self.build_all(&[service], 1, &|_| {});
            return built
                .remove(&id_of(service))
                .expect("invariant: each has its result");
        }
        self.build_here(service, watch)
    }

    /// Builds it on this machine.
    fn build_here(&self, service: &Service, watch: &dyn Fn(Progress)) -> Result<Built, Exclusion> {
        let began = Instant::now();
        let without_log = |failure: Failure| failure.with_log(Vec::new());
        let mut tools = self.tools(service).map_err(without_log)?;
        let pulled = image::found(service, &mut tools.versions).map_err(without_log)?;
        let digest = digest::of(service, &tools, &self.folders, pulled.as_ref());
        let mut name = format!("{}-{digest}", service.name);
        if let Some(repetition) = self.repetition {
            name = format!("{name}-{}", repetition.number);
        }
        let wanted = cache::Wanted {
            builds: &self.folders.builds,
            name: &name,
            fresh: self.repetition.is_some_and(|repetition| repetition.fresh),
            cancel: self.cancel,
            waits: &|by| {
                watch(Progress::AwaitsBuild {
                    service: id_of(service),
                    by,
                });
            },
        };
        let (cached, (folder, in_use)) = match wanted.find().map_err(without_log)? {
            cache::Found::Complete(folder, in_use) => (true, (folder, in_use)),
            cache::Found::Empty(entry) => {
                entry.renew(service).map_err(without_log)?;
                steps::run(self, service, &tools, entry.folder())?;
                let version = steps::version(self, service, &tools, entry.folder())?;
                (false, entry.complete(version.as_deref()).map_err(without_log)?)
            }
        };
        let container = match pulled {
            None => image::built(self, service, &tools, (&folder, &digest))?,
            pulled => pulled,
        };
        let version = cache::version(&folder);
        is_the_written(service, version.as_deref())?;
        Ok(Built {
            folder,
            environment: tools.environment(),
            digest,
            versions: tools.versions,
            version,
            container,
            cached,
            took: began.elapsed(),
            in_use,
        })
    }

    /// What makes the build of a service equal to another: it stands in the name of its folder. `None` where the machine
    /// lacks a toolchain or an image.
    pub fn digest(&self, service: &Service) -> Option<String> {
        let mut tools = self.tools(service).ok()?;
        let pulled = image::found(service, &mut tools.versions).ok()?;
        Some(digest::of(service, &tools, &self.folders, pulled.as_ref()))
    }

    /// The same of several services, where they would be built. It fails where that is another host that does not tell.
    pub fn digests(&self, services: &[&Service]) -> Result<BTreeMap<ServiceId, Option<String>>, Failure> {
        let (away, ours) = self.divided(services);
        let mut digests = match self.there() {
            Some(there) if !away.is_empty() => there.digests(&away)?,
            _ => BTreeMap::new(),
        };
        digests.extend(
            ours.into_iter()
                .map(|service| (id_of(service), self.digest(service))),
        );
        Ok(digests)
    }

    /// Builds several, `at_once` at a time. Variants that build the same share one build.
    pub fn build_all(
        &self,
        services: &[&Service],
        at_once: usize,
        watch: &(dyn Fn(Progress) + Sync),
    ) -> BTreeMap<ServiceId, Result<Built, Exclusion>> {
        let (away, ours) = self.divided(services);
        let mut results = match self.there() {
            Some(there) if !away.is_empty() => there.build_all(&away, watch),
            _ => BTreeMap::new(),
        };
        results.extend(match self.there() {
            Some(there) if !ours.is_empty() => local::build_all(self, there, (&ours, at_once), watch),
            _ => self.build_all_here(&ours, at_once, watch),
        });
        results
    }

    /// Services that are built on another host, and those that this machine builds. Images are built where they run, since
    /// they stay with the engine that built them.
    fn divided<'s>(&self, services: &[&'s Service]) -> (Vec<&'s Service>, Vec<&'s Service>) {
        services
            .iter()
            .partition(|service| self.there.is_some() && (!self.sends || service.reached.image().is_some()))
    }

    fn build_all_here(
        &self,
        services: &[&Service],
        at_once: usize,
        watch: &(dyn Fn(Progress) + Sync),
    ) -> BTreeMap<ServiceId, Result<Built, Exclusion>> {
        let queue = Mutex::new(Queue::of(
            services.iter().map(|&service| (toolchain_of(service), service)),
        ));
        let results = Mutex::new(BTreeMap::new());
        thread::scope(|scope| {
            for _ in 0..at_once.clamp(1, services.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let taken = lock(&queue).take();
                        let Some((toolchain, service)) = taken else { break };
                        let id = id_of(service);
                        watch(Progress::Building(id.clone()));
                        let result = self.build_here(service, &|progress| watch(progress));
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
                        lock(&queue).give_back(toolchain);
                        lock(&results).insert(id, result);
                    }
                });
            }
        });
        results
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn there(&self) -> Option<There<'_>> {
        self.there.map(|(member, remote)| There {
            member,
            remote,
            folders: &self.folders,
            cancel: self.cancel,
            repetition: self.repetition,
        })
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
            let lacking =
                |what: String, remedy: String| Failure::new(Stage::Toolchain, format!("{what}; {remedy}"));
            let found = found.map_err(|what| lacking(what, toolchain.how_to_install(system())))?;
            if let Some(minimum) = requirement
                .minimum
                .as_ref()
                .filter(|minimum| found.version < **minimum)
            {
                let text = format!(
                    "{} {} is too old: {minimum} is needed",
                    toolchain.title, found.version
                );
                return Err(lacking(text, toolchain.how_to_renew(minimum)));
            }
            tools
                .versions
                .insert(toolchain.title.clone(), found.version.to_string());
            tools.environment.extend(found.located);
            tools.path.extend(found.path);
        }
        Ok(tools)
    }

    /// Asked once for all services.
    fn probed(&self, toolchain: &Toolchain) -> Result<Found, String> {
        let mut found = lock(&self.found);
        found
            .entry(toolchain.name.clone())
            .or_insert_with(|| probe(toolchain, &self.folders.cache))
            .clone()
    }
}

/// A version that is written beside the command that tells it must be the same: what a page says has been built.
fn is_the_written(service: &Service, told: Option<&str>) -> Result<(), Exclusion> {
    match (service.written_version(), told) {
        (Some(written), Some(told)) if written != told => {
            let text = format!(
                "`version` of {} is `{written}`, and what was built is `{told}`: write that one, or leave `version` out",
                service.label()
            );
            Err(Failure::new(Stage::Build, text).with_log(Vec::new()))
        }
        _ => Ok(()),
    }
}

/// The toolchain that builds a service: the first that it asks for.
fn toolchain_of(service: &Service) -> &str {
    let first = service.toolchains.first();
    first.map_or("", |needed| needed.toolchain.as_str())
}

fn id_of(service: &Service) -> ServiceId {
    ServiceId {
        service: service.name.clone(),
        variant: service.variant.clone(),
    }
}

/// What the machine has for a service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Tools {
    /// Where they are.
    environment: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    /// Folders that come first on the PATH.
    path: Vec<PathBuf>,
}

impl Tools {
    /// What they add to the environment of builds and runs.
    fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.environment.clone();
        if !self.path.is_empty() {
            environment.insert("PATH".to_owned(), before_path(&self.path));
        }
        environment
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
