//! An agent on this machine over pipes: what it offers beyond a local host, and what happens when one side is gone.

use crate::common::{TIME, Toy, connected, marked, pipe, until, until_within};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prony_host::{
    Connect, Cpus, Host as _, HostError, PageCacheRequest, Pipe, Progress, Remote, Stdio, Transport as _,
};
use std::cell::RefCell;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const TOY: &str = env!("CARGO_BIN_EXE_prony-host-toy");

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn it_says_who_and_where_it_is() {
    let cache = folder();
    let remote = connected(cache.path());
    let hello = remote.hello();
    assert_eq!(hello.architecture, std::env::consts::ARCH);
    assert_eq!(hello.version, env!("CARGO_PKG_VERSION"));
    assert!(hello.work.starts_with(cache.path()) && hello.work.is_dir());
    assert_eq!(hello.binary.as_deref(), Some(Path::new(TOY)));
    assert_eq!(remote.address(), "127.0.0.1");
    assert_eq!(
        remote.topology().cpus(),
        prony_host::Topology::of_this_machine().cpus()
    );
    assert!(remote.environment().memory_bytes.is_some());
    assert!(remote.memory_available_bytes().is_some());
    let port = remote.free_port().expect("a port");
    std::net::TcpListener::bind(("127.0.0.1", port)).expect("free");
    assert!(
        remote
            .which("sh")
            .expect("asked")
            .is_some_and(|path| path.ends_with("sh"))
    );
    assert_eq!(remote.which("no-such-program").expect("asked"), None);
    let all = remote.topology().cpus();
    remote.pin_self(&all).expect("pinned");
    let work = hello.work.clone();
    drop(remote);
    assert!(!work.exists(), "its folder is removed with it");
}

/// Both share one clock here, so the remote reading must be between two local ones.
#[test]
fn its_clock_is_read_between_two_moments() {
    let cache = folder();
    let remote = connected(cache.path());
    let now = || {
        let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).expect("a clock");
        Duration::from(time).as_nanos() as u64
    };
    // While a slow request is in flight.
    let slow = remote.clone();
    let watching = std::thread::spawn(move || slow.watch(Duration::from_secs(2)));
    let mut shortest = Duration::MAX;
    for _ in 0..32 {
        let before = now();
        let sample = remote.clock_sample().expect("a sample");
        let after = now();
        assert!((before..=after).contains(&sample.monotonic_ns), "{sample:?}");
        assert!(sample.wall_ns > 1_700_000_000_000_000_000);
        shortest = shortest.min(sample.received - sample.sent);
    }
    println!("shortest round trip over a pipe: {shortest:?}");
    assert!(!watching.is_finished(), "the slow request delayed the others");
    assert!(watching.join().expect("no panic").is_some());
}

/// A folder with all kinds of entries.
fn tree(folder: &Path) -> PathBuf {
    let tree = folder.join("tree");
    fs::create_dir_all(tree.join("empty")).expect("made");
    fs::create_dir_all(tree.join("bin")).expect("made");
    fs::write(tree.join("bin/run"), "#!/bin/sh\necho it runs\n").expect("written");
    fs::set_permissions(tree.join("bin/run"), fs::Permissions::from_mode(0o755)).expect("set");
    fs::write(tree.join("data"), vec![7; 3_000_000]).expect("written");
    fs::write(tree.join("nothing"), "").expect("written");
    symlink("bin/run", tree.join("link")).expect("linked");
    symlink("nowhere", tree.join("dangling")).expect("linked");
    fs::set_permissions(tree.join("empty"), fs::Permissions::from_mode(0o555)).expect("set");
    tree
}

#[test]
fn a_folder_comes_as_it_is_and_its_program_runs() {
    let here = folder();
    let remote = connected(&here.path().join("cache"));
    let tree = tree(here.path());
    let error = RefCell::new(Vec::new());
    let sent = remote
        .put(&tree, Path::new("build/it"), &|progress: Progress| {
            error.borrow_mut().push(progress);
        })
        .expect("put");
    let there = remote.hello().work.join("build/it");
    assert_eq!((&sent.path, sent.bytes), (&there, 3_000_023));
    let error = error.into_inner();
    assert!(error.windows(2).all(|two| two[0].sent < two[1].sent) && error.len() > 3);
    let last = error.last().expect("error");
    assert_eq!((last.sent, last.total), (3_000_023, 3_000_023));
    let mode = |path: &str| {
        let data = fs::symlink_metadata(there.join(path)).expect("there");
        data.permissions().mode() & 0o7777
    };
    assert_eq!((mode("bin/run"), mode("empty")), (0o755, 0o555));
    assert_eq!(
        fs::read_link(there.join("dangling")).expect("a link"),
        Path::new("nowhere")
    );
    assert_eq!(fs::read(there.join("data")).expect("there").len(), 3_000_000);
    // Replaces the earlier content as a whole.
    fs::write(tree.join("data"), "new").expect("written");
    fs::remove_file(tree.join("nothing")).expect("removed");
    remote
        .put(&tree, Path::new("build/it"), &|_| {})
        .expect("put again");
    assert_eq!(fs::read(there.join("data")).expect("there"), b"new");
    assert!(!remote.exists(Path::new("build/it/nothing")).expect("asked"));
    let beside = fs::read_dir(there.parent().expect("a parent"))
        .expect("there")
        .count();
    assert_eq!(beside, 1, "a temporary file is left next to it");
    // Runs a program in the folder of the connection, with paths relative to it.
    let toy = Toy::without_groups();
    let mut spec = toy.spec(&[]);
    spec.command = vec!["./link".to_owned()];
    spec.folder = "build/it".into();
    spec.log = "logs/it".into();
    let mut process = remote.start(&spec).expect("started");
    until("it has ended", || process.ended().is_some());
    assert_eq!(process.log_tail(3), ["it runs"]);
    let fetched = here.path().join("fetched");
    let bytes = remote.get(Path::new("logs/it"), &fetched).expect("fetched");
    assert_eq!(
        (bytes, fs::read_to_string(&fetched).expect("there").as_str()),
        (8, "it runs\n")
    );
    let error = remote.get(Path::new("logs/no"), &fetched).expect_err("not there");
    assert!(error.to_string().contains("on here: cannot read"), "{error}");
    remote.remove(Path::new("build")).expect("removed");
    assert!(!there.exists());
    for foreign in [
        here.path(),
        Path::new(".."),
        Path::new(""),
        Path::new("a/../../.."),
    ] {
        let error = remote.remove(foreign).expect_err("refused").to_string();
        assert!(error.contains("refused to remove"), "{error}");
    }
    let error = remote
        .put(&here.path().join("no"), Path::new("x"), &|_| {})
        .expect_err("not there");
    assert!(error.to_string().contains("cannot read"), "{error}");
}

#[test]
fn what_is_there_is_not_sent_again() {
    let here = folder();
    let (cache, tree) = (here.path().join("cache"), tree(here.path()));
    let first = connected(&cache);
    let sent = first.keep(&tree, &|_| {}).expect("kept");
    assert_eq!(sent.bytes, 3_000_023);
    assert!(sent.path.ends_with("tree") && sent.path.join("bin/run").exists());
    assert_eq!(first.keep(&tree, &|_| {}).expect("kept").bytes, 0);
    drop(first);
    let second = connected(&cache);
    let again = second.keep(&tree, &|_| {}).expect("kept");
    assert_eq!((again.bytes, &again.path), (0, &sent.path));
    fs::write(tree.join("data"), "other").expect("written");
    let other = second.keep(&tree, &|_| {}).expect("kept");
    assert!(other.bytes > 0 && other.path != sent.path);
    let alone = second.keep(&tree.join("bin/run"), &|_| {}).expect("kept");
    assert!(alone.path.ends_with("run") && alone.path.is_file());
}

#[test]
fn two_runs_do_not_get_the_same_cpus() {
    let here = folder();
    let one = Remote::connect(&Connect::to("app", "prony run one"), &pipe(here.path()), &|_| {});
    let two = Remote::connect(&Connect::to("app", "prony run two"), &pipe(here.path()), &|_| {});
    let (one, two) = (one.expect("connected"), two.expect("connected"));
    let cpus = |cpus: &[usize]| Cpus::from(cpus.to_vec());
    let held = one.claim(&cpus(&[0, 1])).expect("free");
    let error = two.claim(&cpus(&[1, 2])).expect_err("taken");
    let text = error.to_string();
    assert!(
        matches!(error, HostError::Taken { cpu: 1, .. }) && error.is_of_the_testbed(),
        "{error:?}"
    );
    assert!(
        text.contains("CPU 1 of app") && text.contains("`prony run` (process"),
        "{text}"
    );
    drop(held);
    let free = || two.claim(&cpus(&[1, 2]));
    let mut held = None;
    until("it is given back", || {
        held = free().ok();
        held.is_some()
    });
    drop(held);
    let held = one.claim(&cpus(&[0])).expect("free");
    drop((one, held));
    two.claim(&cpus(&[0])).expect("given back with the connection");
}

#[test]
fn much_goes_through_a_process_and_a_slow_reader_holds_up_nobody_else() {
    let toy = Toy::without_groups();
    let cache = folder();
    let remote = connected(cache.path());
    let mut spec = toy.spec(&[]);
    spec.command = vec!["cat".to_owned()];
    spec.stdio = Stdio::Piped;
    let mut process = remote.start(&spec).expect("started");
    let (mut input, mut output) = process.take_pipes().expect("pipes");
    let bytes: Vec<u8> = (0..8_u32 << 20).map(|at| (at % 251) as u8).collect();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || input.write_all(&sent));
    // The output is not read yet, but the connection is not blocked for others.
    remote.clock_sample().expect("it answers");
    assert!(process.memory_bytes().is_some());
    assert!(process.footprint().anonymous_bytes.is_some());
    let files = process.used_files();
    assert!(!files.is_empty(), "it has at least its own program mapped");
    let request = PageCacheRequest {
        files,
        ..PageCacheRequest::default()
    };
    let cached = remote.page_cache(&request).expect("read");
    assert!(
        cached.files.iter().any(|file| file.resident_bytes > 0),
        "{cached:?}"
    );
    assert!(!writer.is_finished(), "eight MiB exceed all buffers");
    let mut text = Vec::new();
    output.read_to_end(&mut text).expect("to the end");
    writer.join().expect("no panic").expect("written");
    assert!(text == bytes, "the bytes differ");
    until("it has ended", || {
        process.ended().is_some_and(|ending| ending.code == Some(0))
    });
}

/// A controller in a separate process: it starts a tree through an agent and waits to be killed.
fn controller(mark: &Path) -> Child {
    let mut child = Command::new(TOY)
        .arg("control")
        .arg(mark)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the toy runs");
    let mut said = [0; 6];
    child
        .stdout
        .as_mut()
        .expect("piped")
        .read_exact(&mut said)
        .expect("it is ready");
    assert_eq!(&said, b"ready\n");
    child
}

fn works(cache: &Path) -> usize {
    fs::read_dir(cache.join("work")).map_or(0, Iterator::count)
}

#[test]
fn a_killed_controller_leaves_nothing() {
    let here = folder();
    let mark = here.path().display().to_string();
    let mut child = controller(here.path());
    until("four processes run", || marked(&mark).len() >= 4);
    assert_eq!(works(&here.path().join("cache")), 1);
    child.kill().expect("killed");
    child.wait().expect("waited for");
    until_within(Duration::from_secs(10), "nothing is left", || {
        marked(&mark).is_empty()
    });
    until("its folder is gone", || works(&here.path().join("cache")) == 0);
}

/// A stopped controller is silent, as if the network were cut.
#[test]
fn a_controller_that_is_silent_loses_its_lease() {
    let here = folder();
    let mark = here.path().display().to_string();
    let mut child = controller(here.path());
    until("four processes run", || marked(&mark).len() >= 4);
    let began = Instant::now();
    kill(Pid::from_raw(child.id() as i32), Signal::SIGSTOP).expect("stopped");
    until("nothing is left", || marked(&mark).is_empty());
    assert!(
        began.elapsed() > Duration::from_secs(3),
        "it did not wait for its lease"
    );
    child.kill().expect("killed");
    child.wait().expect("waited for");
    until("its folder is gone", || works(&here.path().join("cache")) == 0);
}

#[test]
fn an_agent_that_is_silent_is_lost() {
    let here = folder();
    let connect = Connect {
        lease: Duration::from_secs(1),
        ..Connect::to("app", "a test")
    };
    let remote = Remote::connect(&connect, &pipe(here.path()), &|_| {}).expect("connected");
    assert!(remote.lost().is_none());
    let agent = Pid::from_raw(remote.hello().pid as i32);
    kill(agent, Signal::SIGSTOP).expect("stopped");
    let error = remote.free_port().expect_err("lost");
    assert!(
        error.is_lost() && error.to_string().contains("received nothing from it for 1 s"),
        "{error}"
    );
    assert!(remote.lost().is_some_and(|error| error.is_of_the_testbed()));
    let error = remote.clock_sample().expect_err("lost").to_string();
    assert!(error.contains("lost the connection to app"), "{error}");
}

#[test]
fn a_killed_agent_is_told_and_leaves_nothing() {
    let here = folder();
    let cache = here.path().join("cache");
    let toy = Toy::without_groups();
    let remote = connected(&cache);
    let mut process = remote.start(&toy.spec(&["tree"])).expect("started");
    until("four processes run", || toy.leftovers().len() >= 4);
    let slow = remote.clone();
    let watching = std::thread::spawn(move || slow.watch(Duration::from_mins(1)));
    kill(Pid::from_raw(remote.hello().pid as i32), Signal::SIGKILL).expect("killed");
    let began = Instant::now();
    assert_eq!(watching.join().expect("no panic"), None);
    let error = process.begin_window().expect_err("lost").to_string();
    assert!(
        error.contains("lost the connection to here") && error.contains("killed"),
        "{error}"
    );
    assert!(process.ended().is_some() && process.stop().is_err());
    assert!(began.elapsed() < TIME);
    until("nothing is left", || toy.leftovers().is_empty());
    assert_eq!(works(&cache), 1, "its folder remains");
    let next = connected(&cache);
    assert_eq!(works(&cache), 1, "the next agent removed it");
    drop(next);
    assert_eq!(works(&cache), 0);
}

#[test]
fn an_agent_that_is_told_to_end_says_so() {
    let here = folder();
    let remote = connected(here.path());
    kill(Pid::from_raw(remote.hello().pid as i32), Signal::SIGTERM).expect("error");
    until("it is lost", || remote.lost().is_some());
    let error = remote.lost().expect("lost").to_string();
    assert!(error.contains("SIGTERM"), "{error}");
    until("its folder is gone", || works(here.path()) == 0);
}

#[test]
fn a_process_outlives_its_host_value_and_not_its_connection() {
    let here = folder();
    let toy = Toy::without_groups();
    let remote = connected(here.path());
    let process = remote.start(&toy.spec(&["wait"])).expect("started");
    drop(remote);
    until("it is ready", || process.log_tail(1) == ["ready"]);
    drop(process);
    assert_eq!(toy.leftovers(), Vec::<i32>::new());
    until("the agent is gone", || works(here.path()) == 0);
}

/// The error when a shell script runs in place of an agent.
fn instead(script: &str) -> HostError {
    let pipe = Pipe::new(["sh", "-c", script].map(Into::into).to_vec());
    Remote::connect(&Connect::to("app", "a test"), &pipe, &|_| {}).expect_err("refused")
}

#[test]
fn another_prony_is_refused() {
    let error = instead("echo '[[prony:agent:99]]'; cat");
    assert!(matches!(error, HostError::OtherProny { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("on app uses protocol 99") && text.contains("same version"),
        "{text}"
    );
    let cache = folder();
    let remote = connected(cache.path());
    let mut hello = remote.hello().clone();
    let answer = |hello: &prony_host::wire::AgentHello| {
        let mut frames = Vec::new();
        let json = serde_json::to_vec(hello).expect("plain data");
        prony_host::wire::Frame::write_message(0, &json, &mut frames);
        let file = cache.path().join("hello");
        fs::write(&file, frames).expect("written");
        let protocol = prony_host::wire::PROTOCOL;
        let script = format!("echo '[[prony:agent:{protocol}]]'; cat {}; cat", file.display());
        instead(&script).to_string()
    };
    // The toy does not know its sources, so it is accepted by all.
    prony_host::set_sources("5ca1ab1e");
    hello.sources = "f005ba11".to_owned();
    let text = answer(&hello);
    assert!(
        text.contains("on app is another build of version") && text.contains("f005ba11"),
        "{text}"
    );
    hello.version = "0.0.9".to_owned();
    let text = answer(&hello);
    assert!(
        text.contains("on app is version 0.0.9") && text.contains("this is version"),
        "{text}"
    );
}

#[test]
fn what_is_no_agent_is_quoted() {
    let text = instead("echo hello there; echo 'no agent here' >&2").to_string();
    assert!(
        text.contains("cannot reach app") && text.contains("no agent here"),
        "{text}"
    );
    let text = instead("while :; do echo hello there; done").to_string();
    assert!(text.contains("hello there"), "{text}");
    let error = Pipe::new(vec!["/no/such/prony".into()])
        .open("app", &|_| {})
        .err();
    let text = error.expect("refused").to_string();
    assert!(
        text.contains("cannot reach app: cannot start `/no/such/prony`"),
        "{text}"
    );
    let protocol = prony_host::wire::PROTOCOL;
    let text = instead(&format!("echo '[[prony:agent:{protocol}]]'; echo garbage; cat")).to_string();
    assert!(text.contains("violated the protocol"), "{text}");
}

#[test]
fn a_login_script_may_say_something_first() {
    let cache = folder();
    let script = format!("echo Welcome; echo -n 'no line end'; exec {TOY} agent");
    let mut pipe = Pipe::new(["sh", "-c", &script].map(Into::into).to_vec());
    pipe.environment = vec![("PRONY_AGENT_CACHE".into(), cache.path().into())];
    let remote = Remote::connect(&Connect::to("app", "a test"), &pipe, &|_| {}).expect("connected");
    remote.free_port().expect("a port");
}

/// Sends invalid messages to an agent, in place of a controller.
#[test]
fn an_agent_refuses_what_it_does_not_know_and_ends_at_what_is_no_frame() {
    use prony_host::wire::{AgentResponse, ControllerHello, Frame, Inbox, Item};
    let here = folder();
    let mut channel = pipe(here.path()).open("app", &|_| {}).expect("opened");
    let welcome = ControllerHello {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        what: "a test".to_owned(),
        lease_ms: 60_000,
    };
    let mut frames = Vec::new();
    Frame::write_message(0, &serde_json::to_vec(&welcome).expect("plain data"), &mut frames);
    Frame::write_message(1, br#"{"request":"dance"}"#, &mut frames);
    Frame::write_message(
        2,
        br#"{"request":"process","process":77,"order":"stop"}"#,
        &mut frames,
    );
    // Data and credit for streams that are not open are ignored.
    Frame::write(prony_host::wire::Kind::Data, 99, b"bytes", &mut frames);
    Frame::write(prony_host::wire::Kind::Credit, 98, &[0, 0, 1, 0], &mut frames);
    Frame::write_message(3, br#"{"request":"free_port"}"#, &mut frames);
    channel.output.write_all(&frames).expect("written");
    let mut inbox = Inbox::default();
    inbox.push(&channel.rest);
    let mut answers = std::collections::BTreeMap::new();
    let mut buffer = [0; 8_192];
    while answers.len() < 3 {
        let length = channel.input.read(&mut buffer).expect("read");
        assert!(length > 0, "it ended");
        inbox.push(&buffer[..length]);
        while let Some(item) = inbox.pop().expect("frames") {
            if let Item::Message { id: id @ 1.., json } = item {
                answers.insert(
                    id,
                    serde_json::from_slice::<AgentResponse>(&json).expect("an answer"),
                );
            }
        }
    }
    let said = |id: u32| format!("{:?}", answers[&id]);
    assert!(
        said(1).contains("unknown request") && said(2).contains("no process 77"),
        "{answers:?}"
    );
    assert!(answers[&3].is_ok());
    channel.output.write_all(&[255; 100]).expect("written");
    let mut rest = Vec::new();
    channel.input.read_to_end(&mut rest).expect("it ends");
    let rest = String::from_utf8_lossy(&rest).into_owned();
    assert!(rest.contains("violated the protocol"), "{rest}");
    until("its folder is gone", || works(here.path()) == 0);
}
