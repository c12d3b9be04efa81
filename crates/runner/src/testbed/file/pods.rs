//! The part of a testbed file that describes a Kubernetes cluster and its pods.

use super::toml::{ClusterToml, HostToml, PullPolicyToml};
use super::{HostEntry, HostTransport};
use prony_config::ConfigError;
use prony_config::format::{Faults, SourceFile, Spanned};
use prony_host::Cpus;
use prony_kubernetes::{Cluster, Group, Pull, is_label};
use prony_load::DurationText;
use std::ops::Range;
use std::time::Duration;

/// Default time until all pods must run: a node may have to pull the image first.
const READY_TIMEOUT: Duration = Duration::from_mins(2);
/// Default time after which the cluster removes the pods, even if the controller has crashed.
const MAX_LIFETIME: Duration = Duration::from_hours(12);
/// Default memory of a pod in bytes.
const MEMORY: u64 = 2 << 30;
/// Maximum length of a pod name: with the run and a number it becomes the name of a Kubernetes object, which has at most 63
/// characters.
const LONGEST_NAME: usize = 30;
/// Maximum length of the name of a namespace.
const LONGEST_LABEL: usize = 63;

impl HostToml {
    /// The keys that only pods may have, with their positions.
    pub(super) fn keys_of_pods(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        let keys = [
            ("replicas", self.replicas.as_ref().map(Spanned::span)),
            ("cpus", self.cpus.as_ref().map(Spanned::span)),
            ("memory", self.memory.as_ref().map(Spanned::span)),
            ("node_selector", self.node_selector.as_ref().map(Spanned::span)),
        ];
        keys.into_iter().filter_map(|(key, span)| Some((key, span?)))
    }
}

/// The cluster that `[kubernetes]` describes.
pub(super) fn cluster(source: &SourceFile, written: ClusterToml) -> Result<Cluster, ConfigError> {
    let mut faults = Faults::default();
    let namespace = written.namespace;
    if !is_label(namespace.get_ref(), LONGEST_LABEL) {
        let message = format!("`namespace` is \"{}\"", namespace.get_ref());
        let help = format!("a namespace has at most {LONGEST_LABEL} lower-case letters, digits and dashes");
        faults.keep::<()>(Err(source.invalid_with(namespace.span(), message, help)));
    }
    if let Some(binary) = written
        .binary
        .as_ref()
        .filter(|binary| !binary.get_ref().starts_with('/'))
    {
        let message = format!("`binary` is \"{}\"", binary.get_ref());
        let help = "give the absolute path of prony in the image, such as \"/usr/bin/prony\"";
        faults.keep::<()>(Err(source.invalid_with(binary.span(), message, help)));
    }
    let mut time = |key: &str, value: Option<Spanned<DurationText>>, usual: Duration| {
        let Some(value) = value else { return usual };
        let time = value.get_ref().0;
        if time < Duration::from_secs(1) {
            let message = format!("`{key}` is too short");
            faults.keep::<()>(Err(source.invalid_with(
                value.span(),
                message,
                "give at least \"1s\"",
            )));
        }
        time
    };
    let within = time("ready_timeout", written.ready_timeout, READY_TIMEOUT);
    let deadline = time("max_lifetime", written.max_lifetime, MAX_LIFETIME);
    faults.or(Cluster {
        kubeconfig: written.kubeconfig,
        context: written.context,
        namespace: namespace.into_inner(),
        image: written.image,
        pull: match written.pull_policy {
            PullPolicyToml::IfNotPresent => Pull::IfNotPresent,
            PullPolicyToml::Always => Pull::Always,
            PullPolicyToml::Never => Pull::Never,
        },
        prony: written.binary.map(Spanned::into_inner),
        within,
        deadline,
        share_nodes: written.share_nodes,
    })
}

/// The hosts that one entry of a testbed with `[kubernetes]` defines.
pub(super) fn hosts(
    source: &SourceFile,
    name: &Spanned<String>,
    written: HostToml,
) -> Result<Vec<HostEntry>, ConfigError> {
    let label = name.get_ref();
    let mut faults = Faults::default();
    if !is_label(label, LONGEST_NAME) {
        let message = format!("`{label}` is not the name of a pod");
        let help = format!("it has at most {LONGEST_NAME} lower-case letters, digits and dashes");
        faults.keep::<()>(Err(source.invalid_with(name.span(), message, help)));
    }
    if written.ssh.is_some() || written.local || written.pipe {
        let message = format!("host `{label}` is a pod, because the testbed has `[kubernetes]`");
        let help = "remove `ssh`, `local` and `pipe`";
        faults.keep::<()>(Err(source.invalid_with(name.span(), message, help)));
    }
    if let Some(cpus) = &written.cpu_set {
        let message = format!("host `{label}` is a pod, whose node chooses the CPUs");
        faults.keep::<()>(Err(source.invalid_with(
            cpus.span(),
            message,
            "give a count, such as `cpus = 4`",
        )));
    }
    if let Some(address) = &written.address {
        let message = format!("host `{label}` is a pod, whose address the cluster assigns");
        faults.keep::<()>(Err(source.invalid_with(
            address.span(),
            message,
            "remove `address`",
        )));
    }
    let memory_bytes = written.memory.as_ref().map_or(Some(MEMORY), |memory| {
        faults.keep(bytes(memory.get_ref()).ok_or_else(|| {
            let message = format!("`memory` is \"{}\"", memory.get_ref());
            source.invalid_with(
                memory.span(),
                message,
                "give a size such as \"4GiB\" or \"512MiB\"",
            )
        }))
    });
    let count = |written: &Option<Spanned<u32>>| written.as_ref().map_or(1, |count| *count.get_ref());
    let group = Group {
        name: label.clone(),
        replicas: count(&written.replicas),
        cpus: count(&written.cpus),
        memory_bytes: memory_bytes.unwrap_or(MEMORY),
        node: written.node_selector.map(Spanned::into_inner).unwrap_or_default(),
    };
    let build = written.build_on.map(Spanned::into_inner).unwrap_or_default();
    let host = |name: String| HostEntry {
        name,
        way: HostTransport::Pod(group.clone()),
        cpus: Cpus::default(),
        address: None,
        binary: written.binary.clone(),
        build,
    };
    faults.or(group.members().into_iter().map(host).collect())
}

/// Parses `4GiB`, `512Mi` or `512 MiB`; the minimum is 1 MiB.
fn bytes(text: &str) -> Option<u64> {
    let text = text.strip_suffix('B').unwrap_or(text);
    let units = [("Gi", 30), ("Mi", 20)];
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
max_lifetime = "2h"
[host.app]
cpus = 8
memory = "16GiB"
node_selector = { "kubernetes.io/hostname" = "n1" }
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
            (Duration::from_hours(2), READY_TIMEOUT)
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

    #[test]
    fn files_of_both_formats_have_the_same_values() {
        let old = WHOLE
            .replace("max_lifetime", "deadline")
            .replace("node_selector", "node")
            .replace(
                "image = \"debian:12\"",
                "image = \"debian:12\"\npull = \"Always\"\nprony = \"/prony\"\nwithin = \"3m\"",
            );
        let new = WHOLE.replace(
            "image = \"debian:12\"",
            "image = \"debian:12\"\npull_policy = \"Always\"\nbinary = \"/prony\"\nready_timeout = \"3m\"",
        );
        let new = parse(&format!("format = 1\n{new}")).expect("sound");
        assert_eq!(parse(&old).as_ref(), Ok(&new));
        assert_eq!(parse(&format!("format = 1\n{old}")), Ok(new));
    }

    #[test]
    fn sizes_have_binary_units() {
        for (text, size) in [
            ("4GiB", Some(4 << 30)),
            ("512Mi", Some(512 << 20)),
            ("1 Gi", Some(1 << 30)),
            ("16G", None),
            ("0MiB", None),
        ] {
            assert_eq!(bytes(text), size, "{text}");
        }
    }

    /// The replaced text, its replacement, the position of the error, and a part of the error.
    const WRONG: &[(&str, &str, &str, &str)] = &[
        ("cpus = 8", "cpus = 1.5", "8:8", "`cpus` is the number 1.5"),
        ("cpus = 8", "cpus = 0", "8:8", "`cpus` is 0: give at least 1"),
        (
            "cpus = 8",
            "cpu_set = \"0-7\"",
            "8:11",
            "give a count, such as `cpus = 4`",
        ),
        ("\"16GiB\"", "\"16G\"", "9:10", "give a size such as \"4GiB\""),
        (
            "replicas = 2",
            "replicas = 0",
            "12:12",
            "`replicas` is 0: give at least 1",
        ),
        ("replicas = 2", "replicas = 1001", "12:12", "give at most 1000"),
        ("cpus = 8", "replicas = 2", "15:11", "host `app` has 2 replicas"),
        (
            "load = \"load\"",
            "load = [\"load\", \"load-1\"]",
            "16:17",
            "`load-1` is listed twice",
        ),
        (
            "load = \"load\"",
            "load = \"loads\"",
            "16:8",
            "did you mean `load`?",
        ),
        (
            "cpus = 8",
            "ssh = \"a\"",
            "7:7",
            "remove `ssh`, `local` and `pipe`",
        ),
        ("cpus = 8", "address = \"a\"", "8:11", "remove `address`"),
        ("cpus = 8", "cores = 8", "8:1", "unknown key `cores`"),
        (
            "[host.load]",
            "[host.Load]",
            "11:7",
            "`Load` is not the name of a pod",
        ),
        (
            "namespace = \"prony\"",
            "",
            "2:1",
            "`kubernetes` has no `namespace`",
        ),
        ("\"prony\"", "\"My Space\"", "4:13", "a namespace has at most"),
        ("image = \"debian:12\"", "image = \"\"", "5:9", "`image` is empty"),
        (
            "max_lifetime = \"2h\"",
            "max_lifetime = \"0s\"",
            "6:16",
            "give at least \"1s\"",
        ),
        (
            "max_lifetime = \"2h\"",
            "pull_policy = \"always\"",
            "6:15",
            "did you mean `Always`?",
        ),
        (
            "max_lifetime = \"2h\"",
            "binary = \"prony\"",
            "6:10",
            "give the absolute path",
        ),
    ];

    #[test]
    fn errors_are_at_the_value_at_fault() {
        for (from, to, at, part) in WRONG {
            let error = parse(&WHOLE.replace(from, to)).expect_err(to);
            assert!(
                error.contains(&format!("\n  testbed.toml:{at}\n")) && error.contains(part),
                "{to}: {error}"
            );
        }
        let twice = parse(&WHOLE.replace("[roles]", "[host.load-1]\n[roles]")).expect_err("twice");
        assert!(twice.contains("host `load-1` is defined twice"), "{twice}");
    }
}
