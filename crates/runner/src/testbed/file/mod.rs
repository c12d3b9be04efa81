//! The testbed file: the hosts, how to connect to each of them, and their roles.

mod pods;

use prony_host::{Cpus, Ssh};
use prony_kubernetes::{Cluster, Group};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A parsed and validated testbed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestbedFile {
    pub path: PathBuf,
    /// The cluster, if the hosts are pods.
    pub kubernetes: Option<Cluster>,
    /// The hosts, sorted by name.
    pub hosts: Vec<HostEntry>,
    pub roles: Roles,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    /// Its name in the testbed.
    pub name: String,
    pub way: HostTransport,
    /// CPUs that prony may use on it; empty for all.
    pub cpus: Cpus,
    /// The address for the other hosts of the testbed; `None`: the address that the controller uses.
    pub address: Option<String>,
    /// The prony executable for the host, a file on the machine of the controller: for another CPU architecture, or a static
    /// one. `None`: the controller's own.
    pub program: Option<PathBuf>,
    pub build: BuildAt,
}

/// Where the services of a host are built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BuildAt {
    /// On the host itself, from sources that are sent to it.
    #[default]
    There,
    /// On the machine of the controller; the build is sent.
    Here,
}

impl HostEntry {
    /// The group of equal pods that it belongs to; `None` if it is not a pod.
    fn group(&self) -> Option<&str> {
        match &self.way {
            HostTransport::Pod(group) => Some(&group.name),
            HostTransport::Here | HostTransport::Pipe | HostTransport::Ssh { .. } => None,
        }
    }

    /// The address of the host as far as it is known without connecting: its `address`, or the host name that `ssh` resolves.
    pub fn known_as(&self) -> Option<String> {
        match (&self.address, &self.way) {
            (Some(address), _) => Some(address.clone()),
            (None, HostTransport::Ssh { destination, command }) => {
                let ssh = Ssh {
                    command: command.clone(),
                    ..Ssh::new(destination.clone())
                };
                ssh.host_name()
            }
            (None, HostTransport::Here | HostTransport::Pipe | HostTransport::Pod(_)) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostTransport {
    /// The machine of the controller.
    Here,
    /// This machine through an agent: behaves like several hosts without a second machine.
    Pipe,
    Ssh {
        /// The destination argument of `ssh`.
        destination: String,
        /// The command and its arguments; usually `ssh`.
        command: Vec<String>,
    },
    /// One pod of a group of equal pods.
    Pod(Group),
}

/// The names of the hosts with each role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    pub service: String,
    /// The load generators; at least one.
    pub load: Vec<String>,
    /// The host of the backing services; default: the first worker.
    pub backing_service: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestbedToml {
    host: BTreeMap<Spanned<String>, HostToml>,
    roles: Spanned<RolesToml>,
    ssh: Option<SshToml>,
    kubernetes: Option<Spanned<pods::ClusterToml>>,
}

/// The `ssh` command for all hosts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SshToml {
    command: Spanned<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostToml {
    ssh: Option<Spanned<String>>,
    #[serde(default)]
    local: bool,
    #[serde(default)]
    pipe: bool,
    cpus: Option<Spanned<CpusToml>>,
    address: Option<Spanned<String>>,
    program: Option<PathBuf>,
    build: Option<Spanned<BuildAt>>,
    replicas: Option<Spanned<i64>>,
    memory: Option<Spanned<String>>,
    node: Option<Spanned<BTreeMap<String, String>>>,
}

/// The CPUs of a machine by number, or the number of CPUs of a pod.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "CPUs such as `\"2-15\"`, or the number of CPUs of a pod"
)]
enum CpusToml {
    Which(String),
    Many(i64),
    Part(f64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RolesToml {
    service: Spanned<String>,
    load: Spanned<OneOrMany>,
    #[serde(rename = "backing", alias = "companion")]
    backing_service: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "the name of a host, or a list of names")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl TestbedFile {
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = std::fs::read_to_string(path).map_err(|error| FileError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        Self::parse(path, &text)
    }

    /// Parses the text of a testbed file; `path` is used in errors.
    pub fn parse(path: &Path, text: &str) -> Result<Self, FileError> {
        let text = Text { path, text };
        let written: TestbedToml = toml::from_str(text.text).map_err(|error| {
            let message = error.message().trim().replace('\n', "; ");
            text.wrong(error.span().map_or(0, |span| span.start), message)
        })?;
        let ssh = match written.ssh {
            None => vec!["ssh".to_owned()],
            Some(SshToml { command }) if command.get_ref().is_empty() => {
                return Err(text.wrong(
                    command.span().start,
                    "command: at least one word is required, for example [\"ssh\"]",
                ));
            }
            Some(SshToml { command }) => command.into_inner(),
        };
        let kubernetes = written.kubernetes.map(|cluster| text.cluster(cluster));
        let kubernetes = kubernetes.transpose()?;
        let mut hosts: Vec<HostEntry> = Vec::new();
        for (name, host) in written.host {
            let at = name.span().start;
            let new = match &kubernetes {
                Some(_) => text.pods(&name, host)?,
                None => vec![text.host(&name, host, &ssh)?],
            };
            if let Some(twice) = new
                .iter()
                .find(|new| hosts.iter().any(|host| host.name == new.name))
            {
                return Err(text.wrong(at, format!("host: `{}` is defined twice", twice.name)));
            }
            hosts.extend(new);
        }
        let roles = text.roles(written.roles.into_inner(), &hosts)?;
        Ok(Self {
            path: path.to_owned(),
            kubernetes,
            hosts,
            roles,
        })
    }

    /// Only the workers, for a load on a target outside the testbed.
    #[must_use]
    pub fn workers(&self) -> Self {
        self.only(&self.roles.load)
    }

    /// Only the host of the service.
    #[must_use]
    pub fn service(&self) -> Self {
        self.only(std::slice::from_ref(&self.roles.service))
    }

    /// Only these hosts; all of them generate load.
    fn only(&self, names: &[String]) -> Self {
        let hosts = self.hosts.iter();
        Self {
            path: self.path.clone(),
            kubernetes: self.kubernetes.clone(),
            hosts: hosts.filter(|host| names.contains(&host.name)).cloned().collect(),
            roles: Roles {
                service: names[0].clone(),
                load: names.to_vec(),
                backing_service: names[0].clone(),
            },
        }
    }

    /// The host with this name, if the testbed has one.
    pub fn host(&self, name: &str) -> Option<&HostEntry> {
        self.hosts.iter().find(|host| host.name == name)
    }
}

impl Text<'_> {
    fn host(
        &self,
        name: &Spanned<String>,
        written: HostToml,
        ssh: &[String],
    ) -> Result<HostEntry, FileError> {
        let at = name.span().start;
        let name = name.get_ref();
        if let Some((key, at)) = written.key_of_pods() {
            let text =
                format!("host.{name}.{key}: only pods have this key: define the cluster in [kubernetes]");
            return Err(self.wrong(at, text));
        }
        let way = match (&written.ssh, written.local, written.pipe) {
            (Some(destination), false, false) => HostTransport::Ssh {
                destination: self.destination(destination)?,
                command: ssh.to_vec(),
            },
            (None, true, false) => HostTransport::Here,
            (None, false, true) => HostTransport::Pipe,
            _ => {
                let text = format!(
                    "host.{name}: exactly one connection type is required: `ssh = \"name\"`, `local = true` for this machine, or \
                     `pipe = true` for an agent on this machine"
                );
                return Err(self.wrong(at, text));
            }
        };
        let cpus = written.cpus.as_ref().map_or(Ok(Cpus::default()), |cpus| {
            let wrong = |error: String| self.wrong(cpus.span().start, format!("host.{name}.cpus: {error}"));
            match cpus.get_ref() {
                CpusToml::Which(which) => which.parse::<Cpus>().map_err(|error| wrong(error.to_string())),
                _ => Err(wrong("use CPU numbers, for example `cpus = \"2-15\"`".to_owned())),
            }
        })?;
        if let Some(address) = &written.address
            && (address.get_ref().is_empty() || address.get_ref().contains([' ', '/']))
        {
            let text = format!("host.{name}.address: use a host name or an IP address without a port");
            return Err(self.wrong(address.span().start, text));
        }
        let build = match written.build {
            Some(build) if way == HostTransport::Here => {
                let text =
                    format!("host.{name}.build: this machine always builds its own services: remove `build`");
                return Err(self.wrong(build.span().start, text));
            }
            build => build.map(Spanned::into_inner).unwrap_or_default(),
        };
        Ok(HostEntry {
            name: name.clone(),
            way,
            build,
            cpus,
            address: written.address.map(Spanned::into_inner),
            program: written.program,
        })
    }

    /// `ssh` would read a name that starts with a dash as an option.
    fn destination(&self, written: &Spanned<String>) -> Result<String, FileError> {
        let name = written.get_ref();
        if name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
            let text = format!(
                "ssh: `{name}` is not a valid destination: use the form of `ssh`, for example `user@host`"
            );
            return Err(self.wrong(written.span().start, text));
        }
        Ok(name.clone())
    }

    fn roles(&self, written: RolesToml, hosts: &[HostEntry]) -> Result<Roles, FileError> {
        // The name of a group refers to all of its pods.
        let members = |role: &str, name: &str, at: usize| {
            let found = hosts
                .iter()
                .filter(|host| host.name == name || host.group() == Some(name));
            let found: Vec<String> = found.map(|host| host.name.clone()).collect();
            if found.is_empty() {
                let mut names: Vec<&str> = Vec::new();
                for name in hosts
                    .iter()
                    .map(|host| host.group().unwrap_or(host.name.as_str()))
                {
                    if names.last() != Some(&name) {
                        names.push(name);
                    }
                }
                let text = format!(
                    "roles.{role}: there is no host `{name}`, only {}",
                    names.join(", ")
                );
                return Err(self.wrong(at, text));
            }
            Ok(found)
        };
        let one = |role: &str, name: &Spanned<String>| {
            let found = members(role, name.get_ref(), name.span().start)?;
            if let [one] = &found[..] {
                return Ok(one.clone());
            }
            let count = found.len();
            let text = format!(
                "roles.{role}: `{}` has {count} replicas, but this role needs exactly one host",
                name.get_ref()
            );
            Err(self.wrong(name.span().start, text))
        };
        let at = written.load.span().start;
        let names = match written.load.into_inner() {
            OneOrMany::One(name) => vec![name],
            OneOrMany::Many(names) => names,
        };
        let mut load: Vec<String> = Vec::new();
        for name in names {
            let found = members("load", &name, at)?;
            if found.iter().any(|found| load.contains(found)) {
                return Err(self.wrong(at, format!("roles.load: `{name}` is listed twice")));
            }
            load.extend(found);
        }
        let Some(first) = load.first() else {
            return Err(self.wrong(at, "roles.load: at least one host is required"));
        };
        let backing_service = match &written.backing_service {
            None => first.clone(),
            Some(name) => one("backing", name)?,
        };
        Ok(Roles {
            service: one("service", &written.service)?,
            load,
            backing_service,
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// The file has a wrong format or impossible values.
    #[error("{path}:{line}: {message}")]
    Invalid {
        path: PathBuf,
        /// The line, starting at 1.
        line: usize,
        /// The key, the problem, and the permitted values.
        message: String,
    },
}

/// The text, used to find the line of an error.
pub(super) struct Text<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Text<'_> {
    /// An error at this byte offset.
    pub(super) fn wrong(&self, at: usize, message: impl Into<String>) -> FileError {
        FileError::Invalid {
            path: self.path.to_owned(),
            line: self.text[..at.min(self.text.len())].matches('\n').count() + 1,
            message: message.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TestbedFile, String> {
        TestbedFile::parse(Path::new("testbed.toml"), text).map_err(|error| error.to_string())
    }

    const WHOLE: &str = r#"
[host.app]
ssh = "app01"
cpus = "2-15"
[host.load1]
ssh = "bench@load01"
address = "10.0.0.7"
[host.load2]
local = true
[roles]
service = "app"
load = ["load1", "load2"]
backing = "load2"
[ssh]
command = ["ssh", "-F", "config"]
"#;

    #[test]
    fn a_testbed_is_read() {
        let testbed = parse(WHOLE).expect("sound");
        let app = testbed.host("app").expect("there");
        let command: Vec<String> = ["ssh", "-F", "config"].map(str::to_owned).into();
        let destination = "app01".to_owned();
        assert_eq!(app.way, HostTransport::Ssh { destination, command });
        assert_eq!(
            (app.cpus.to_string().as_str(), app.build),
            ("2-15", BuildAt::There)
        );
        let here = parse(&WHOLE.replace("cpus = \"2-15\"", "build = \"here\"")).expect("sound");
        assert_eq!(here.host("app").expect("there").build, BuildAt::Here);
        let load2 = testbed.host("load2").expect("there");
        assert_eq!(load2.way, HostTransport::Here);
        assert_eq!(
            testbed.host("load1").expect("there").address.as_deref(),
            Some("10.0.0.7")
        );
        assert_eq!(testbed.roles.load, ["load1", "load2"]);
        assert_eq!(testbed.roles.backing_service, "load2");
        assert_eq!(testbed.host("db"), None);
    }

    #[test]
    fn one_worker_may_be_written_alone_and_has_the_backing_service() {
        let testbed =
            parse("[host.a]\npipe = true\n[roles]\nservice = \"a\"\nload = \"a\"\n").expect("sound");
        assert_eq!(
            (testbed.roles.load, testbed.roles.backing_service),
            (vec!["a".to_owned()], "a".to_owned())
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let changed = |from: &str, to: &str| parse(&WHOLE.replace(from, to)).expect_err("wrong");
        for (from, to, line, part) in [
            (
                "service = \"app\"",
                "service = \"ap\"",
                11,
                "there is no host `ap`, only app, load1, load2",
            ),
            (
                "[\"load1\", \"load2\"]",
                "[\"load1\", \"load1\"]",
                12,
                "`load1` is listed twice",
            ),
            ("[\"load1\", \"load2\"]", "[]", 12, "at least one"),
            ("backing = \"load2\"", "backings = \"load2\"", 13, "backings"),
            ("cpus = \"2-15\"", "cpus = \"2 to 15\"", 4, "host.app.cpus"),
            (
                "address = \"10.0.0.7\"",
                "address = \"http://a\"",
                7,
                "host.load1.address",
            ),
            (
                "local = true",
                "local = true\nssh = \"b\"",
                8,
                "host.load2: exactly one connection type",
            ),
            (
                "ssh = \"app01\"",
                "ssh = \"-oProxyCommand=x\"",
                3,
                "not a valid destination",
            ),
            (
                "local = true",
                "local = true\nbuild = \"here\"",
                10,
                "host.load2.build: this machine always builds",
            ),
            ("cpus = \"2-15\"", "build = \"hier\"", 4, "hier"),
            ("[\"ssh\", \"-F\", \"config\"]", "[]", 15, "at least one word"),
        ] {
            let error = changed(from, to);
            assert!(
                error.contains(&format!("testbed.toml:{line}: ")) && error.contains(part),
                "{to}: {error}"
            );
        }
        let missing = TestbedFile::read(Path::new("/nowhere/testbed.toml")).expect_err("not there");
        assert!(missing.to_string().contains("cannot read /nowhere/testbed.toml"));
    }

    /// The shipped testbed files name hosts that do not exist, but they must be valid.
    #[test]
    fn the_testbeds_of_the_studies_are_sound() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/testbeds");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).expect("suites/testbeds") {
            let path = entry.expect("an entry").path();
            let testbed = TestbedFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
            assert!(
                testbed.hosts.len() > 1,
                "{}: one host needs no testbed",
                path.display()
            );
            assert!(
                !testbed.roles.load.contains(&testbed.roles.service),
                "{}: service and load are apart",
                path.display()
            );
            // Each is named after its suite.
            let number = path
                .file_stem()
                .and_then(|name| name.to_str())
                .expect("a name")
                .to_owned();
            let suites = std::fs::read_dir(folder.join("..")).expect("suites").flatten();
            let of = |name: String| name.starts_with(&format!("{number}-"));
            assert!(
                suites
                    .into_iter()
                    .any(|suite| of(suite.file_name().to_string_lossy().into_owned())),
                "{}: of which suite?",
                path.display()
            );
            names.push(number);
        }
        names.sort();
        assert_eq!(names, ["002", "003"]);
    }
}
