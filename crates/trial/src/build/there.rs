//! Building on another host: the sources go there, and a prony there builds them as it would its own.

use super::{Built, Folders, InUse, copy};
use crate::{Cancel, Failure, Progress};
use prony_host::{HostError, Isolation, Limits, Process, ProcessSpec, Stdio, hostname};
use prony_lab::{Member, Reached};
use prony_measurement::{Exclusion, ServiceId, Stage};
use prony_plan::Service;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// What `prony build --json` says, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum BuildEvent {
    /// A build begins.
    Building {
        /// Of this service.
        service: ServiceId,
    },
    /// A service is built.
    Built {
        /// This one.
        service: ServiceId,
        /// What came of it.
        built: Box<Built>,
    },
    /// A service could not be built.
    NotBuilt {
        /// This one.
        service: ServiceId,
        /// Why.
        excluded: Exclusion,
    },
    /// What makes the build of a service equal to another one, where only that was asked for.
    Digest {
        /// Of this service.
        service: ServiceId,
        /// `None`: the machine lacks a toolchain.
        digest: Option<String>,
    },
    /// All that was asked for is built, or could not be.
    Done,
}

/// Time between two looks at whether the user has had enough.
const LOOK: Duration = Duration::from_millis(100);
/// Most bytes of the log.
const LOG_BYTES: u64 = 1 << 20;
/// Time for it to end.
const GRACE: Duration = Duration::from_secs(5);

/// Keeps the builds of a host as they are: the prony there that made them lives as long as this.
struct Keeper {
    _process: Box<dyn Process>,
    _input: Box<dyn Write + Send>,
}

/// A prony there that tells of builds, a line each.
struct Teller {
    process: Box<dyn Process>,
    input: Box<dyn Write + Send>,
    lines: Receiver<String>,
}

/// A host on which services are built.
#[derive(Clone, Copy)]
pub(super) struct There<'a> {
    pub(super) member: &'a Member,
    pub(super) remote: &'a Reached,
    pub(super) folders: &'a Folders,
    pub(super) cancel: &'a Cancel,
}

impl There<'_> {
    /// Builds services. What cannot even be sent fails for all.
    pub(super) fn build_all(
        self,
        services: &[&Service],
        watch: &(dyn Fn(Progress) + Sync),
    ) -> BTreeMap<ServiceId, Result<Built, Exclusion>> {
        let mut results = BTreeMap::new();
        let failed = self.try_all(services, watch, &mut results).err();
        for service in services {
            results.entry(super::id_of(service)).or_insert_with(|| {
                let lost = || {
                    Failure::lab(
                        Stage::Build,
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
        results: &mut BTreeMap<ServiceId, Result<Built, Exclusion>>,
    ) -> Result<(), Failure> {
        let mut teller = self.start(services, "--hold")?;
        let mut built = Vec::new();
        loop {
            match self.next(&mut teller)? {
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
                BuildEvent::Digest { .. } => {}
                BuildEvent::Done => break,
            }
        }
        let in_use = InUse::kept_by(Mutex::new(Keeper {
            _process: teller.process,
            _input: teller.input,
        }));
        results.extend(built.into_iter().map(|(service, one)| {
            let in_use = in_use.clone();
            (service, Ok(Built { in_use, ..one }))
        }));
        Ok(())
    }

    /// What makes the builds of services equal to others there, without building them.
    pub(super) fn digests(
        self,
        services: &[&Service],
    ) -> Result<BTreeMap<ServiceId, Option<String>>, Failure> {
        let mut teller = self.start(services, "--digests")?;
        let mut digests = BTreeMap::new();
        loop {
            match self.next(&mut teller)? {
                BuildEvent::Digest { service, digest } => digests.insert(service, digest),
                BuildEvent::Done => return Ok(digests),
                _ => None,
            };
        }
    }

    /// The next that a prony there tells.
    fn next(self, teller: &mut Teller) -> Result<BuildEvent, Failure> {
        loop {
            let line = match teller.lines.recv_timeout(LOOK) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) if self.cancel.is_asked() => {
                    return Err(Failure::interrupted(Stage::Build));
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(self.gone(&mut *teller.process)),
            };
            return serde_json::from_str(&line).map_err(|_| {
                let name = &self.member.name;
                let text = format!("prony on {name} said `{line}`, which tells of no build");
                Failure::lab(Stage::Build, text)
            });
        }
    }

    /// A prony there that has the sources and tells of builds: `--hold` builds them, and keeps what it built until its input
    /// ends; `--digests` builds nothing.
    fn start(self, services: &[&Service], how: &str) -> Result<Teller, Failure> {
        let project = self.send(services)?;
        let folder = project.to_string_lossy();
        let mut command = self.member.prony(&["-C", &folder, "build", "--json", how, "--"]);
        command.extend(services.iter().map(|service| service.label()));
        let spec = ProcessSpec {
            name: "the builds".to_owned(),
            command,
            container: None,
            folder: project.clone(),
            environment: BTreeMap::new(),
            cpus: prony_host::Cpus::default(),
            supervisor_cpus: prony_host::Cpus::default(),
            limits: Limits::default(),
            isolation: Isolation::WherePossible,
            network: None,
            stdio: Stdio::Piped,
            log: self.member.logs.join("builds.log"),
            log_bytes: LOG_BYTES,
            grace: GRACE,
            stop_signal: None,
            sample_every: None,
        };
        let mut process = self.member.host.start(&spec).map_err(|error| failed(&error))?;
        let pipes = process.take_pipes();
        let (input, output) =
            pipes.ok_or_else(|| Failure::lab(Stage::Build, "the build there has no pipes"))?;
        Ok(Teller {
            lines: listen(output),
            process,
            input,
        })
    }

    fn gone(self, process: &mut dyn Process) -> Failure {
        let ended = process
            .stop()
            .map_or_else(|error| error.to_string(), |ending| ending.to_string());
        let last = process.log_tail(3).join(" | ");
        Failure::lab(
            Stage::Build,
            format!("prony on {}, which builds, {ended}: {last}", self.member.name),
        )
    }

    /// Sends what the builds of these services need, to a project that stays there between runs.
    fn send(self, services: &[&Service]) -> Result<PathBuf, Failure> {
        let root = self.folders.services.parent().unwrap_or(Path::new("/"));
        let local = |error: io::Error| {
            Failure::lab(
                Stage::Build,
                format!("cannot collect the sources of services: {error}"),
            )
        };
        let fresh = tempfile::tempdir().map_err(local)?;
        collect(root, services, fresh.path()).map_err(local)?;
        let remote = self.remote.remote();
        let project = remote.hello().cache.join("projects").join(name_of(root));
        let put = |part: &str| remote.put(&fresh.path().join(part), &project.join(part), &|_| {});
        for entry in fs::read_dir(fresh.path()).map_err(local)?.flatten() {
            put(&entry.file_name().to_string_lossy()).map_err(|error| failed(&error))?;
        }
        Ok(project)
    }
}

fn failed(error: &HostError) -> Failure {
    Failure::host(Stage::Build, error)
}

/// A folder for a project of this machine on another one.
fn name_of(root: &Path) -> String {
    let mut hash = Sha256::new();
    hash.update(root.as_os_str().as_encoded_bytes());
    hash.update(hostname().unwrap_or_default());
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let bytes = hash.finalize();
    let first = bytes.iter().take(6);
    let digits = first.fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    format!("{name}-{digits}")
}

/// Copies what builds need: the services, what they share, the files that they copy, and the contracts, without which a
/// project is not whole.
fn collect(root: &Path, services: &[&Service], to: &Path) -> io::Result<()> {
    let wanted: BTreeSet<&str> = services.iter().map(|service| service.name.as_str()).collect();
    fs::write(to.join("prony.toml"), "")?;
    fs::create_dir_all(to.join("services"))?;
    for entry in fs::read_dir(root.join("services"))?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_other = path.join("service.toml").is_file() && !wanted.contains(&*name.to_string_lossy());
        if is_other || copy::is_left_behind(&name.to_string_lossy()) {
            continue;
        }
        let copied = to.join("services").join(&name);
        if entry.file_type()?.is_dir() {
            copy::tree(&path, &copied)?;
        } else {
            copy::file(&path, &copied)?;
        }
    }
    for source in services.iter().flat_map(|service| service.copies.values()) {
        // A file of what prony brings along is brought along there, too.
        if let Ok(inside) = source.strip_prefix(root) {
            copy::file(source, &to.join(inside))?;
        }
    }
    let contracts = root.join("contracts");
    if contracts.is_dir() {
        copy::tree(&contracts, &to.join("contracts"))?;
    }
    Ok(())
}

fn listen(output: Box<dyn io::Read + Send>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
