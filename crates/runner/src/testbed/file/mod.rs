//! The testbed file: the hosts, how to connect to each of them, and their roles.

mod pods;
mod toml;

pub(crate) use self::toml::TestbedToml;

use self::toml::{HostToml, RolesToml};
use prony_config::ConfigError;
use prony_config::format::{Faults, FileKind, SourceFile, Spanned, suggest};
use prony_host::{Cpus, Ssh};
use prony_kubernetes::{Cluster, Group};
use schemars::JsonSchema;
use serde::Deserialize;
use std::ops::Range;
use std::path::{Path, PathBuf};

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
    pub binary: Option<PathBuf>,
    pub build: BuildAt,
}

/// Where the services of a host are built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(extend("x-former-values" = { "there": "host", "here": "controller" }))]
pub enum BuildAt {
    /// On the host itself, from sources that are sent to it.
    #[default]
    Host,
    /// On the machine of the controller; the build is sent.
    Controller,
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

impl TestbedFile {
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        Self::of(&SourceFile::read(path)?)
    }

    /// Parses the text of a testbed file; `path` is used in errors.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        Self::of(&SourceFile::new(path, text))
    }

    pub(crate) fn of(source: &SourceFile) -> Result<Self, ConfigError> {
        let written: TestbedToml = source.parse(FileKind::Testbed)?;
        let ssh = written
            .ssh
            .map_or_else(|| vec!["ssh".to_owned()], |ssh| ssh.command);
        let mut faults = Faults::default();
        let is_cluster = written.kubernetes.is_some();
        let cluster = written.kubernetes.map(|cluster| pods::cluster(source, cluster));
        let kubernetes = faults.keep(cluster.transpose());
        let mut hosts: Vec<HostEntry> = Vec::new();
        for (name, host) in written.host {
            let new = if is_cluster {
                pods::hosts(source, &name, host)
            } else {
                host_entry(source, &name, host, &ssh).map(|host| vec![host])
            };
            // Errors of roles would follow from those of hosts.
            for new in faults.keep(new).unwrap_or_default() {
                if hosts.iter().any(|host| host.name == new.name) {
                    let message = format!("host `{}` is defined twice", new.name);
                    faults.keep::<()>(Err(source.invalid(name.span(), message)));
                }
                hosts.push(new);
            }
        }
        let roles = if faults.is_empty() {
            faults.keep(roles(source, written.roles, &hosts))
        } else {
            None
        };
        let (Some(kubernetes), Some(roles)) = (kubernetes, roles) else {
            return Err(faults.into_error());
        };
        faults.or(Self {
            path: source.path.clone(),
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

/// The host that an entry of a testbed without `[kubernetes]` defines.
fn host_entry(
    source: &SourceFile,
    name: &Spanned<String>,
    written: HostToml,
    ssh: &[String],
) -> Result<HostEntry, ConfigError> {
    let label = name.get_ref();
    let mut faults = Faults::default();
    for (key, span) in written.keys_of_pods() {
        let message = format!("host `{label}` is no pod and has `{key}`");
        let help = match key {
            "cpus" => "write `cpu_set` for CPUs by number, as in \"2-15\"",
            _ => "remove it, or add the cluster as `[kubernetes]`",
        };
        faults.keep::<()>(Err(source.invalid_with(span, message, help)));
    }
    let way = faults.keep(transport(source, name, &written, ssh));
    let cpus = written.cpu_set.as_ref().map(|cpus| {
        cpus.get_ref().parse::<Cpus>().map_err(|_| {
            let message = format!("`cpu_set` is \"{}\"", cpus.get_ref());
            source.invalid_with(
                cpus.span(),
                message,
                "give CPUs by number, as in \"2-15\" or \"0,2,4\"",
            )
        })
    });
    let cpus = faults.keep(cpus.transpose());
    if let Some(address) = &written.address
        && (address.get_ref().is_empty() || address.get_ref().contains([' ', '/']))
    {
        let message = format!("`address` is \"{}\"", address.get_ref());
        let help = "give a host name or an IP address without a port";
        faults.keep::<()>(Err(source.invalid_with(address.span(), message, help)));
    }
    if let (Some(build_on), Some(HostTransport::Here)) = (&written.build_on, &way) {
        let message = format!("host `{label}` is this machine, which builds its own services");
        faults.keep::<()>(Err(source.invalid_with(
            build_on.span(),
            message,
            "remove `build_on`",
        )));
    }
    let (Some(way), Some(cpus)) = (way, cpus) else {
        return Err(faults.into_error());
    };
    faults.or(HostEntry {
        name: label.clone(),
        way,
        build: written.build_on.map(Spanned::into_inner).unwrap_or_default(),
        cpus: cpus.unwrap_or_default(),
        address: written.address.map(Spanned::into_inner),
        binary: written.binary,
    })
}

/// How the controller connects to a host.
fn transport(
    source: &SourceFile,
    name: &Spanned<String>,
    written: &HostToml,
    ssh: &[String],
) -> Result<HostTransport, ConfigError> {
    match (&written.ssh, written.local, written.pipe) {
        (Some(destination), false, false) => Ok(HostTransport::Ssh {
            destination: ssh_destination(source, destination)?,
            command: ssh.to_vec(),
        }),
        (None, true, false) => Ok(HostTransport::Here),
        (None, false, true) => Ok(HostTransport::Pipe),
        (None, false, false) => {
            let message = format!("host `{}` has no connection", name.get_ref());
            let help = "add `ssh = \"name\"`, `local = true` for this machine, or `pipe = true` for an agent on this machine";
            Err(source.invalid_with(name.span(), message, help))
        }
        _ => {
            let message = format!("host `{}` has several connections", name.get_ref());
            Err(source.invalid_with(name.span(), message, "give only one of `ssh`, `local` and `pipe`"))
        }
    }
}

/// `ssh` would read a name that starts with a dash as an option.
fn ssh_destination(source: &SourceFile, written: &Spanned<String>) -> Result<String, ConfigError> {
    let name = written.get_ref();
    if name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
        let message = format!("`ssh` is \"{name}\", which is no destination");
        let help = "give what `ssh` takes, such as `user@host`";
        return Err(source.invalid_with(written.span(), message, help));
    }
    Ok(name.clone())
}

fn roles(source: &SourceFile, written: RolesToml, hosts: &[HostEntry]) -> Result<Roles, ConfigError> {
    // The name of a group refers to all of its pods.
    let members = |name: &str, span: Range<usize>| {
        let found = hosts
            .iter()
            .filter(|host| host.name == name || host.group() == Some(name));
        let found: Vec<String> = found.map(|host| host.name.clone()).collect();
        if found.is_empty() {
            let mut names: Vec<&str> = hosts
                .iter()
                .map(|host| host.group().unwrap_or(host.name.as_str()))
                .collect();
            names.dedup();
            return Err(source.invalid_with(span, format!("no host `{name}`"), suggest(names, name)));
        }
        Ok(found)
    };
    let one = |name: &Spanned<String>| {
        let found = members(name.get_ref(), name.span())?;
        if let [one] = &found[..] {
            return Ok(one.clone());
        }
        let message = format!("host `{}` has {} replicas", name.get_ref(), found.len());
        Err(source.invalid_with(name.span(), message, "give a single host"))
    };
    let mut faults = Faults::default();
    let service = faults.keep(one(&written.service));
    let whole = written.load.span();
    let mut load: Vec<String> = Vec::new();
    for name in written.load.into_inner().0 {
        let span = if name.span().is_empty() {
            whole.clone()
        } else {
            name.span()
        };
        let found = faults
            .keep(members(name.get_ref(), span.clone()))
            .unwrap_or_default();
        if found.iter().any(|found| load.contains(found)) {
            let message = format!("host `{}` is listed twice", name.get_ref());
            faults.keep::<()>(Err(source.invalid(span, message)));
        }
        load.extend(found);
    }
    let backing_service = match &written.backing_service {
        None => load.first().cloned(),
        Some(name) => faults.keep(one(name)),
    };
    let (Some(service), Some(backing_service)) = (service, backing_service) else {
        return Err(faults.into_error());
    };
    faults.or(Roles {
        service,
        load,
        backing_service,
    })
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
cpu_set = "2-15"
[host.load1]
ssh = "bench@load01"
address = "10.0.0.7"
[host.load2]
local = true
[roles]
service = "app"
load = ["load1", "load2"]
backing_service = "load2"
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
            ("2-15", BuildAt::Host)
        );
        let here = parse(&WHOLE.replace("cpu_set = \"2-15\"", "build_on = \"controller\"")).expect("sound");
        assert_eq!(here.host("app").expect("there").build, BuildAt::Controller);
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
    fn files_of_both_formats_have_the_same_values() {
        let old = r#"
[host.app]
ssh = "app01"
cpus = "2-15"
program = "prony-arm"
build = "here"
[host.load1]
ssh = "bench@load01"
build = "there"
[roles]
service = "app"
load = ["load1"]
companion = "load1"
"#;
        let new = r#"
format = 1
[host.app]
ssh = "app01"
cpu_set = "2-15"
binary = "prony-arm"
build_on = "controller"
[host.load1]
ssh = "bench@load01"
build_on = "host"
[roles]
service = "app"
load = ["load1"]
backing_service = "load1"
"#;
        let testbed = parse(new).expect("sound");
        assert_eq!(parse(old).as_ref(), Ok(&testbed));
        // Former names are accepted in a file with a format, except for a text that has become a number.
        let aliases = format!("format = 1\n{}", old.replace("cpus", "cpu_set"));
        assert_eq!(parse(&aliases).as_ref(), Ok(&testbed));
        let error = parse(&format!("format = 1\n{old}")).expect_err("a text");
        let expected = "`cpus` is the text \"2-15\": give the number of CPUs of a pod, or write `cpu_set` for CPUs by number";
        assert!(error.starts_with(expected), "{error}");
    }

    /// The replaced text, its replacement, the position of the error, and a part of the error.
    const WRONG: &[(&str, &str, &str, &str)] = &[
        ("service = \"app\"", "service = \"ap\"", "11:11", "no host `ap`"),
        (
            "[\"load1\", \"load2\"]",
            "[\"load1\", \"lod2\"]",
            "12:18",
            "did you mean `load2`?",
        ),
        (
            "[\"load1\", \"load2\"]",
            "[\"load1\", \"load1\"]",
            "12:18",
            "host `load1` is listed twice",
        ),
        (
            "[\"load1\", \"load2\"]",
            "\"lod1\"",
            "12:8",
            "did you mean `load1`?",
        ),
        (
            "[\"load1\", \"load2\"]",
            "[]",
            "12:8",
            "`load` is empty: give at least one",
        ),
        ("[\"load1\", \"load2\"]", "1", "12:8", "write \"1\""),
        (
            "backing_service =",
            "backing_servise =",
            "13:1",
            "did you mean `backing_service`?",
        ),
        (
            "cpu_set = \"2-15\"",
            "cpu_set = \"2 to 15\"",
            "4:11",
            "give CPUs by number",
        ),
        (
            "cpu_set = \"2-15\"",
            "cpus = 4",
            "4:8",
            "write `cpu_set` for CPUs by number",
        ),
        (
            "cpu_set = \"2-15\"",
            "memory = \"1GiB\"",
            "4:10",
            "host `app` is no pod and has `memory`",
        ),
        (
            "address = \"10.0.0.7\"",
            "address = \"http://a\"",
            "7:11",
            "give a host name or an IP address",
        ),
        (
            "local = true",
            "local = true\nssh = \"b\"",
            "8:7",
            "give only one of `ssh`, `local` and `pipe`",
        ),
        ("local = true", "", "8:7", "host `load2` has no connection"),
        (
            "ssh = \"app01\"",
            "ssh = \"-oProxyCommand=x\"",
            "3:7",
            "which is no destination",
        ),
        (
            "local = true",
            "local = true\nbuild_on = \"controller\"",
            "10:12",
            "remove `build_on`",
        ),
        (
            "cpu_set = \"2-15\"",
            "build_on = \"hier\"",
            "4:12",
            "known are controller, host",
        ),
        (
            "[\"ssh\", \"-F\", \"config\"]",
            "[]",
            "15:11",
            "`command` is empty: give at least one",
        ),
    ];

    #[test]
    fn errors_are_at_the_value_at_fault() {
        let changed = |from: &str, to: &str| parse(&WHOLE.replace(from, to)).expect_err(to);
        for (from, to, at, part) in WRONG {
            let error = changed(from, to);
            assert!(
                error.contains(&format!("\n  testbed.toml:{at}\n")) && error.contains(part),
                "{to}: {error}"
            );
        }
        let both = WHOLE
            .replace("cpu_set = \"2-15\"", "cpu_set = \"x\"")
            .replace("local = true", "");
        let error = parse(&both).expect_err("two");
        assert!(error.contains(":4:11") && error.contains(":8:7"), "both: {error}");
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
            // Each is named after its suite, or after the number of its study.
            let number = path
                .file_stem()
                .and_then(|name| name.to_str())
                .expect("a name")
                .to_owned();
            let suites = std::fs::read_dir(folder.join("..")).expect("suites").flatten();
            let of =
                |name: String| name.starts_with(&format!("{number}-")) || name == format!("{number}.toml");
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
        assert_eq!(names, ["001", "002", "002-relay-2", "003"]);
    }
}
