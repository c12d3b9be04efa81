//! The command line that creates a container with the same settings as a process.

use super::super::child::TREE;
use super::super::private_files::{IN_CONTAINER, PrivateFiles};
use super::environment::EnvironmentFile;
use crate::container::{Engine, EngineKind, LABEL};
use crate::{Container, ProcessSpec};
use nix::sys::signal::Signal;
use std::path::Path;
use std::thread;

/// The limits that the engine can set: all, or those of these controllers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SupportedLimits {
    /// `None`: all.
    controllers: Option<Vec<String>>,
}

impl SupportedLimits {
    fn have(&self, controller: &str) -> bool {
        let controllers = self.controllers.as_ref();
        controllers.is_none_or(|all| all.iter().any(|one| one == controller))
    }

    /// What to do about a limit that is not in force.
    pub(super) fn remedy(&self, engine: &Engine) -> String {
        match &self.controllers {
            None => format!("{} did not set it: check its configuration", engine.name()),
            Some(all) if all.is_empty() => format!(
                "rootless {} can set limits only with control groups of version 2: run as root",
                engine.name()
            ),
            Some(all) => format!(
                "rootless {} may use only the controllers {}: run as root, or delegate more to this user (`systemctl edit user@.service`, `Delegate=cpu cpuset memory pids`)",
                engine.name(),
                all.join(", ")
            ),
        }
    }
}

/// Rootless podman has the controllers delegated to its user, and fails if asked for more. docker's daemon has root.
pub(super) fn powers(engine: &Engine) -> SupportedLimits {
    if engine.kind == EngineKind::Docker || nix::unistd::geteuid().is_root() {
        return SupportedLimits::default();
    }
    let format = "{{.Host.CgroupsVersion}} {{range .Host.CgroupControllers}}{{.}} {{end}}";
    let said = engine.ask(&["info", "--format", format]);
    let said = said.map(|said| said.out).unwrap_or_default();
    let mut words = said.split_whitespace();
    let controllers = match words.next() {
        Some("v2") => words.map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    SupportedLimits {
        controllers: Some(controllers),
    }
}

/// The arguments that create a container like a process: with the host network, its limits and its environment.
pub(super) fn create_line(
    spec: &ProcessSpec,
    container: &Container,
    name: &str,
    (powers, pid_file): (&SupportedLimits, &Path),
    (environment, files): (&EnvironmentFile, Option<&PrivateFiles>),
) -> Vec<String> {
    let engine = &container.engine;
    let mut line: Vec<String> = [
        "create",
        "--pull",
        "never",
        "--network",
        "host",
        "--log-driver",
        "none",
    ]
    .map(str::to_owned)
    .to_vec();
    // Health checks of the image would run next to the service from time to time.
    line.push("--no-healthcheck".to_owned());
    let mut give = |key: &str, value: String| line.extend([key.to_owned(), value]);
    give("--name", name.to_owned());
    give("--label", format!("{LABEL}={name}"));
    if engine.kind == EngineKind::Podman {
        give("--pidfile", pid_file.display().to_string());
    }
    if !spec.cpus.is_empty() && powers.have("cpuset") {
        give("--cpuset-cpus", spec.cpus.to_string());
    }
    if let Some(share) = spec.limits.cpus.filter(|_| powers.have("cpu")) {
        // docker rejects more CPUs than the machine has.
        let all = thread::available_parallelism().map_or(share, |all| all.get() as f64);
        give("--cpus", share.min(all).to_string());
    }
    if let Some(bytes) = spec.limits.memory_bytes.filter(|_| powers.have("memory")) {
        give("--memory", format!("{bytes}b"));
        // Swap would hide the limit.
        give("--memory-swap", format!("{bytes}b"));
    }
    if let Some(bytes) = spec.limits.disk_bytes {
        give("--ulimit", format!("fsize={bytes}:{bytes}"));
    }
    if let Some(files) = files {
        // With SELinux, `z` lets the container read them.
        give(
            "--volume",
            format!("{}:{IN_CONTAINER}:ro,z", files.folder().display()),
        );
    }
    give("--env", format!("{TREE}={name}"));
    line.extend(environment.arguments());
    line.extend(engine.process_limits(spec.limits.files));
    line.push(container.image.id.clone());
    line.extend(spec.command.iter().cloned());
    line
}

/// The stop signal of an image: podman and docker write a name or a number.
pub(super) fn signal_of(written: &str) -> Signal {
    let number = written.parse::<i32>().ok();
    let by_number = number.and_then(|number| Signal::try_from(number).ok());
    let named = if written.starts_with("SIG") {
        written.to_owned()
    } else {
        format!("SIG{written}")
    };
    by_number
        .or_else(|| named.parse().ok())
        .unwrap_or(Signal::SIGTERM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cpus, Image, Limits};
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::time::Duration;

    fn container(kind: EngineKind) -> Container {
        Container {
            engine: Engine {
                kind,
                program: PathBuf::from("/usr/bin/engine"),
                options: Vec::new(),
            },
            image: Image {
                name: "mine:1".to_owned(),
                id: "sha256:0a1b".to_owned(),
                digest: None,
                stop_signal: None,
            },
        }
    }

    fn line(kind: EngineKind, powers: &SupportedLimits) -> String {
        let container = container(kind);
        let spec = ProcessSpec {
            name: "mine".to_owned(),
            command: vec!["--fast".to_owned()],
            container: Some(container.clone()),
            folder: PathBuf::from("/"),
            environment: BTreeMap::from([("PORT".to_owned(), "80801".to_owned())]),
            cpus: Cpus::from_iter([1]),
            limits: Limits {
                cpus: Some(0.5),
                memory_bytes: Some(64 << 20),
                files: Some(100),
                disk_bytes: Some(4096),
            },
            log: PathBuf::from("/log"),
            log_bytes: 1,
            grace: Duration::ZERO,
            ..ProcessSpec::default()
        };
        let folder = tempfile::tempdir().expect("a folder");
        let environment = EnvironmentFile::write(&folder.path().join("env"), &spec.environment);
        let environment = environment.expect("a file");
        let limits = (powers, Path::new("/log.pid"));
        create_line(&spec, &container, "prony-1", limits, (&environment, None)).join(" ")
    }

    #[test]
    fn a_container_has_what_a_process_has() {
        let all = SupportedLimits::default();
        let docker = line(EngineKind::Docker, &all);
        for part in [
            "create --pull never --network host",
            "--name prony-1 --label prony.tree=prony-1",
            "--cpuset-cpus 1 --cpus 0.5",
            "--memory 67108864b --memory-swap 67108864b",
            "--ulimit fsize=4096:4096",
            "--env-file ",
            "--ulimit nofile=100:100",
        ] {
            assert!(docker.contains(part), "no `{part}`: {docker}");
        }
        assert!(docker.ends_with(" sha256:0a1b --fast"), "{docker}");
        assert!(!docker.contains("80801"), "all users see arguments: {docker}");
        let podman = line(EngineKind::Podman, &all);
        assert!(podman.contains("--pidfile /log.pid") && podman.contains("--ulimit nproc="));
        assert!(!docker.contains("--pidfile") && !docker.contains("nproc"));
    }

    #[test]
    fn what_may_not_be_limited_is_not_asked_for_and_told() {
        let some = SupportedLimits {
            controllers: Some(vec!["memory".to_owned()]),
        };
        let podman = line(EngineKind::Podman, &some);
        assert!(podman.contains("--memory 67108864b"), "{podman}");
        assert!(
            !podman.contains("--cpus ") && !podman.contains("--cpuset-cpus"),
            "{podman}"
        );
        let engine = container(EngineKind::Podman).engine;
        assert!(some.remedy(&engine).contains("only the controllers memory"));
    }

    #[test]
    fn a_signal_is_a_name_or_a_number() {
        assert_eq!(signal_of("SIGQUIT"), Signal::SIGQUIT);
        assert_eq!(signal_of("INT"), Signal::SIGINT);
        assert_eq!(signal_of("10"), Signal::SIGUSR1);
        assert_eq!(signal_of("what"), Signal::SIGTERM);
    }
}
