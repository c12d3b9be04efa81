//! Builds on another host: the sources are sent there, and the prony on that host builds them like its own.

use super::id_of;
use super::sources::{copy, copy_file, copy_tree};
use super::{BuildLock, BuildOutput, Folders, Repetition};
use crate::digest::short;
use crate::source_files::{is_left_behind, list_file, source_files};
use crate::testbed::json_lines_process::{JsonLinesProcess, Task};
use crate::testbed::{Member, ReconnectingHost};
use crate::{Cancel, Failure, Progress};
use prony_config::project::{PROJECT_FILE, SERVICE_FILE, contract_places};
use prony_config::{Service, SourceFiles};
use prony_host::{HostError, hostname};
use prony_records::{Exclusion, Fingerprint, ServiceId, TrialStage};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// The events of `prony build --json`, one per line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum BuildEvent {
    /// A build has started.
    Building {
        service: ServiceId,
    },
    Built {
        service: ServiceId,
        built: Box<BuildOutput>,
    },
    NotBuilt {
        service: ServiceId,
        excluded: Exclusion,
    },
    /// What a build of a service depends on, if only this was requested.
    Fingerprint {
        service: ServiceId,
        /// `None` if the machine lacks a toolchain.
        fingerprint: Option<Fingerprint>,
    },
    /// Every requested service was built or has failed.
    Done,
}

/// Interval at which cancellation is checked.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Clone, Copy)]
pub(super) struct RemoteBuild<'a> {
    pub(super) member: &'a Member,
    pub(super) remote: &'a ReconnectingHost,
    pub(super) folders: &'a Folders,
    pub(super) cancel: &'a Cancel,
    pub(super) repetition: Option<Repetition>,
}

impl RemoteBuild<'_> {
    /// Builds services. An error while sending the sources is the result of each of them.
    pub(super) fn build_all(
        self,
        services: &[&Service],
        watch: &(dyn Fn(Progress) + Sync),
    ) -> BTreeMap<ServiceId, Result<BuildOutput, Exclusion>> {
        let mut results = BTreeMap::new();
        let failed = self.try_all(services, watch, &mut results).err();
        for service in services {
            results.entry(id_of(service)).or_insert_with(|| {
                let lost = || {
                    Failure::infrastructure(
                        TrialStage::Build,
                        format!("{} ended before it was built", self.member.name),
                    )
                };
                Err(failed.clone().unwrap_or_else(lost).with_log(Vec::new()))
            });
        }
        results
    }

    fn try_all(
        self,
        services: &[&Service],
        watch: &(dyn Fn(Progress) + Sync),
        results: &mut BTreeMap<ServiceId, Result<BuildOutput, Exclusion>>,
    ) -> Result<(), Failure> {
        let mut process = self.start(services, "--hold")?;
        let mut built = Vec::new();
        loop {
            match self.next(&mut process)? {
                BuildEvent::Building { service } => watch(Progress::Building(service)),
                BuildEvent::NotBuilt { service, excluded } => {
                    let reason = excluded.reason.clone();
                    watch(Progress::NotBuilt {
                        service: service.clone(),
                        reason,
                    });
                    results.insert(service, Err(excluded));
                }
                BuildEvent::Built { service, built: one } => {
                    watch(Progress::Built {
                        service: service.clone(),
                        cached: one.cached,
                        took: one.took,
                    });
                    built.push((service, *one));
                }
                BuildEvent::Fingerprint { .. } => {}
                BuildEvent::Done => break,
            }
        }
        // The remote prony process protects its builds while it runs.
        let in_use = BuildLock::kept_by(Mutex::new(process));
        results.extend(built.into_iter().map(|(service, one)| {
            let in_use = in_use.clone();
            (service, Ok(BuildOutput { in_use, ..one }))
        }));
        Ok(())
    }

    /// What builds of the services depend on, on that host; nothing is built.
    pub(super) fn fingerprints(
        self,
        services: &[&Service],
    ) -> Result<BTreeMap<ServiceId, Option<Fingerprint>>, Failure> {
        let mut process = self.start(services, "--fingerprints")?;
        let mut fingerprints = BTreeMap::new();
        loop {
            match self.next(&mut process)? {
                BuildEvent::Fingerprint { service, fingerprint } => fingerprints.insert(service, fingerprint),
                BuildEvent::Done => return Ok(fingerprints),
                _ => None,
            };
        }
    }

    /// The next event of the remote prony process.
    fn next(self, process: &mut JsonLinesProcess) -> Result<BuildEvent, Failure> {
        loop {
            match process.receive(LOOK) {
                Ok(Some(event)) => return Ok(event),
                Ok(None) if self.cancel.is_asked() => return Err(Failure::interrupted(TrialStage::Build)),
                Ok(None) => {}
                Err(reason) => return Err(Failure::infrastructure(TrialStage::Build, reason)),
            }
        }
    }

    /// Sends the sources and starts a remote prony process that reports events. `--hold` builds the services and protects the
    /// builds until its input ends; `--fingerprints` builds nothing.
    fn start(self, services: &[&Service], how: &str) -> Result<JsonLinesProcess, Failure> {
        if let Some(earlier) = services.iter().find(|service| service.revision.is_some()) {
            let (label, host) = (earlier.label(), &self.member.name);
            let text = format!(
                "{label} is a git revision, and {host} has no git history: write `build_on = \"controller\"` into [host.{host}] to build \
                 it on this machine"
            );
            return Err(Failure::infrastructure(TrialStage::Build, text));
        }
        let project = self.send(services)?;
        let folder = project.to_string_lossy();
        let labels: Vec<String> = services.iter().map(|service| service.label()).collect();
        let repetition = self.repetition.map(|one| one.number.to_string());
        let mut arguments = vec!["-C", &folder, "build", "--json", how];
        if let (Some(Repetition { fresh, .. }), Some(number)) = (self.repetition, &repetition) {
            arguments.extend(["--repetition", number]);
            arguments.extend(fresh.then_some("--fresh"));
        }
        arguments.push("--");
        arguments.extend(labels.iter().map(String::as_str));
        let what = Task {
            name: "the prony that builds",
            arguments: &arguments,
            folder: Some(&project),
            place: None,
            log: Path::new("builds.log"),
        };
        JsonLinesProcess::begin(self.member, what).map_err(|error| failed(&error))
    }

    /// Sends everything that the builds of these services need to a project folder that stays on the host between runs.
    fn send(self, services: &[&Service]) -> Result<PathBuf, Failure> {
        let root = self.folders.services.parent().unwrap_or(Path::new("/"));
        let local = |error: io::Error| match error.kind() {
            io::ErrorKind::Interrupted => Failure::interrupted(TrialStage::Build),
            _ => Failure::infrastructure(
                TrialStage::Build,
                format!("cannot collect the sources of services: {error}"),
            ),
        };
        let fresh = tempfile::tempdir().map_err(local)?;
        let sent = SentProject::of(root, services);
        let collected = sent.collect(services, fresh.path(), &|| self.cancel.is_asked());
        collected.map_err(local)?;
        let remote = self.remote.remote();
        let project = remote.hello().cache.join("projects").join(name_of(root));
        let put = |part: &str| remote.put(&fresh.path().join(part), &project.join(part), &|_| {});
        for entry in fs::read_dir(fresh.path()).map_err(local)?.flatten() {
            put(&entry.file_name().to_string_lossy()).map_err(|error| failed(&error))?;
        }
        Ok(project.join(sent.prefix()))
    }
}

fn failed(error: &HostError) -> Failure {
    Failure::host(TrialStage::Build, error)
}

/// The name of the folder that a project of this machine has on another host.
pub(super) fn name_of(root: &Path) -> String {
    let mut hash = Sha256::new();
    hash.update(root.as_os_str().as_encoded_bytes());
    hash.update(hostname().unwrap_or_default());
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}-{}", short(&hash.finalize()))
}

/// What a project sends to another host.
struct SentProject<'a> {
    root: &'a Path,
    /// The folder whose relative paths are those on the other host: that of the project, or one above it with all sources.
    top: &'a Path,
}

impl<'a> SentProject<'a> {
    fn of(root: &'a Path, services: &[&Service]) -> Self {
        let has_all = |folder: &&Path| {
            let mut sources = services.iter();
            sources.all(|service| service.source.folder.starts_with(folder))
        };
        Self {
            root,
            top: root.ancestors().find(has_all).unwrap_or(root),
        }
    }

    /// The path of the project on the other host, relative to what is sent.
    fn prefix(&self) -> &'a Path {
        self.root.strip_prefix(self.top).unwrap_or(Path::new(""))
    }

    /// Copies everything that builds need: the services with their sources, the shared files, the files that they copy, and the
    /// contracts, without which a project is incomplete.
    fn collect(&self, services: &[&Service], to: &Path, stops: &dyn Fn() -> bool) -> io::Result<()> {
        let project = to.join(self.prefix());
        fs::create_dir_all(project.join("services"))?;
        fs::write(project.join(PROJECT_FILE), self.settings(services))?;
        self.collect_shared(&project, stops)?;
        for service in services {
            self.collect_service(service, (to, &project), stops)?;
        }
        for contracts in contract_places(self.root) {
            if contracts.is_dir() {
                copy_tree(&contracts, &project.join("contracts"), stops)?;
            }
        }
        Ok(())
    }

    /// The settings with the places of these services.
    fn settings(&self, services: &[&Service]) -> String {
        let elsewhere = services.iter().filter(|service| service.shared_scripts.is_none());
        let below = elsewhere.filter_map(|service| service.folder.strip_prefix(self.root).ok());
        let below: BTreeSet<&Path> = below.filter(|path| *path != Path::new("")).collect();
        let names = below
            .iter()
            .map(|path| toml::Value::from(path.to_string_lossy().as_ref()));
        format!("services = {}\n", toml::Value::Array(names.collect()))
    }

    /// What is in the folder of the services in addition to services.
    fn collect_shared(&self, project: &Path, stops: &dyn Fn() -> bool) -> io::Result<()> {
        let services = self.root.join("services");
        if !services.is_dir() {
            return Ok(());
        }
        for entry in fs::read_dir(services)?.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.join(SERVICE_FILE).is_file() || is_left_behind(&name.to_string_lossy()) {
                continue;
            }
            let copied = project.join("services").join(&name);
            if entry.file_type()?.is_dir() {
                copy_tree(&path, &copied, stops)?;
            } else {
                copy_file(&path, &copied)?;
            }
        }
        Ok(())
    }

    fn collect_service(
        &self,
        service: &Service,
        (to, project): (&Path, &Path),
        stops: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let place = |path: &Path| to.join(path.strip_prefix(self.top).unwrap_or(Path::new("")));
        let entries = source_files(service, stops)?;
        copy(&entries, &place(&service.source.folder), stops)?;
        copy_file(
            &service.folder.join(SERVICE_FILE),
            &place(&service.folder).join(SERVICE_FILE),
        )?;
        if service.source.files == SourceFiles::NotIgnored {
            let mut list = Vec::new();
            for entry in &entries {
                list.extend_from_slice(entry.path.as_os_str().as_encoded_bytes());
                list.push(0);
            }
            let file = list_file(project, service);
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(file, list)?;
        }
        for source in service.copies.values() {
            // Files that are shipped with prony are also shipped with the prony on the other host.
            if source.starts_with(self.root) {
                copy_file(source, &place(source))?;
            }
        }
        Ok(())
    }
}
