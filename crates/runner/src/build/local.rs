//! Builds on this machine for another host and sends the result. That host must be able to run these programs.

use super::c_library::{Machine, QUESTION};
use super::id_of;
use super::remote::{RemoteBuild, name_of};
use super::{BuildOutput, Builder, MARK, Tools};
use crate::script::{ScriptExit, until_ended};
use crate::{Failure, Progress};
use prony_config::{Service, ServiceOrigin};
use prony_files::{EntryKind, Limits, Walk};
use prony_host::{InheritedVariables, ProcessSpec};
use prony_records::{Exclusion, ServiceId, TrialStage};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fs::File;
use std::io;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(10);
/// Maximum size of the log in bytes.
const LOG_BYTES: u64 = 64 << 10;
/// Bytes between two progress reports.
const WORTH_SAYING: u64 = 64 << 20;

/// Builds on this machine for another host and sends the builds. Fails before the first build if that host cannot run them.
pub(super) fn build_all(
    builder: &Builder<'_>,
    there: RemoteBuild<'_>,
    (services, at_once): (&[&Service], usize),
    watch: &(dyn Fn(Progress) + Sync),
) -> BTreeMap<ServiceId, Result<BuildOutput, Exclusion>> {
    let without_log = |failure: Failure| failure.with_log(Vec::new());
    let destination = match Destination::of(there) {
        Ok(destination) => destination,
        Err(failure) => {
            let refused = |service: &&Service| (id_of(service), Err(without_log(failure.clone())));
            return services.iter().map(refused).collect();
        }
    };
    let mut results = builder.build_all_here(services, at_once, watch);
    for service in services {
        let built = results.remove(&id_of(service));
        let sent = built.expect("invariant: each has its result").and_then(|built| {
            let tools = builder.tools(service).map_err(without_log)?;
            let sent = destination.send(service, (built, &tools), &|progress| watch(progress));
            sent.map_err(without_log)
        });
        results.insert(id_of(service), sent);
    }
    results
}

/// A host that can run programs of this machine.
struct Destination<'a> {
    there: RemoteBuild<'a>,
    /// The PATH of the host.
    path: String,
    /// The folder for builds that are sent from this project.
    folder: PathBuf,
}

impl<'a> Destination<'a> {
    /// Fails if the host cannot run programs of this machine.
    fn of(there: RemoteBuild<'a>) -> Result<Self, Failure> {
        let name = &there.member.name;
        let refused = |ours: &str, theirs: &str| {
            Err(Failure::infrastructure(
                TrialStage::Build,
                format!(
                    "{name} has {theirs}, and this machine {ours}: programs that are built here do not run there; remove `build = \"here\"` \
                     from [host.{name}] to build services on that host"
                ),
            ))
        };
        let remote = there.remote.remote();
        let hello = remote.hello();
        if hello.architecture != ARCH {
            return refused(
                &format!("CPUs of {ARCH}"),
                &format!("CPUs of {}", hello.architecture),
            );
        }
        let root = there.folders.services.parent().unwrap_or(Path::new("/"));
        let (ours, theirs) = (Machine::here()?, query_machine(there)?);
        if !ours.library.runs_on(&theirs.library) {
            return refused(&ours.library.to_string(), &theirs.library.to_string());
        }
        Ok(Self {
            path: theirs.path,
            folder: hello.cache.join("projects").join(name_of(root)).join("sent"),
            there,
        })
    }

    /// Sends a build unless the host already has it. Exports those toolchain variables whose folders exist on the host.
    fn send(
        &self,
        service: &Service,
        (built, tools): (BuildOutput, &Tools),
        watch: &dyn Fn(Progress),
    ) -> Result<BuildOutput, Failure> {
        if matches!(service.reached, ServiceOrigin::There(_)) {
            return Ok(built);
        }
        let (name, folders) = (&self.there.member.name, self.there.folders);
        if let Some(file) = first_rooted_file(&built.folder, &[&folders.builds, &folders.cache])? {
            let text = format!(
                "the build of {} does not run on another host, because {} refers to a folder of this machine: remove `build = \"here\"` \
                 from [host.{name}] to build it on that host",
                service.label(),
                file.display()
            );
            return Err(Failure::new(TrialStage::Build, text));
        }
        let to = self.folder.join(built.folder.file_name().unwrap_or_default());
        if !self.is_there(&to.join(MARK))? {
            let reported = Cell::new(None);
            let tell = |progress: prony_host::Progress| {
                let step = progress.sent / WORTH_SAYING;
                if reported.replace(Some(step)) != Some(step) {
                    watch(Progress::Sends {
                        service: id_of(service),
                        host: name.clone(),
                        bytes: progress.sent,
                        of: progress.total,
                    });
                }
            };
            let remote = self.there.remote.remote();
            let sent = remote.put(&built.folder, &to, &tell);
            sent.map_err(|error| Failure::host(TrialStage::Build, &error))?;
        }
        Ok(BuildOutput {
            folder: to,
            environment: self.environment(tools)?,
            ..built
        })
    }

    fn environment(&self, tools: &Tools) -> Result<BTreeMap<String, String>, Failure> {
        let mut environment = BTreeMap::new();
        for (name, value) in &tools.environment {
            if self.is_there(Path::new(value))? {
                environment.insert(name.clone(), value.clone());
            }
        }
        let mut path = Vec::new();
        for folder in &tools.path {
            if self.is_there(folder)? {
                path.push(folder.to_string_lossy().into_owned());
            }
        }
        if !path.is_empty() {
            path.push(self.path.clone());
            environment.insert("PATH".to_owned(), path.join(":"));
        }
        Ok(environment)
    }

    fn is_there(&self, path: &Path) -> Result<bool, Failure> {
        let remote = self.there.remote.remote();
        remote
            .exists(path)
            .map_err(|error| Failure::host(TrialStage::Build, &error))
    }
}

fn query_machine(there: RemoteBuild<'_>) -> Result<Machine, Failure> {
    let spec = ProcessSpec {
        name: "the query of the C library".to_owned(),
        command: ["sh", "-c", QUESTION].map(str::to_owned).to_vec(),
        folder: there.member.logs.clone(),
        inherited: InheritedVariables::of_services(&[]),
        log: there.member.logs.join("library.log"),
        log_bytes: LOG_BYTES,
        grace: GRACE,
        ..ProcessSpec::default()
    };
    let started = there.member.host.start(&spec);
    let mut process = started.map_err(|error| Failure::host(TrialStage::Build, &error))?;
    match until_ended(&mut *process, SOON, || there.cancel.is_asked()) {
        ScriptExit::Itself(_) => {
            let lines = process.log_tail(super::LOG_LINES);
            Ok(Machine::of(lines.iter().map(String::as_str)))
        }
        ScriptExit::Cancelled => Err(Failure::interrupted(TrialStage::Build)),
        ScriptExit::TooLong => {
            let text = format!("{} does not report its C library", there.member.name);
            Err(Failure::infrastructure(TrialStage::Build, text))
        }
    }
}

/// Bytes at the start of a script that may name its interpreter.
const HEAD: u64 = 1024;

/// The first link or script of a build that refers to one of these folders of this machine.
fn first_rooted_file(build: &Path, folders: &[&Path]) -> Result<Option<PathBuf>, Failure> {
    let unread = |error: io::Error| {
        let reason = format!("cannot read the build in {}: {error}", build.display());
        Failure::infrastructure(TrialStage::Build, reason)
    };
    let mut found = None;
    let walk = Walk::new(build).limits(Limits::NONE);
    let walked = walk.each(|entry| {
        if found.is_some() {
            return Ok(());
        }
        let path = build.join(&entry.path);
        let is_rooted = match &entry.kind {
            EntryKind::Link(target) => leads(target, folders),
            EntryKind::File => is_run_by(&path, folders)?,
            EntryKind::Folder | EntryKind::Special(_) => false,
        };
        found = is_rooted.then_some(entry.path);
        Ok(())
    });
    walked.map_err(unread)?;
    Ok(found)
}

/// Whether the target of a link is absolute and in one of the folders.
fn leads(target: &Path, folders: &[&Path]) -> bool {
    folders.iter().any(|folder| target.starts_with(folder))
}

/// Whether the interpreter of a script is in one of the folders.
fn is_run_by(file: &Path, folders: &[&Path]) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(2).read_to_end(&mut head)?;
    if head != b"#!" {
        return Ok(false);
    }
    head.clear();
    File::open(file)?.take(HEAD).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    // If the path is too long for the first line, it is in the second one.
    let mut lines = head.lines().take(2);
    Ok(lines.any(|line| {
        folders
            .iter()
            .any(|folder| line.contains(&*folder.to_string_lossy()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_build_that_names_its_own_folder_is_found() {
        let place = tempfile::tempdir().expect("a folder");
        let builds = place.path().join("build");
        let build = builds.join("mine");
        fs::create_dir_all(build.join("bin")).expect("a folder");
        symlink("../lib", build.join("bin/lib")).expect("a link");
        symlink("/bin/sh", build.join("bin/sh")).expect("a link");
        fs::write(build.join("bin/run"), "#!/bin/sh\nexec ./server\n").expect("a file");
        fs::write(build.join("bin/log"), format!("{}\n", build.display())).expect("a file");
        let found = || first_rooted_file(&build, &[&builds]).expect("it is read");
        assert_eq!(found(), None);
        let script = build.join("bin/pip");
        fs::write(&script, format!("#!{}/bin/python3\n", build.display())).expect("a file");
        assert_eq!(found(), Some("bin/pip".into()));
        fs::write(
            &script,
            format!("#!/bin/sh\n'''exec' {}/bin/python3\n", build.display()),
        )
        .expect("a file");
        assert_eq!(found(), Some("bin/pip".into()));
        fs::remove_file(&script).expect("it is there");
        symlink(build.join("bin/sh"), build.join("bin/python")).expect("a link");
        assert_eq!(found(), Some("bin/python".into()));
    }
}
