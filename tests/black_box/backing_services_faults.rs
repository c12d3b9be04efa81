//! Faults of a database: its disk, its port, its data, its locks. Each is reported as such, and nothing is left behind.

use crate::backing_services::{DATA, nothing_is_left, process, run, shop};
use crate::common::{Checkout, CommandOutput, Disk, until};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn said(ended: &CommandOutput) -> String {
    let said = format!("{}{}", ended.out, ended.err);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces one part of a file of the checkout.
fn change(checkout: &Checkout, file: &str, from: &str, to: &str) {
    let text = fs::read_to_string(checkout.path(file)).expect("a file");
    assert!(text.contains(from), "{from}");
    checkout.write(file, &text.replace(from, to));
}

#[test]
fn a_disk_that_is_too_small_for_the_seed_is_told() {
    let Some(checkout) = shop("", DATA) else { return };
    let Some(_disk) = Disk::mount(&checkout.path(".prony/backing-services"), "16m") else {
        return;
    };
    let ended = checkout.prony(&["check", "shop"]);
    let told = said(&ended);
    assert_eq!(ended.code, Some(3), "{told}");
    assert!(
        told.contains("backing service `db` (PostgreSQL) cannot be seeded"),
        "{told}"
    );
    assert!(told.contains("No space left on device"), "{told}");
    nothing_is_left(&checkout);
}

/// Waits for the load that is measured: data is reset after the warm-up, which is another load.
fn until_it_is_measured(checkout: &Checkout) {
    let load = || process(checkout, "load --job");
    until("the warm-up has started", || load().is_some());
    let warm_up = load();
    until("the load has started", || {
        load().is_some_and(|pid| Some(pid) != warm_up)
    });
}

/// Fills the disk of a folder.
fn fill(folder: &Path) {
    let mut file = fs::File::create(folder.join("filler")).expect("a file");
    let zeros = vec![0; 1 << 20];
    let full = std::iter::repeat_with(|| file.write_all(&zeros)).find_map(Result::err);
    let full = full.expect("a disk has an end");
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull, "{full}");
}

#[test]
fn a_disk_that_gets_full_under_load_is_no_fault_of_the_service() {
    let schema = format!("{DATA}create table note(text text);\n");
    let Some(checkout) = shop("", &schema) else { return };
    let disk = checkout.path(".prony/backing-services");
    let Some(_mounted) = Disk::mount(&disk, "600m") else {
        return;
    };
    // Each reply needs a new page on the disk.
    let note = "with noted as (insert into note select string_agg(md5(random()::text), '') from generate_series(1, 1000)) select name";
    change(&checkout, "services/shop/shop.py", "select name", note);
    let child = checkout.start(&["run", "shop", "--keep-disturbed"]);
    until_it_is_measured(&checkout);
    fill(&disk);
    let told = said(&CommandOutput::of(&child.wait_with_output().expect("it ends")));
    let why = "infrastructure failure: backing service `db` (PostgreSQL) failed:";
    assert!(told.contains(why), "{told}");
    assert!(told.contains("No space left on device"), "{told}");
    nothing_is_left(&checkout);
}

/// A session that holds an exclusive lock on the table of items until its input is closed.
struct Lock(Child);

impl Lock {
    fn hold(url: &str) -> Self {
        let psql = "exec $(ls /usr/lib/postgresql/*/bin/psql | tail -n 1) -Xq \"$0\"";
        let mut session = Command::new("sh")
            .args(["-c", psql, url])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("psql");
        let input = session.stdin.as_mut().expect("an input");
        input.write_all(b"begin; lock table item;\n").expect("asked");
        Self(session)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A variable in the environment of a process.
fn variable(pid: i32, name: &str) -> String {
    let environment = fs::read(format!("/proc/{pid}/environ")).expect("an environment");
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let mut all = environment.split('\0').filter_map(|one| one.split_once('='));
    let found = all.find(|(key, _)| *key == name).expect("the variable");
    found.1.to_owned()
}

#[test]
fn a_service_that_waits_for_a_lock_is_told_with_what_it_waited_for() {
    let Some(checkout) = shop("", DATA) else { return };
    change(
        &checkout,
        "suites/shop.toml",
        "duration = \"1s\"",
        "duration = \"2s\"",
    );
    change(
        &checkout,
        "suites/shop.toml",
        "contract = \"shop\"",
        "contract = \"shop\"\ntimeout = \"3s\"",
    );
    let child = checkout.start(&["run", "shop", "--keep-disturbed"]);
    until_it_is_measured(&checkout);
    let service = process(&checkout, "shop.py").expect("the service");
    let lock = Lock::hold(&variable(service, "DATABASE_URL"));
    // The checks after the load must not wait as well.
    until("the load is over", || process(&checkout, "load --job").is_none());
    drop(lock);
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    let report = checkout.prony(&["report", "--format", "json"]);
    let told = format!("{} {}", said(&ended), said(&report));
    assert!(told.contains("waited there (lock"), "{told}");
    nothing_is_left(&checkout);
}

#[test]
fn connections_and_waits_are_in_the_report() {
    let Some(checkout) = shop("", DATA) else { return };
    change(
        &checkout,
        "services/shop/shop.py",
        "select name",
        "select pg_sleep(0.02)::text || name",
    );
    let ended = run(&checkout);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let point = &report["groups"][0]["services"][0]["details"]["points"][0];
    let watched = &point["backing_services"][0]["watched"];
    assert!(
        watched["samples"].as_u64().is_some_and(|samples| samples >= 3),
        "{point}"
    );
    let most = watched["connections_most"].as_u64().expect("a number");
    assert!(
        (1..=2).contains(&most),
        "two connections, each with a session: {watched}"
    );
    assert!(watched["connections"].is_object(), "{watched}");
    nothing_is_left(&checkout);
}

#[test]
fn a_port_that_is_taken_meanwhile_is_left_to_whoever_has_it() {
    let Some(checkout) = shop("", DATA) else { return };
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../backing-services/postgresql/backing.toml");
    let own = fs::read_to_string(own).expect("the backing service");
    // The first time, another process is faster.
    let taken = r#"
if mkdir TAKEN 2>/dev/null; then
  python3 -c 'import os, socket, time; taken = socket.create_server((os.environ["HOST"], int(os.environ["PORT"]))); open("LISTENS", "w"); time.sleep(600)' &
  until [ -e LISTENS ]; do sleep 0.01; done
fi
exec "#;
    let marks = checkout.path("marks");
    fs::create_dir(&marks).expect("a folder");
    // PostgreSQL writes there as another user.
    let open = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777);
    fs::set_permissions(&marks, open).expect("a mode");
    let taken = taken
        .replace("TAKEN", &marks.join("taken").to_string_lossy())
        .replace("LISTENS", &marks.join("listens").to_string_lossy());
    let line = "\nexec \"$POSTGRESQL_HOME/bin/postgres\"";
    assert!(own.contains(line), "{own}");
    let changed = own.replace(line, &format!("{taken}\"$POSTGRESQL_HOME/bin/postgres\""));
    checkout.write("backing-services/postgresql/backing.toml", &changed);
    let ended = checkout.prony(&["check", "shop"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(marks.join("listens").exists(), "another process was faster");
    nothing_is_left(&checkout);
}

#[test]
fn data_that_another_run_removed_is_made_again() {
    let Some(checkout) = shop("", DATA) else { return };
    change(&checkout, "suites/shop.toml", "rounds = 1", "rounds = 2");
    let child = checkout.start(&["run", "shop", "--json", "--keep-disturbed"]);
    until("the first trial runs", || {
        process(&checkout, "load --job").is_some()
    });
    fs::remove_dir_all(checkout.path(".prony/backing-services/kept")).expect("kept data");
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json()["groups"][0]["services"][0]["trials"], 2, "{ended:?}");
    nothing_is_left(&checkout);
}

#[test]
fn two_runs_at_once_share_the_data_of_one_seed() {
    let Some(checkout) = shop("", DATA) else { return };
    // Each with its own locks, as if on its own CPUs.
    let pair = ["one", "two"].map(|name| {
        let mut run = checkout.command(&["run", "shop", "--json", "--keep-disturbed", "--seed", "7"]);
        run.env("PRONY_LOCKS", checkout.path(name));
        run.env("PRONY_STORE", checkout.path(&format!("{name}.db")));
        run.spawn().expect("the binary starts")
    });
    for one in pair {
        let ended = CommandOutput::of(&one.wait_with_output().expect("it ends"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.json()["groups"][0]["services"][0]["trials"], 1, "{ended:?}");
    }
    let kept = fs::read_dir(checkout.path(".prony/backing-services/kept")).expect("kept data");
    let kept: Vec<String> = kept
        .flatten()
        .map(|one| one.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(kept.len() == 1 && kept[0].ends_with("-7"), "{kept:?}");
    nothing_is_left(&checkout);
}
