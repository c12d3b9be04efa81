//! The part of a testbed file that describes a Kubernetes cluster and its pods.

use super::{CpusToml, FileError, HostEntry, HostToml, HostTransport, Text};
use prony_host::Cpus;
use prony_kubernetes::{Cluster, Group, Pull, is_label};
use prony_load::DurationText;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;

/// Default time until all pods must run: a node may have to pull the image first.
const WITHIN: Duration = Duration::from_mins(2);
/// Default time after which the cluster removes the pods, even if the controller has crashed.
const DEADLINE: Duration = Duration::from_hours(12);
/// Default memory of a pod in bytes.
const MEMORY: u64 = 2 << 30;
/// Maximum number of replicas and of CPUs.
const MOST: i64 = 1_000;
/// Maximum length of a pod name: with the run and a number it becomes the name of a Kubernetes object, which has at most 63
/// characters.
const LONGEST_NAME: usize = 30;
/// Maximum length of the name of a namespace.
const LONGEST_LABEL: usize = 63;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterToml {
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    namespace: Option<Spanned<String>>,
    image: Option<Spanned<String>>,
    #[serde(default)]
    pull: Pull,
    prony: Option<Spanned<String>>,
    within: Option<Spanned<DurationText>>,
    deadline: Option<Spanned<DurationText>>,
    #[serde(default)]
    share_nodes: bool,
}

impl HostToml {
    /// The first key that only pods may have, with its offset, if there is one.
    pub(super) fn key_of_pods(&self) -> Option<(&'static str, usize)> {
        let replicas = self
            .replicas
            .as_ref()
            .map(|value| ("replicas", value.span().start));
        let memory = self.memory.as_ref().map(|value| ("memory", value.span().start));
        let node = self.node.as_ref().map(|value| ("node", value.span().start));
        replicas.or(memory).or(node)
    }
}

impl Text<'_> {
    pub(super) fn cluster(&self, written: Spanned<ClusterToml>) -> Result<Cluster, FileError> {
        let at = written.span().start;
        let written = written.into_inner();
        let needed = |key: &str, value: Option<Spanned<String>>, example: &str| {
            let value = value.filter(|value| !value.get_ref().trim().is_empty());
            value.ok_or_else(|| {
                self.wrong(
                    at,
                    format!("kubernetes.{key}: required, for example `{key} = \"{example}\"`"),
                )
            })
        };
        let namespace = needed("namespace", written.namespace, "prony")?;
        if !is_label(namespace.get_ref(), LONGEST_LABEL) {
            let text = format!(
                "kubernetes.namespace: `{}` is not a valid namespace: use lower-case letters, digits and dashes",
                namespace.get_ref()
            );
            return Err(self.wrong(namespace.span().start, text));
        }
        let image = needed("image", written.image, "debian:12")?.into_inner();
        if let Some(prony) = written
            .prony
            .as_ref()
            .filter(|prony| !prony.get_ref().starts_with('/'))
        {
            let text = "kubernetes.prony: use the absolute path of prony in the image, for example `prony = \"/usr/bin/prony\"`";
            return Err(self.wrong(prony.span().start, text));
        }
        let time = |key: &str, value: Option<Spanned<DurationText>>, usual: Duration| {
            let Some(value) = value else { return Ok(usual) };
            let time = value.get_ref().0;
            if time < Duration::from_secs(1) {
                return Err(self.wrong(
                    value.span().start,
                    format!("kubernetes.{key}: must be at least 1 second"),
                ));
            }
            Ok(time)
        };
        Ok(Cluster {
            kubeconfig: written.kubeconfig,
            context: written.context,
            namespace: namespace.into_inner(),
            image,
            pull: written.pull,
            prony: written.prony.map(Spanned::into_inner),
            within: time("within", written.within, WITHIN)?,
            deadline: time("deadline", written.deadline, DEADLINE)?,
            share_nodes: written.share_nodes,
        })
    }

    /// The hosts that one entry of a testbed with `[kubernetes]` defines.
    pub(super) fn pods(
        &self,
        name: &Spanned<String>,
        written: HostToml,
    ) -> Result<Vec<HostEntry>, FileError> {
        let at = name.span().start;
        let name = name.get_ref();
        let wrong = |at, text: String| self.wrong(at, format!("host.{name}{text}"));
        if !is_label(name, LONGEST_NAME) {
            let text = format!(
                ": the name of a pod has at most {LONGEST_NAME} lower-case letters, digits and dashes"
            );
            return Err(wrong(at, text));
        }
        if written.ssh.is_some() || written.local || written.pipe {
            let text =
                ": the hosts of a testbed with [kubernetes] are pods: remove `ssh`, `local` and `pipe`";
            return Err(wrong(at, text.to_owned()));
        }
        if let Some(address) = &written.address {
            let text = ".address: the cluster assigns the address of a pod: remove it";
            return Err(wrong(address.span().start, text.to_owned()));
        }
        let replicas = written.replicas.as_ref().map_or(Ok(1), |value| {
            replicas(*value.get_ref()).map_err(|text| wrong(value.span().start, format!(".replicas: {text}")))
        })?;
        let cpus = written.cpus.as_ref().map_or(Ok(1), |value| {
            cpus(value.get_ref()).map_err(|text| wrong(value.span().start, format!(".cpus: {text}")))
        })?;
        let memory_bytes = written.memory.as_ref().map_or(Ok(MEMORY), |value| {
            let text = ".memory: use a form such as `memory = \"4GiB\"` or `\"512MiB\"`";
            bytes(value.get_ref()).ok_or_else(|| wrong(value.span().start, text.to_owned()))
        })?;
        let group = Group {
            name: name.clone(),
            replicas,
            cpus,
            memory_bytes,
            node: written.node.map(Spanned::into_inner).unwrap_or_default(),
        };
        let build = written.build.map(Spanned::into_inner).unwrap_or_default();
        let host = |name: String| HostEntry {
            name,
            way: HostTransport::Pod(group.clone()),
            cpus: Cpus::default(),
            address: None,
            program: written.program.clone(),
            build,
        };
        Ok(group.members().into_iter().map(host).collect())
    }
}

fn replicas(written: i64) -> Result<u32, String> {
    if (1..=MOST).contains(&written) {
        Ok(written as u32)
    } else {
        Err(format!("must be from 1 to {MOST}, each replica on its own node"))
    }
}

fn cpus(written: &CpusToml) -> Result<u32, String> {
    match written {
        CpusToml::Many(many) if (1..=MOST).contains(many) => Ok(*many as u32),
        CpusToml::Many(_) => Err(format!("must be from 1 to {MOST}")),
        CpusToml::Part(part) => Err(format!(
            "use whole CPUs, for example `cpus = 2`, not {part}: a fraction of a CPU is shared with other pods of the node"
        )),
        CpusToml::Which(_) => {
            Err("use a number, for example `cpus = 4`: the node chooses the CPUs".to_owned())
        }
    }
}

/// Parses `4GiB`, `512MiB` or `512 MiB`; the minimum is 1 MiB.
fn bytes(text: &str) -> Option<u64> {
    let units = [("GiB", 30), ("MiB", 20)];
    let (number, shift) = units
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))?;
    let number: u64 = number.trim().parse().ok()?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::super::TestbedFile;
    use super::*;
    use std::path::Path;

    const WHOLE: &str = r#"
[kubernetes]
context = "bench"
namespace = "prony"
image = "debian:12"
deadline = "2h"
[host.app]
cpus = 8
memory = "16GiB"
node = { "kubernetes.io/hostname" = "n1" }
[host.load]
replicas = 2
cpus = 2
[roles]
service = "app"
load = "load"
"#;

    fn parse(text: &str) -> Result<TestbedFile, String> {
        TestbedFile::parse(Path::new("testbed.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_testbed_of_pods_is_read() {
        let testbed = parse(WHOLE).expect("sound");
        let cluster = testbed.kubernetes.as_ref().expect("a cluster");
        assert_eq!(
            (&*cluster.namespace, cluster.context.as_deref()),
            ("prony", Some("bench"))
        );
        assert_eq!(
            (cluster.deadline, cluster.within),
            (Duration::from_hours(2), WITHIN)
        );
        let names: Vec<&str> = testbed.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["app", "load-0", "load-1"]);
        assert_eq!(testbed.roles.load, ["load-0", "load-1"]);
        assert_eq!(testbed.roles.backing_service, "load-0");
        let HostTransport::Pod(app) = &testbed.host("app").expect("there").way else {
            panic!("a pod")
        };
        assert_eq!((app.cpus, app.memory_bytes, app.node.len()), (8, 16 << 30, 1));
        let HostTransport::Pod(load) = &testbed.host("load-1").expect("there").way else {
            panic!("a pod")
        };
        assert_eq!((load.replicas, load.cpus, load.memory_bytes), (2, 2, MEMORY));
        assert_eq!(testbed.workers().hosts.len(), 2);
    }

    /// The replaced text, its replacement, the line of the error, and a part of the error.
    const WRONG: &[(&str, &str, usize, &str)] = &[
        ("cpus = 8", "cpus = 1.5", 8, "host.app.cpus: use whole CPUs"),
        ("cpus = 8", "cpus = 0", 8, "host.app.cpus: must be from 1"),
        ("cpus = 8", "cpus = \"0-7\"", 8, "host.app.cpus: use a number"),
        ("\"16GiB\"", "\"16G\"", 9, "host.app.memory: use a form such as"),
        (
            "replicas = 2",
            "replicas = 0",
            12,
            "host.load.replicas: must be from 1",
        ),
        (
            "replicas = 2",
            "replicas = -1",
            12,
            "host.load.replicas: must be from 1",
        ),
        (
            "replicas = 2",
            "replicas = 1001",
            12,
            "must be from 1 to 1000, each replica on its own node",
        ),
        (
            "cpus = 8",
            "replicas = 2",
            15,
            "roles.service: `app` has 2 replicas",
        ),
        (
            "load = \"load\"",
            "load = [\"load\", \"load-1\"]",
            16,
            "`load-1` is listed twice",
        ),
        (
            "load = \"load\"",
            "load = \"loads\"",
            16,
            "there is no host `loads`, only app, load",
        ),
        ("cpus = 8", "ssh = \"a\"", 7, "are pods: remove `ssh`"),
        (
            "cpus = 8",
            "address = \"a\"",
            8,
            "host.app.address: the cluster assigns",
        ),
        ("cpus = 8", "cores = 8", 8, "cores"),
        (
            "[host.load]",
            "[host.Load]",
            11,
            "host.Load: the name of a pod has at most",
        ),
        ("namespace = \"prony\"", "", 2, "kubernetes.namespace: required"),
        ("\"prony\"", "\"My Space\"", 4, "is not a valid namespace"),
        (
            "image = \"debian:12\"",
            "image = \"\"",
            2,
            "kubernetes.image: required",
        ),
        (
            "deadline = \"2h\"",
            "deadline = \"0s\"",
            6,
            "kubernetes.deadline: must be at least 1 second",
        ),
        ("deadline = \"2h\"", "pull = \"Sometimes\"", 6, "Sometimes"),
        (
            "deadline = \"2h\"",
            "prony = \"prony\"",
            6,
            "kubernetes.prony: use the absolute path",
        ),
    ];

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (from, to, line, part) in WRONG {
            let error = parse(&WHOLE.replace(from, to)).expect_err(to);
            assert!(
                error.contains(&format!("testbed.toml:{line}: ")) && error.contains(part),
                "{to}: {error}"
            );
        }
        let twice = WHOLE.replace("[roles]", "[host.load-1]\n[roles]");
        assert!(
            parse(&twice)
                .expect_err("twice")
                .contains("`load-1` is defined twice")
        );
        let alone = "[host.a]\nlocal = true\nmemory = \"1GiB\"\n[roles]\nservice = \"a\"\nload = \"a\"\n";
        assert!(
            parse(alone)
                .expect_err("no pod")
                .contains("testbed.toml:3: host.a.memory: only pods have this key")
        );
        let number = "[host.a]\nlocal = true\ncpus = 4\n[roles]\nservice = \"a\"\nload = \"a\"\n";
        assert!(
            parse(number)
                .expect_err("which")
                .contains("testbed.toml:3: host.a.cpus: use CPU numbers")
        );
    }
}
