//! The cluster, and a namespace in it with a project and the rights that prony needs.

use super::ends_with;
use crate::common::{Checkout, CommandOutput, root};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longest wait for a command.
const PATIENCE: Duration = Duration::from_mins(4);
/// Longest wait for an expected event.
pub(super) const SOON: Duration = Duration::from_secs(90);
/// A pattern for the command line of a generator, which does not match the script that contains it.
const GENERATOR: &str = "*\"load --jo\"[b]*";
/// The same for an agent.
const AGENT: &str = "*\"/prony agen\"[t]\" \"";
const TESTBED: &str = r#"[kubernetes]
kubeconfig = "CONFIG"
namespace = "NAMESPACE"
image = "IMAGE"
KEYS
[host.app]
memory = "192MiB"
APP[host.load]
replicas = 2
memory = "192MiB"
[roles]
service = "app"
load = "load"
"#;

/// A script for a pod that prints the ids of processes whose command line matches.
fn find(pattern: &str) -> String {
    format!(
        r#"for p in /proc/[0-9]*; do case "$(tr "\0" " " <$p/cmdline 2>/dev/null)" in {pattern}) echo "${{p#/proc/}}";; esac; done"#
    )
}

/// Whether the cluster is local, so that the tests may damage it.
pub(super) fn is_own() -> bool {
    std::env::var_os("KUBECONFIG").is_none_or(|config| config.is_empty())
}

/// `scripts/kubernetes` with these arguments.
pub(super) fn script(arguments: &[&str]) -> Command {
    let mut command = Command::new(root().join("scripts/kubernetes"));
    command.args(arguments);
    command
}

/// A command in the network of the cluster.
pub(super) fn near(program: &Path) -> Command {
    if is_own() {
        let mut command = script(&["exec"]);
        command.arg(program);
        command
    } else {
        Command::new(program)
    }
}

fn kubectl_command() -> Command {
    if is_own() {
        script(&["kubectl"])
    } else {
        Command::new("kubectl")
    }
}

/// Runs a command to its end with this input; it is killed after a timeout.
fn finish(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut pipe = child.stdin.take().expect("its input");
    // A command that reads nothing closes it.
    let _ = pipe.write_all(input.as_bytes());
    drop(pipe);
    wait(child)
}

/// Waits for the end of a command; after a timeout it is killed and the test fails.
fn wait(child: Child) -> Output {
    let id = child.id();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    if let Ok(output) = receiver.recv_timeout(PATIENCE) {
        return output.expect("its output");
    }
    let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
    let said = receiver.recv_timeout(Duration::from_secs(10));
    panic!("a command did not end within {PATIENCE:?}: {said:?}");
}

/// The output of a command; fails with its error output unless it succeeds.
pub(super) fn run(command: &mut Command) -> String {
    run_with(command, "")
}

pub(super) fn run_with(command: &mut Command, input: &str) -> String {
    let ended = CommandOutput::of(&finish(command, input));
    assert_eq!(ended.code, Some(0), "{command:?}: {}{}", ended.err, ended.out);
    ended.out
}

/// The output of `kubectl`.
pub(super) fn kubectl(arguments: &[&str]) -> String {
    run(kubectl_command().args(arguments))
}

/// Runs `kubectl`, successfully or not.
pub(super) fn try_kubectl(arguments: &[&str]) -> CommandOutput {
    CommandOutput::of(&finish(kubectl_command().args(arguments), ""))
}

/// Waits until a condition holds.
pub(super) fn until(what: &str, within: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within {within:?}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// The values of the testbed file that differ between tests.
pub(super) struct Testbed {
    pub(super) image: String,
    pub(super) config: PathBuf,
    pub(super) namespace: String,
    /// Whether the image contains prony.
    pub(super) has_prony: bool,
    /// CPUs of the service's pod.
    pub(super) cpus: u32,
    /// The node of the service's pod.
    pub(super) node: Option<&'static str>,
    pub(super) within: &'static str,
    pub(super) deadline: &'static str,
}

/// A running pod.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) node: String,
}

/// A namespace, its user, and a project with a testbed in it.
pub(super) struct Space {
    pub(super) name: String,
    /// Its folder `project` is the project.
    pub(super) checkout: Checkout,
    children: Vec<u32>,
}

impl Space {
    /// A namespace in which prony has its rights.
    pub(super) fn new(name: &str) -> Self {
        Self::with(name, |_| ())
    }

    /// The same, with changes to its testbed file.
    pub(super) fn with(name: &str, change: impl FnOnce(&mut Testbed)) -> Self {
        let space = Self::without_rights(name, change);
        let rights = space
            .prony(&["testbed", "rbac", "--testbed", "testbed.toml"], 0)
            .out;
        let mut apply = kubectl_command();
        apply.args(["--namespace", &space.name, "apply", "--filename=-"]);
        run_with(&mut apply, &rights);
        space
    }

    pub(super) fn without_rights(name: &str, change: impl FnOnce(&mut Testbed)) -> Self {
        let space = Self {
            name: format!("prony-test-{}-{name}", std::process::id()),
            checkout: Checkout::new(1, &[]),
            children: Vec::new(),
        };
        let project = root().join("tests/kubernetes/project");
        run(Command::new("cp")
            .arg("-r")
            .arg(project)
            .arg(space.checkout.path("project")));
        // With this label, `cargo xtask kubernetes` removes the leftovers of a killed test.
        let run = std::env::var("PRONY_TEST_RUN").unwrap_or_else(|_| "by-hand".to_owned());
        let namespace = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": space.name,
                "labels": {
                    // The strictest setting of namespaces.
                    "pod-security.kubernetes.io/enforce": "restricted",
                    "prony-test-run": run,
                },
            },
        });
        let mut create = kubectl_command();
        create.args(["create", "--filename=-"]);
        run_with(&mut create, &namespace.to_string());
        space.kubectl(&["create", "serviceaccount", "prony"]);
        let token = space.kubectl(&["create", "token", "prony", "--duration=2h"]);
        space.log_in(token.trim());
        space.testbed("testbed.toml", change);
        space
    }

    /// Makes prony use this token.
    pub(super) fn log_in(&self, token: &str) {
        let view = "config view --raw --minify --flatten --output=json";
        let mut config: Value = serde_json::from_str(&kubectl(&words(view))).expect("JSON");
        config["users"][0]["user"] = serde_json::json!({ "token": token });
        self.write_private("config", &config.to_string());
    }

    /// Writes a file that only its owner can read.
    pub(super) fn write_private(&self, file: &str, text: &str) -> PathBuf {
        self.checkout.write(&format!("project/{file}"), "");
        let path = self.checkout.path(&format!("project/{file}"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// Writes a testbed file.
    pub(super) fn testbed(&self, file: &str, change: impl FnOnce(&mut Testbed)) {
        let mut testbed = Testbed {
            image: std::env::var("PRONY_TEST_IMAGE").expect("PRONY_TEST_IMAGE: cargo xtask kubernetes"),
            config: self.checkout.path("project/config"),
            namespace: self.name.clone(),
            has_prony: true,
            cpus: 1,
            node: None,
            within: "60s",
            deadline: "20m",
        };
        change(&mut testbed);
        let mut keys = format!(
            "pull = \"IfNotPresent\"\nwithin = \"{}\"\ndeadline = \"{}\"\n",
            testbed.within, testbed.deadline
        );
        if testbed.has_prony {
            keys.push_str("prony = \"/usr/bin/prony\"\n");
        }
        let mut app = format!("cpus = {}\n", testbed.cpus);
        if let Some(node) = testbed.node {
            let _ = writeln!(app, "node = {{ \"kubernetes.io/hostname\" = \"{node}\" }}");
        }
        let text = TESTBED
            .replace("CONFIG", &testbed.config.display().to_string())
            .replace("NAMESPACE", &testbed.namespace)
            .replace("IMAGE", &testbed.image)
            .replace("KEYS\n", &keys)
            .replace("APP", &app);
        self.checkout.write(&format!("project/{file}"), &text);
    }

    /// `kubectl` in this namespace.
    pub(super) fn kubectl(&self, arguments: &[&str]) -> String {
        kubectl(&[&["--namespace", &self.name], arguments].concat())
    }

    /// `kubectl` in this namespace, as a command.
    pub(super) fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut command = kubectl_command();
        command.args(["--namespace", &self.name]).args(arguments);
        command
    }

    /// Starts prony in the project and in the network of the cluster.
    pub(super) fn start(&mut self, arguments: &[&str]) -> Child {
        let child = self.command(arguments).spawn().expect("the binary starts");
        self.children.push(child.id());
        child
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_prony"));
        let mut command = near(binary);
        let path = std::env::var("PATH").unwrap_or_default();
        let folder = binary.parent().expect("its folder").display();
        command
            .args(arguments)
            .current_dir(self.checkout.path("project"))
            .env_remove("KUBECONFIG")
            .env_remove("PRONY_STORE")
            .env_remove("PRONY_TESTBED")
            .env("NO_COLOR", "1")
            .env("PRONY_LOCKS", self.checkout.path("locks"))
            .env("PRONY_AGENT_CACHE", self.checkout.path("agents"))
            // Services of a testbed without pods start it by its name.
            .env("PATH", format!("{folder}:{path}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command of prony, which must end with this exit code.
    pub(super) fn prony(&self, arguments: &[&str], code: i32) -> CommandOutput {
        let child = self.command(arguments).spawn().expect("the binary starts");
        ended(child, code)
    }

    /// Starts a run of one trial that is long enough for a fault to happen.
    pub(super) fn start_run(&mut self) -> Child {
        self.start(&run_of("one", "testbed.toml"))
    }

    /// Starts a run that must not reach its end: a cluster may react slowly.
    pub(super) fn start_long_run(&mut self) -> Child {
        self.start(&run_of("long", "testbed.toml"))
    }

    /// A run that must end with this exit code.
    pub(super) fn run(&self, suite: &str, testbed: &str, code: i32) -> CommandOutput {
        self.prony(&run_of(suite, testbed), code)
    }

    /// Running pods, by their names in prony.
    fn pods(&self) -> BTreeMap<String, Pod> {
        let listed = self.kubectl(&["get", "pods", "--output=json"]);
        let listed: Value = serde_json::from_str(&listed).expect("JSON");
        let pods = listed["items"].as_array().expect("pods").iter();
        let running = pods.filter(|pod| pod["status"]["phase"] == "Running");
        running
            .map(|pod| {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let about = &pod["metadata"];
                let group = text(&about["labels"]["prony/group"]);
                let number = text(&about["annotations"]["batch.kubernetes.io/job-completion-index"]);
                let name = if group == "app" {
                    group
                } else {
                    format!("{group}-{number}")
                };
                let pod = Pod {
                    name: text(&about["name"]),
                    node: text(&pod["spec"]["nodeName"]),
                };
                (name, pod)
            })
            .collect()
    }

    /// Waits until both workers make load, and returns the pods.
    pub(super) fn loaded(&self) -> BTreeMap<String, Pod> {
        let mut pods = BTreeMap::new();
        until("three pods run", SOON, || {
            pods = self.pods();
            pods.len() == 3
        });
        for worker in ["load-0", "load-1"] {
            let generator = find(GENERATOR);
            self.within(
                &pods[worker],
                &format!("until [ -n \"$({generator})\" ]; do sleep 0.1; done"),
            );
        }
        pods
    }

    /// Runs a script in a pod.
    pub(super) fn within(&self, pod: &Pod, script: &str) {
        self.kubectl(&["exec", &pod.name, "--", "sh", "-c", script]);
    }

    pub(super) fn kill_generator(&self, pod: &Pod) {
        self.within(pod, &format!("kill -9 $({})", find(GENERATOR)));
    }

    pub(super) fn kill_agent(&self, pod: &Pod) {
        self.within(pod, &format!("kill -9 $({})", find(AGENT)));
    }

    /// Waits until neither an agent nor a generator is left in a pod.
    pub(super) fn until_quiet(&self, pod: &Pod) {
        let (agent, generator) = (find(AGENT), find(GENERATOR));
        self.within(
            pod,
            &format!("while [ -n \"$({agent})$({generator})\" ]; do sleep 0.1; done"),
        );
    }

    /// Objects of prony in the namespace.
    pub(super) fn left(&self) -> Vec<String> {
        let listed = self.kubectl(&["get", "jobs,pods", "--output=name"]);
        listed.split_whitespace().map(str::to_owned).collect()
    }

    pub(super) fn jobs_left(&self) -> usize {
        let left = self.left();
        left.iter().filter(|name| name.starts_with("job")).count()
    }

    pub(super) fn nothing_is_left(&self) {
        until("nothing is left", SOON, || self.left().is_empty());
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        for child in &self.children {
            // Each belonged to this process group, and may have ended.
            let running = std::fs::read_link(format!("/proc/{child}/exe"));
            if running.is_ok_and(|program| program == Path::new(env!("CARGO_BIN_EXE_prony"))) {
                let _ = Command::new("kill").args(["-KILL", &child.to_string()]).status();
            }
        }
        let delete = [
            "delete",
            "namespace",
            &self.name,
            "--ignore-not-found",
            "--wait=false",
        ];
        let _ = kubectl_command().args(delete).output();
    }
}

fn run_of<'a>(suite: &'a str, testbed: &'a str) -> [&'a str; 6] {
    ["run", suite, "--testbed", testbed, "--json", "--keep-disturbed"]
}

pub(super) fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

/// Waits for the end of a prony, which must have this exit code.
pub(super) fn ended(child: Child, code: i32) -> CommandOutput {
    let ended = CommandOutput::of(&wait(child));
    ends_with(&ended, code);
    ended
}
