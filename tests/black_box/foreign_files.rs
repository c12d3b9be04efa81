//! Folders and lock files that somebody else prepared: a command ends by itself, with the right result or an error that says what
//! to do, and touches nothing that it does not own.

use crate::common::{Checkout, CommandOutput, PATIENCE, signal, until};
use crate::skip::skipped;
use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const NOBODY: u32 = 65_534;
/// Holds or tries the locks of CPUs that are given as files, and says what happened.
const LOCKS: &str = "import fcntl, os, sys
for name in sys.argv[1:]:
    file = os.open(name, os.O_RDONLY | (0 if os.path.exists(name) else os.O_CREAT), 0o644)
    try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError: print('taken', flush=True); break
else: print('held', flush=True)
sys.stdin.read()
";

/// The output of a command that must end by itself.
fn ended(mut child: Child) -> CommandOutput {
    let begun = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().expect("killed");
            panic!("it does not end");
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    CommandOutput::of(&child.wait_with_output().expect("its output"))
}

fn service(checkout: &Checkout) -> std::path::PathBuf {
    checkout.path("services/toy-right")
}

#[test]
fn links_to_their_own_folder_are_links_in_the_build() {
    let checkout = Checkout::new(1, &["right"]);
    checkout.add("right", r#""cat lib/part > built""#);
    checkout.write("services/toy-right/real/part", "content");
    for (target, link) in [(".", "one"), (".", "two"), ("real", "lib")] {
        symlink(target, service(&checkout).join(link)).expect("linked");
    }
    let checked = ended(checkout.start(&["check", "toy-right"]));
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let builds = || {
        let folders = fs::read_dir(checkout.path(".prony/build"))
            .expect("builds")
            .flatten();
        folders
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect::<Vec<_>>()
    };
    let [build] = builds().try_into().expect("one build");
    assert_eq!(fs::read_link(build.join("one")).expect("a link"), Path::new("."));
    assert_eq!(fs::read_to_string(build.join("built")).expect("built"), "content");
    // Where a link leads is a part of the sources.
    fs::remove_file(service(&checkout).join("two")).expect("removed");
    symlink("real", service(&checkout).join("two")).expect("linked");
    let again = ended(checkout.start(&["check", "toy-right"]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(builds().len(), 2, "another link is another build");
}

#[test]
fn what_cannot_be_read_is_named_and_nothing_waits_for_it() {
    let checkout = Checkout::new(1, &["right"]);
    let fifo = service(&checkout).join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .expect("mkfifo")
            .success()
    );
    let refused = ended(checkout.start(&["check", "toy-right"]));
    assert_ne!(refused.code, Some(0), "{refused:?}");
    let told = format!("{}{}", refused.out, refused.err);
    assert!(told.contains("toy-right/pipe is a FIFO: remove it"), "{told}");
    // The fingerprint of the sources does not wait either.
    let listed = ended(checkout.start(&["list", "services", "--json", "--fingerprints", "toys"]));
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let cleaned = ended(checkout.start(&["clean"]));
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
}

#[test]
fn a_link_out_of_the_folder_is_refused_and_copies_are_the_way() {
    let checkout = Checkout::new(1, &["right"]);
    checkout.write("shared/part", "content");
    symlink("../../shared", service(&checkout).join("lib")).expect("linked");
    let refused = ended(checkout.start(&["check", "toy-right"]));
    assert_ne!(refused.code, Some(0), "{refused:?}");
    let told = format!("{}{}", refused.out, refused.err);
    for part in [
        "toy-right/lib is a link to ../../shared",
        "`copies` in service.toml",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn hashing_ends_when_it_is_told_to() {
    let checkout = Checkout::new(1, &["right"]);
    let large = service(&checkout).join("large");
    // Sparse: it takes no room, but minutes to read.
    File::create(&large)
        .and_then(|file| file.set_len(60 << 30))
        .expect("written");
    let child = checkout.start(&["check", "toy-right"]);
    let files = format!("/proc/{}/fd", child.id());
    until("it reads the file", || {
        let files = fs::read_dir(&files).into_iter().flatten().flatten();
        files
            .map(|entry| fs::read_link(entry.path()))
            .any(|file| file.is_ok_and(|file| file == large))
    });
    signal(&child, "TERM");
    let stopped = ended(child);
    assert_eq!(stopped.code, Some(143), "{stopped:?}");
}

#[test]
fn a_command_of_another_name_keeps_what_it_uses() {
    let checkout = Checkout::new(20, &["right"]);
    checkout.write(".prony/cache/go/module", "in use");
    let name = checkout.path("prony-0.2.0");
    symlink(env!("CARGO_BIN_EXE_prony"), &name).expect("linked");
    let command = checkout.command(&["run", "toys", "--keep-disturbed"]);
    let mut renamed = Command::new(&name);
    renamed.args(command.get_args()).current_dir(checkout.path(""));
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => renamed.env(key, value),
            None => renamed.env_remove(key),
        };
    }
    let mut running = renamed
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    until("it has a build", || checkout.path(".prony/build").is_dir());
    let cleaned = checkout.prony(&["clean"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    for kept in [
        "kept cache/go: in use by another process",
        &format!("in use by process {}", running.id()),
    ] {
        assert!(cleaned.out.contains(kept), "{kept}: {cleaned:?}");
    }
    assert!(checkout.path(".prony/cache/go/module").exists());
    // Killed, it holds nothing any more.
    running.kill().expect("killed");
    running.wait().expect("it is gone");
    until("nothing runs", || checkout.processes().is_empty());
    let cleaned = checkout.prony(&["clean"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert!(!checkout.path(".prony/cache/go").exists(), "{cleaned:?}");
}

#[test]
fn a_lock_file_that_is_a_link_is_refused_and_its_target_stays() {
    let checkout = Checkout::new(1, &["right"]);
    checkout.write("victim.txt", "precious");
    checkout.write("locks/README", "");
    for cpu in 0..cpus() {
        let lock = checkout.path(&format!("locks/prony-cpu-{cpu}.lock"));
        symlink(checkout.path("victim.txt"), lock).expect("linked");
    }
    let refused = checkout.prony(&["run", "toys", "--keep-disturbed"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(
        refused.err.contains("it is a symbolic link: remove it"),
        "{refused:?}"
    );
    let victim = fs::read_to_string(checkout.path("victim.txt")).expect("there");
    assert_eq!(victim, "precious");
}

/// A file that belongs to one of them cannot be written by the other.
#[test]
fn two_users_exclude_each_other_on_cpus() {
    if !nix::unistd::geteuid().is_root() {
        skipped("a process of another user needs root");
        return;
    }
    let checkout = Checkout::new(1, &["right"]);
    checkout.write("locks/README", "");
    fs::set_permissions(checkout.path(""), Permissions::from_mode(0o755)).expect("set");
    fs::set_permissions(checkout.path("locks"), Permissions::from_mode(0o1777)).expect("set");
    let files: Vec<_> = (0..cpus())
        .map(|cpu| checkout.path(&format!("locks/prony-cpu-{cpu}.lock")))
        .collect();
    let other_user = || {
        let mut python = Command::new("python3");
        python.args(["-c", LOCKS]).args(&files).uid(NOBODY).gid(NOBODY);
        let mut other = python
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut said = String::new();
        BufReader::new(other.stdout.take().expect("piped"))
            .read_line(&mut said)
            .expect("a line");
        (other, said)
    };
    let (mut other, said) = other_user();
    assert_eq!(said, "held\n");
    let refused = checkout.prony(&["run", "toys", "--keep-disturbed"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("is taken by another run of prony"),
        "{refused:?}"
    );
    drop(other.stdin.take());
    other.wait().expect("ended");
    for file in &files {
        fs::remove_file(file).expect("removed");
    }
    let mut own = checkout.start(&["run", "toys", "--keep-disturbed"]);
    until("it holds the CPUs", || {
        files
            .iter()
            .any(|file| fs::read_to_string(file).is_ok_and(|text| text.contains("prony run")))
    });
    let note = files
        .iter()
        .find_map(|file| fs::read_to_string(file).ok().filter(|text| !text.is_empty()));
    assert_eq!(
        note,
        Some(format!("{} prony run\n", own.id())),
        "no arguments: everyone can read it"
    );
    let (mut other, said) = other_user();
    assert_eq!(said, "taken\n");
    drop(other.stdin.take());
    other.wait().expect("ended");
    own.kill().expect("killed");
    own.wait().expect("it is gone");
    until("nothing runs", || checkout.processes().is_empty());
}

fn cpus() -> usize {
    let all = fs::read_dir("/sys/devices/system/cpu").expect("CPUs").flatten();
    let is_cpu = |name: &str| {
        name.strip_prefix("cpu")
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    all.filter(|entry| is_cpu(&entry.file_name().to_string_lossy()))
        .count()
}
