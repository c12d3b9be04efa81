//! Builds services. The build commands run in a copy of the folder of the service; the digest of its contents identifies the
//! build.

mod base_images;
mod c_library;
mod cache;
mod causes;
mod disk_space;
mod image;
mod inputs;
mod local;
mod programs;
mod queue;
mod remote;
mod sources;
mod steps;
mod toolchain;

use crate::testbed::{Member, ReconnectingHost, Testbed};
use crate::{Cancel, Failure, Progress};
use prony_config::{Service, Toolchain};
use prony_files::LockFile;
use prony_host::{Container, Host};
use prony_records::{Exclusion, Fingerprint, Part, ServiceId, TrialStage};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use queue::Queue;
use remote::RemoteBuild;
use serde::{Deserialize, Serialize};
use sources::Sources;

pub use cache::BuildLock;
pub use disk_space::{Folders, builds_at_once, room_for};
pub use image::lacks_image;
pub(crate) use inputs::recipe;
pub(crate) use programs::own_program;
pub use remote::BuildEvent;
pub(crate) use toolchain::before_path;
pub use toolchain::{InstalledToolchain, probe, system};

pub struct Builder<'a> {
    host: &'a dyn Host,
    /// The host of the services, unless it is this machine.
    there: Option<(&'a Member, &'a ReconnectingHost)>,
    /// Whether this machine builds for that host and sends the result.
    sends: bool,
    toolchains: &'a BTreeMap<String, Toolchain>,
    folders: Folders,
    cancel: &'a Cancel,
    found: Mutex<BTreeMap<String, Result<InstalledToolchain, String>>>,
    repetition: Option<Repetition>,
}

/// A numbered repetition of a build, kept next to the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Repetition {
    number: u32,
    fresh: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildOutput {
    pub folder: PathBuf,
    /// Variables that its toolchains add to its environment.
    pub environment: BTreeMap<String, String>,
    /// The parts `Part::BUILD`: builds with the same parts are equal.
    pub fingerprint: Fingerprint,
    /// Versions of its toolchains by title.
    pub versions: BTreeMap<String, String>,
    /// The version of the service, if it has a `version_from` command.
    pub version: Option<String>,
    /// The container that it runs in, if it is an image.
    pub container: Option<Container>,
    /// Whether the build already existed.
    pub cached: bool,
    pub took: Duration,
    /// Protects the folder from being rebuilt.
    #[serde(skip)]
    pub in_use: BuildLock,
}

/// Written into a build folder when the build is complete.
const MARK: &str = ".prony-built";
/// Number of log lines that are kept with a failure.
const LOG_LINES: usize = 30;

impl<'a> Builder<'a> {
    /// A builder of services that run where the testbed places them.
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

    /// Puts builds next to the usual ones, in folders with this number. `fresh` builds again even if a build exists, so that
    /// builds of the same sources can be compared.
    #[must_use]
    pub fn repeated(self, number: u32, fresh: bool) -> Self {
        Self {
            repetition: Some(Repetition { number, fresh }),
            ..self
        }
    }

    /// Builds a service unless a build with the same digest exists.
    pub fn build(&self, service: &Service) -> Result<BuildOutput, Exclusion> {
        self.build_watched(service, &|_| {})
    }

    /// Like [`Self::build`], and reports when it waits for another process that builds the same service.
    pub fn build_watched(
        &self,
        service: &Service,
        watch: &dyn Fn(Progress),
    ) -> Result<BuildOutput, Exclusion> {
        if self.there.is_some() {
            let mut built = self.build_all(&[service], 1, &|_| {});
            return built
                .remove(&id_of(service))
                .expect("invariant: each has its result");
        }
        self.build_here(service, watch)
    }

    fn build_here(&self, service: &Service, watch: &dyn Fn(Progress)) -> Result<BuildOutput, Exclusion> {
        let began = Instant::now();
        let without_log = |failure: Failure| failure.with_log(Vec::new());
        let mut tools = self.tools(service).map_err(without_log)?;
        let pulled = image::found(service, &mut tools).map_err(without_log)?;
        let sources = Sources::of(service, self.cancel).map_err(without_log)?;
        let mut fingerprint =
            inputs::of(&sources, &tools, &self.folders, pulled.as_ref()).map_err(without_log)?;
        let digest = inputs::name(&fingerprint);
        let mut name = format!("{}-{digest}", service.name);
        if let Some(repetition) = self.repetition {
            name = format!("{name}-{}", repetition.number);
        }
        let wanted = cache::CacheKey {
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
            cache::CacheLookup::Complete(folder, in_use) => (true, (folder, in_use)),
            cache::CacheLookup::Empty(entry) => {
                let _alone = self.alone_with_cargo(service).map_err(without_log)?;
                entry.renew(&sources).map_err(without_log)?;
                steps::run(self, service, &tools, entry.folder())?;
                let version = steps::version(self, service, &tools, entry.folder())?;
                (false, entry.complete(version.as_deref()).map_err(without_log)?)
            }
        };
        let container = match pulled {
            None => {
                let built = image::built(self, service, &tools, (&folder, &digest))?;
                // The images that the build pulled are known now.
                if built.is_some() && image::found(service, &mut tools).is_ok() {
                    fingerprint = fingerprint.with(Part::Tools, inputs::tools_of(service, &tools, None));
                }
                built
            }
            pulled => pulled,
        };
        let version = cache::version(&folder);
        check_version(service, version.as_deref())?;
        Ok(BuildOutput {
            folder,
            environment: tools.environment(),
            fingerprint,
            versions: tools.versions,
            version,
            container,
            cached,
            took: began.elapsed(),
            in_use,
        })
    }

    /// The lock of the folder in which cargo builds. All builds share it, and each copies its program out with a command of its own:
    /// meanwhile no other prony may build another revision of the same crate.
    fn alone_with_cargo(&self, service: &Service) -> Result<Option<LockFile>, Failure> {
        let uses_it = |command: &String| command.contains("CARGO_TARGET_DIR");
        if !service.build.iter().any(uses_it) {
            return Ok(None);
        }
        cache::alone(&self.folders.cache.join("cargo-target.lock"), self.cancel).map(Some)
    }

    /// What a build of the service depends on: the parts `Part::BUILD`. `None` if the machine lacks a toolchain or an image, or if
    /// the sources cannot be read.
    pub fn fingerprint(&self, service: &Service) -> Option<Fingerprint> {
        let mut tools = self.tools(service).ok()?;
        let pulled = image::found(service, &mut tools).ok()?;
        let sources = Sources::of(service, self.cancel).ok()?;
        inputs::of(&sources, &tools, &self.folders, pulled.as_ref()).ok()
    }

    /// The digest in the name of the service's build folder: builds with the same digest are equal.
    pub fn digest(&self, service: &Service) -> Option<String> {
        self.fingerprint(service).map(|inputs| inputs::name(&inputs))
    }

    /// What the builds of several services depend on, computed on the host that would build them. Fails if that host does not report them.
    pub fn fingerprints(
        &self,
        services: &[&Service],
    ) -> Result<BTreeMap<ServiceId, Option<Fingerprint>>, Failure> {
        let (away, ours) = self.divided(services);
        let mut fingerprints = match self.there() {
            Some(there) if !away.is_empty() => there.fingerprints(&away)?,
            _ => BTreeMap::new(),
        };
        fingerprints.extend(
            ours.into_iter()
                .map(|service| (id_of(service), self.fingerprint(service))),
        );
        Ok(fingerprints)
    }

    /// Builds several services, `at_once` in parallel. Variants with the same digest share one build.
    pub fn build_all(
        &self,
        services: &[&Service],
        at_once: usize,
        watch: &(dyn Fn(Progress) + Sync),
    ) -> BTreeMap<ServiceId, Result<BuildOutput, Exclusion>> {
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

    /// Services that are built on another host, and those that this machine builds. Images are built where they run, because
    /// they stay in the container engine that built them.
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
    ) -> BTreeMap<ServiceId, Result<BuildOutput, Exclusion>> {
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

    fn there(&self) -> Option<RemoteBuild<'_>> {
        self.there.map(|(member, remote)| RemoteBuild {
            member,
            remote,
            folders: &self.folders,
            cancel: self.cancel,
            repetition: self.repetition,
        })
    }

    /// Finds the toolchains that the service requires.
    fn tools(&self, service: &Service) -> Result<Tools, Failure> {
        let mut tools = Tools::default();
        for requirement in &service.toolchains {
            let own = service.revision.as_ref().map(|revision| &revision.toolchains);
            let toolchain = own.unwrap_or(self.toolchains).get(&requirement.toolchain);
            let Some(toolchain) = toolchain else {
                let text = format!("unknown toolchain `{}`", requirement.toolchain);
                return Err(Failure::infrastructure(TrialStage::Toolchain, text));
            };
            let found = self.probed(toolchain);
            let lacking = |what: String, remedy: String| {
                Failure::infrastructure(TrialStage::Toolchain, format!("{what}; {remedy}"))
            };
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
            tools.programs.extend(found.programs);
        }
        let run = service.reached.command().and_then(programs::first_program);
        tools
            .programs
            .extend(run.and_then(|program| programs::identified(&program, &tools.path)));
        Ok(tools)
    }

    /// Probes each toolchain once for all services.
    fn probed(&self, toolchain: &Toolchain) -> Result<InstalledToolchain, String> {
        let mut found = lock(&self.found);
        // Another revision may look for it in another way.
        found
            .entry(format!(
                "{} {:?} {}",
                toolchain.name, toolchain.locate, toolchain.probe
            ))
            .or_insert_with(|| probe(toolchain, &self.folders.cache))
            .clone()
    }
}

/// A version in the file next to `version_from` must equal the reported one, so that the version in a report is the one that
/// was built.
fn check_version(service: &Service, built_version: Option<&str>) -> Result<(), Exclusion> {
    match (service.written_version(), built_version) {
        (Some(written), Some(built_version)) if written != built_version => {
            let text = format!(
                "`version` of {} is `{written}`, but `{built_version}` was built: correct `version` or remove it",
                service.label()
            );
            Err(Failure::new(TrialStage::Build, text).with_log(Vec::new()))
        }
        _ => Ok(()),
    }
}

/// The main toolchain of a service: the first one that it requires.
fn toolchain_of(service: &Service) -> &str {
    let first = service.toolchains.first();
    first.map_or("", |needed| needed.toolchain.as_str())
}

/// Name and variant of a service.
pub(crate) fn id_of(service: &Service) -> ServiceId {
    ServiceId {
        service: service.name.clone(),
        variant: service.variant.clone(),
    }
}

/// The toolchains of the machine that a service requires.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Tools {
    /// Variables that contain the folders of the toolchains.
    environment: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    /// Folders at the start of the PATH.
    path: Vec<PathBuf>,
    /// The digest of each program, by its path.
    programs: BTreeMap<String, String>,
}

impl Tools {
    /// The variables that the toolchains add to the environment of builds and runs.
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
