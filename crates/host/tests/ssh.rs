//! Agents on other hosts, connected through the system's ssh. The hosts are network namespaces of this machine.

use crate::common::{TIME, Toy, marked, until, until_within};
use crate::skip;
use crate::testbed::{self, Testbed, address};
use prony_host::{Connect, Cpus, Host as _, HostError, Progress, Remote, Ssh, Stdio};
use std::cell::Cell;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const TOY: &str = env!("CARGO_BIN_EXE_prony-host-toy");

/// A testbed of `hosts` hosts; `None`, after reporting the skip, if it cannot be created.
fn testbed(hosts: usize, prepare: &str) -> Option<Testbed> {
    if let Some(reason) = testbed::without_testbeds() {
        skip::skipped(&reason);
        return None;
    }
    Some(Testbed::new(hosts, prepare))
}

fn ssh(testbed: &Testbed, host: &str) -> Ssh {
    let mut ssh = Ssh::new(host);
    ssh.command = testbed.ssh();
    ssh.binary = Some(TOY.into());
    ssh
}

fn to(host: &str) -> Connect {
    Connect::to(host, format!("a test on {host}"))
}

fn connect(testbed: &Testbed, host: &str) -> Remote {
    Remote::connect(&to(host), &ssh(testbed, host), &|_| {}).expect("connected")
}

fn refused(host: &str, ssh: &Ssh) -> String {
    let error = Remote::connect(&to(host), ssh, &|_| {}).expect_err("refused");
    assert!(error.is_of_the_testbed(), "{error:?}");
    error.to_string()
}

fn agents(testbed: &Testbed, host: &str) -> Vec<PathBuf> {
    let folder = testbed.of(host, "home").join(".cache/prony/agent");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn works(testbed: &Testbed, host: &str) -> usize {
    let folder = testbed.of(host, "home").join(".cache/prony/work");
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn the_binary_is_copied_once_and_everything_works_there() {
    let Some(testbed) = testbed(2, "") else { return };
    let last = Cell::new(None);
    let began = Instant::now();
    let first = Remote::connect(&to("h1"), &ssh(&testbed, "h1"), &|progress| {
        last.set(Some(progress));
    });
    let first = first.expect("connected");
    println!("connected, with the binary copied: {:?}", began.elapsed());
    let bytes = fs::metadata(TOY).expect("there").len();
    let all = Progress {
        sent: bytes,
        total: bytes,
    };
    assert_eq!(last.take(), Some(all));
    assert_eq!(agents(&testbed, "h1").len(), 1, "and nothing half");
    drop(first);
    let began = Instant::now();
    let h1 = Remote::connect(&to("h1"), &ssh(&testbed, "h1"), &|progress| {
        last.set(Some(progress));
    });
    let h1 = h1.expect("connected");
    println!("connected, with the binary there: {:?}", began.elapsed());
    assert_eq!(last.take(), None, "it was there");
    let h2 = connect(&testbed, "h2");
    for (number, remote) in [(1, &h1), (2, &h2)] {
        assert_eq!(remote.address(), address(number));
        assert_eq!(
            remote.hello().hostname.as_deref(),
            Some(format!("h{number}").as_str())
        );
        let own = remote.hello().hash.clone().expect("known");
        assert_eq!(
            own,
            agents(&testbed, &format!("h{number}"))[0]
                .file_name()
                .expect("a name")
                .to_string_lossy()
        );
    }
    let shortest = (0..16).map(|_| {
        let sample = h1.clock_sample().expect("a sample");
        sample.received - sample.sent
    });
    println!("shortest round trip over ssh: {:?}", shortest.min());
    drop((h1, h2));
    for host in ["h1", "h2"] {
        assert_eq!(
            works(&testbed, host),
            0,
            "{host}: its folder is removed with the connection"
        );
    }
}

#[test]
fn processes_and_files_are_there_as_they_are_here() {
    let Some(testbed) = testbed(2, "") else { return };
    let (h1, h2) = (connect(&testbed, "h1"), connect(&testbed, "h2"));
    // Its service is reachable at its address from the other host.
    let port = h1.free_port().expect("a port");
    let toy = Toy::without_groups();
    let mut service = h1
        .start(&toy.spec(&["pour", &port.to_string(), "1000"]))
        .expect("started");
    until("it listens", || service.log_tail(1) == ["ready"]);
    let fetch = format!(
        "exec 3<>/dev/tcp/{}/{port}; echo hi >&3; head -c 1000 <&3 | wc -c",
        address(1)
    );
    let output = testbed.run("h2", &format!("bash -c '{fetch}'"));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1000");
    service.begin_window().expect("begun");
    assert!(service.end_window().expect("ended").resources.cpu_ns.is_some());
    service.rest().expect("rests");
    service.wake().expect("wakes");
    assert_eq!(service.stop().expect("stopped").signal, Some(15));
    let mut spec = toy.spec(&["echo"]);
    spec.stdio = Stdio::Piped;
    let mut echo = h2.start(&spec).expect("started");
    let (mut input, mut output) = echo.take_pipes().expect("pipes");
    input.write_all(b"hello\n").expect("written");
    drop(input);
    let mut text = String::new();
    output.read_to_string(&mut text).expect("to the end");
    assert_eq!(text, "hello\n");
    let began = Instant::now();
    let sent = h2
        .put(Path::new(TOY), Path::new("bin/toy"), &|_| {})
        .expect("put");
    println!("{} bytes over ssh: {:?}", sent.bytes, began.elapsed());
    assert_eq!(
        fs::read(&sent.path).expect("there"),
        fs::read(TOY).expect("there")
    );
    drop((service, echo, h1, h2));
    for host in ["h1", "h2"] {
        assert_eq!(
            works(&testbed, host),
            0,
            "{host}: its folder is removed with the connection"
        );
    }
    assert_eq!(toy.leftovers(), Vec::<i32>::new());
}

#[test]
fn each_way_not_to_get_there_has_its_advice() {
    let Some(testbed) = testbed(1, "") else { return };
    let with = |config: &str| {
        let mut ssh = ssh(&testbed, "h1");
        ssh.command = testbed.ssh_with(config);
        refused("app", &ssh)
    };
    let contains = |text: &str, words: &[&str]| {
        for word in ["cannot reach app", words[0], words[1]] {
            assert!(text.contains(word), "{word}: {text}");
        }
    };
    testbed.config("stranger.conf", "stranger", "known_hosts");
    contains(&with("stranger.conf"), &["Permission denied", "ssh-add"]);
    fs::write(testbed.path("no_hosts"), "").expect("written");
    testbed.config("unknown.conf", "id", "no_hosts");
    contains(
        &with("unknown.conf"),
        &["Host key verification failed", "log in once by hand"],
    );
    let other = fs::read_to_string(testbed.path("stranger.pub")).expect("a key");
    fs::write(testbed.path("changed"), format!("{} {other}", address(1))).expect("written");
    testbed.config("changed.conf", "id", "changed");
    contains(
        &with("changed.conf"),
        &["Host key verification failed", "ssh-keygen -R"],
    );
    contains(
        &with("no-such.conf"),
        &["Can't open user config file", "configuration"],
    );
    let mut ssh = ssh(&testbed, "h1");
    ssh.command.extend(["-p", "2222"].map(str::to_owned));
    contains(&refused("app", &ssh), &["Connection refused", "is sshd running"]);
    ssh.command = testbed.ssh();
    ssh.within = Duration::from_secs(2);
    ssh.host = "h9".to_owned();
    let began = Instant::now();
    let text = refused("app", &ssh);
    assert!(text.contains("switched on") && began.elapsed() < TIME, "{text}");
    ssh.command = vec!["no-such-ssh".to_owned()];
    contains(&refused("app", &ssh), &["`no-such-ssh`", "install the OpenSSH"]);
}

#[test]
fn a_host_that_is_not_as_it_should_be_is_told() {
    let Some(testbed) = testbed(1, "") else { return };
    // Another CPU architecture.
    let uname = "#!/bin/sh\ncase $1 in -s) echo Linux ;; *) echo aarch64 ;; esac\n";
    testbed.program("h1", "uname", uname);
    let text = refused("app", &ssh(&testbed, "h1"));
    assert!(
        text.contains("it is aarch64, but") && text.contains("`program = …`"),
        "{text}"
    );
    let darwin = "#!/bin/sh\necho Darwin\n";
    testbed.program("h1", "uname", darwin);
    let text = refused("app", &ssh(&testbed, "h1"));
    assert!(text.contains("Darwin") && text.contains("Linux only"), "{text}");
    fs::remove_file(testbed.of("h1", "bin").join("uname")).expect("removed");
    // A copy that is corrupted in transit.
    testbed.program("h1", "head", "#!/bin/sh\nexec /usr/bin/head -c 1000\n");
    let text = refused("app", &ssh(&testbed, "h1"));
    assert!(text.contains("is not what was sent"), "{text}");
    assert_eq!(
        agents(&testbed, "h1"),
        Vec::<PathBuf>::new(),
        "no partial file remains"
    );
    fs::remove_file(testbed.of("h1", "bin").join("head")).expect("removed");
    // A binary that does not start there.
    let mut broken = ssh(&testbed, "h1");
    let binary = testbed.path("broken");
    let mut bytes = fs::read(TOY).expect("there");
    let at = bytes
        .windows(9)
        .position(|word| word == b"/lib64/ld")
        .expect("a loader");
    bytes[at + 1] = b'X';
    fs::write(&binary, bytes).expect("written");
    broken.binary = Some(binary);
    let text = refused("app", &broken);
    assert!(text.contains("static"), "{text}");
    // A login script may print something. One that prevents the login is reported.
    let login = testbed.of("h1", "home").join(".bashrc");
    fs::write(&login, "echo Welcome to h1; printf 'no end of line'\n").expect("written");
    connect(&testbed, "h1").free_port().expect("a port");
    fs::write(&login, "echo Maintenance until noon; exit 0\n").expect("written");
    let text = refused("app", &ssh(&testbed, "h1"));
    assert!(
        text.contains("`Maintenance until noon`") && text.contains("login script"),
        "{text}"
    );
}

#[test]
fn a_full_disk_is_told() {
    let Some(testbed) = testbed(1, "mount -t tmpfs -o size=64k tmpfs $HOME") else {
        return;
    };
    let text = refused("app", &ssh(&testbed, "h1"));
    assert!(text.contains("full"), "{text}");
    let output = testbed.run("h1", "find $HOME -type f");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "",
        "no partial file remains"
    );
}

#[test]
fn too_much_is_not_even_begun() {
    let Some(testbed) = testbed(1, "mount -t tmpfs -o size=40m tmpfs $HOME") else {
        return;
    };
    let remote = connect(&testbed, "h1");
    let large = testbed.path("large");
    fs::File::create(&large)
        .and_then(|file| file.set_len(100 << 20))
        .expect("made");
    for to in [Some(Path::new("large")), None] {
        let error = match to {
            Some(to) => remote.put(&large, to, &|_| {}),
            None => remote.keep(&large, &|_| {}),
        };
        let error = error.expect_err("no room");
        assert!(matches!(error, HostError::NoRoom { .. }), "{error:?}");
        assert!(error.to_string().contains("h1 has"), "{error}");
    }
    remote.free_port().expect("it goes on");
}

#[test]
fn a_killed_agent_leaves_nothing_there() {
    let Some(testbed) = testbed(1, "") else { return };
    let remote = connect(&testbed, "h1");
    let toy = Toy::without_groups();
    let mut process = remote.start(&toy.spec(&["tree"])).expect("started");
    until("four processes run", || toy.leftovers().len() >= 4);
    assert!(
        testbed
            .run("h1", &format!("kill -9 {}", remote.hello().pid))
            .status
            .success()
    );
    let error = process.stop().expect_err("lost");
    assert!(
        error.is_lost() && error.to_string().contains("connection to h1"),
        "{error}"
    );
    until("nothing is left", || toy.leftovers().is_empty());
}

#[test]
fn a_killed_controller_leaves_nothing_there() {
    let Some(testbed) = testbed(1, "") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().display().to_string();
    let mut child = Command::new(TOY)
        .args(["control", &mark, "h1"])
        .args(testbed.ssh())
        .spawn()
        .expect("the toy runs");
    until("four processes run", || marked(&mark).len() >= 4);
    assert_eq!(works(&testbed, "h1"), 1);
    child.kill().expect("killed");
    child.wait().expect("waited for");
    until_within(Duration::from_secs(10), "nothing is left", || {
        marked(&mark).is_empty()
    });
    until("its folder is gone", || works(&testbed, "h1") == 0);
}

#[test]
fn a_host_that_is_switched_off_is_lost() {
    let Some(mut testbed) = testbed(2, "") else { return };
    let (h1, h2) = (connect(&testbed, "h1"), connect(&testbed, "h2"));
    let toy = Toy::without_groups();
    let mut process = h1.start(&toy.spec(&["tree"])).expect("started");
    testbed.switch_off(1);
    until("it is known", || h1.lost().is_some());
    assert!(process.ended().is_some() && process.begin_window().is_err());
    assert!(
        h1.lost()
            .is_some_and(|error| error.to_string().contains("connection to h1"))
    );
    h2.free_port().expect("the other one goes on");
    until("nothing is left", || toy.leftovers().is_empty());
}

#[test]
fn a_short_cut_is_survived_and_a_long_one_ends_both_sides() {
    let Some(testbed) = testbed(1, "") else { return };
    let remote = connect(&testbed, "h1");
    let toy = Toy::without_groups();
    let mut process = remote.start(&toy.spec(&["tree"])).expect("started");
    until("four processes run", || toy.leftovers().len() >= 4);
    testbed.cut("h1");
    testbed.until_a_cut_is_felt(1);
    testbed.mend("h1");
    process.begin_window().expect("it goes on");
    assert!(remote.lost().is_none() && process.ended().is_none());
    testbed.cut("h1");
    let began = Instant::now();
    // Both sides must detect it by themselves.
    let error = process.end_window().expect_err("lost").to_string();
    assert!(
        error.contains("connection to h1") && error.contains("received nothing from it"),
        "{error}"
    );
    println!("the controller gave it up after {:?}", began.elapsed());
    until("nothing is left", || toy.leftovers().is_empty());
    until("its folder is gone", || works(&testbed, "h1") == 0);
    println!("the host was empty after {:?}", began.elapsed());
    testbed.mend("h1");
    connect(&testbed, "h1").free_port().expect("a new connection");
}

#[test]
fn two_runs_on_one_host_refuse_each_other() {
    let Some(testbed) = testbed(2, "") else { return };
    let cpus = Cpus::from(vec![0]);
    let (one, two) = (connect(&testbed, "h1"), connect(&testbed, "h1"));
    let _held = one.claim(&cpus).expect("free");
    let error = two.claim(&cpus).expect_err("taken").to_string();
    assert!(
        error.contains("CPU 0 of h1") && error.contains("`a test` (process"),
        "{error}"
    );
    connect(&testbed, "h2").claim(&cpus).expect("another host");
}
