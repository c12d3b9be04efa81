//! The transport into pods against a fake API server over HTTP: the crate `kube`, the streams of commands, and a real agent
//! at their end.

mod cluster;
#[path = "../../../tests/ports.rs"]
mod ports;

use cluster::{Cluster as Server, kubeconfig};
use prony_host::{Connect, Host as _, HostError, Remote};
use prony_kubernetes::{Cluster, ClusterError, Group, PodRequest, PodWay, Pull, Run, left, remove};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TOY: &str = env!("CARGO_BIN_EXE_prony-kubernetes-toy");

fn wanted(kubeconfig: PathBuf, prony: Option<&str>) -> Cluster {
    Cluster {
        kubeconfig: Some(kubeconfig),
        context: None,
        namespace: "bench".to_owned(),
        image: "toy".to_owned(),
        pull: Pull::Never,
        prony: prony.map(str::to_owned),
        within: Duration::from_secs(10),
        deadline: Duration::from_mins(1),
        share_nodes: false,
    }
}

fn begin(cluster: &Cluster) -> Result<Run, ClusterError> {
    let group = Group {
        name: "load".to_owned(),
        replicas: 2,
        cpus: 1,
        memory_bytes: 64 << 20,
        node: BTreeMap::new(),
    };
    let begin = PodRequest {
        what: "a test",
        tell: &|_| {},
        goes_on: &|| true,
    };
    Run::begin(cluster, &[group], &begin)
}

fn connect(run: &Arc<Run>, binary: Option<&str>, sent: &Cell<u64>) -> Result<Remote, HostError> {
    let pod = run.pods()[1].clone();
    let connect = Connect {
        address: Some(pod.address.clone()),
        ..Connect::to(&pod.host, "a test")
    };
    let way = PodWay::new(Arc::clone(run), pod, binary.map(PathBuf::from));
    Remote::connect(&connect, &way, &|progress| sent.set(progress.sent))
}

/// Asserts that the text of an error contains all parts.
fn says(error: &impl ToString, parts: &[&str]) {
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
}

#[test]
fn an_agent_in_the_image_serves_over_an_exec_stream() {
    let server = Server::start();
    let run = Arc::new(begin(&wanted(server.kubeconfig(), Some(TOY))).expect("pods"));
    assert_eq!(run.pods()[1].host, "load-1");
    let sent = Cell::new(0);
    let remote = connect(&run, None, &sent).expect("an agent");
    assert_eq!((remote.address(), sent.get()), ("127.0.0.1", 0));
    assert_eq!(remote.hello().version, env!("CARGO_PKG_VERSION"));
    assert!(remote.free_port().expect("a port") > 0);
    let clock = remote.clock_sample().expect("a time");
    assert!(clock.received >= clock.sent);
    drop(remote);
    drop(run);
    assert_eq!(server.state().jobs.len(), 0, "nothing is left");
}

#[test]
fn prony_is_brought_into_a_pod_with_a_shell_once() {
    let server = Server::start();
    let run = Arc::new(begin(&wanted(server.kubeconfig(), None)).expect("pods"));
    let sent = Cell::new(0);
    let remote = connect(&run, Some(TOY), &sent).expect("an agent");
    let bytes = std::fs::metadata(TOY).expect("the toy").len();
    assert_eq!(sent.get(), bytes);
    assert!(remote.hello().hash.is_some());
    drop(remote);
    sent.set(0);
    connect(&run, Some(TOY), &sent).expect("an agent");
    assert_eq!(sent.get(), 0, "it is there already");
}

#[test]
fn a_pod_that_is_killed_is_a_host_that_is_lost() {
    let server = Server::start();
    let run = Arc::new(begin(&wanted(server.kubeconfig(), Some(TOY))).expect("pods"));
    let remote = connect(&run, None, &Cell::new(0)).expect("an agent");
    let process = server.state().processes[0];
    let killed = std::process::Command::new("sh")
        .args(["-c", &format!("kill -9 {process}")])
        .status();
    assert!(killed.expect("kill").success());
    let until = Instant::now() + Duration::from_secs(20);
    let lost = loop {
        if let Some(lost) = remote.lost() {
            break lost;
        }
        assert!(Instant::now() < until, "the loss was not detected");
        std::thread::yield_now();
    };
    says(
        &lost,
        &["lost the connection to load-1", "command terminated: signal: 9"],
    );
}

#[test]
fn an_image_without_a_shell_is_told_what_to_do() {
    let server = Server::start();
    let run = Arc::new(begin(&wanted(server.kubeconfig(), None)).expect("pods"));
    let refusal = "OCI runtime exec failed: exec: \"sh\": executable file not found in $PATH";
    server.state().no_command = Some(refusal.to_owned());
    let error = connect(&run, Some(TOY), &Cell::new(0)).expect_err("no shell");
    says(
        &error,
        &[
            "cannot reach load-1 (pod prony-",
            "on node1)",
            refusal,
            "the image has no shell",
        ],
    );
}

#[test]
fn refusals_are_told_in_the_cluster_s_words() {
    let server = Server::start();
    server.state().refuses = Some((403, "POST"));
    let error = begin(&wanted(server.kubeconfig(), None)).err().expect("refused");
    says(
        &error,
        &["User \"ann\" cannot do that", "(403)", "`prony testbed rbac`"],
    );
    server.state().refuses = Some((401, "POST"));
    let error = begin(&wanted(server.kubeconfig(), None)).err().expect("refused");
    says(&error, &["(401)", "log in again"]);
}

#[test]
fn a_configuration_that_cannot_be_used_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = wanted(folder.path().join("none"), None);
    says(
        &begin(&nowhere).err().expect("no file"),
        &["cannot connect to a cluster", "none"],
    );
    let file = folder.path().join("config");
    let nothing_listens = format!("127.0.0.1:{}", ports::reserved());
    std::fs::write(&file, kubeconfig(&nothing_listens)).expect("written");
    let other = Cluster {
        context: Some("other".to_owned()),
        ..wanted(file.clone(), None)
    };
    says(
        &begin(&other).err().expect("no context"),
        &["cannot connect to a cluster", "other"],
    );
    says(
        &begin(&wanted(file.clone(), None)).err().expect("refused"),
        &["the cluster does not answer"],
    );
    // Credentials from an external command, as with cloud providers. It fails because a new login is needed.
    let given = kubeconfig("127.0.0.1:1").replace(
        "{token: secret}",
        "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: [-c, \"exit 7\"]}}",
    );
    std::fs::write(&file, given).expect("written");
    says(
        &begin(&wanted(file, None)).err().expect("no credentials"),
        &["cannot connect to a cluster", "exit status: 7"],
    );
}

#[test]
fn what_a_crash_left_is_found_and_removed() {
    let server = Server::start();
    let cluster = wanted(server.kubeconfig(), None);
    std::mem::forget(begin(&cluster).expect("pods"));
    let found = left(&cluster).expect("listed");
    assert_eq!(found[0].kind, "job");
    assert_eq!(found[0].what.as_deref(), Some("a test"));
    remove(&cluster, &found[..1]).expect("removed");
    assert_eq!(server.state().jobs.len(), 0);
}
