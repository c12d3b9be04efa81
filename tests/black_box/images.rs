//! Services in container images: with podman if it can run containers here, and with a fake docker.

use crate::common::{Checkout, CommandOutput, until};
use crate::skip::skipped;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Static programs, for images that contain nothing else.
pub(crate) struct Programs {
    folder: TempDir,
}

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

impl Programs {
    /// The server of `c-epoll`, and a program with faults. The error says why they cannot be built here.
    fn make() -> Result<Self, String> {
        let programs = Self {
            folder: TempDir::new().expect("a temporary folder"),
        };
        let sources = [
            (
                "server",
                vec!["services/c-epoll/main.c", "services/c-epoll/request.c"],
            ),
            ("wrong", vec!["tests/toy/contained.c"]),
        ];
        for (name, files) in sources {
            let made = Command::new("cc")
                .args(["-static", "-O1", "-pthread", "-o"])
                .arg(programs.path(name))
                .args(files)
                .current_dir(REPOSITORY)
                .output();
            match made {
                Ok(output) if output.status.success() => {}
                Ok(output) => return Err(format!("cc -static: {}", last_line(&output.stderr))),
                Err(error) => return Err(format!("cc: {error}")),
            }
        }
        Ok(programs)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().last().unwrap_or("it failed").to_owned()
}

/// The engine setting of prony, and the programs of the images.
pub(crate) struct Engine {
    pub(crate) words: String,
    pub(crate) programs: Programs,
}

/// podman if it can run a container here; otherwise reports that the test is skipped, and why.
pub(crate) fn engine() -> Option<&'static Engine> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    match ENGINE.get_or_init(probe) {
        Ok(engine) => Some(engine),
        Err(reason) => {
            skipped(reason);
            None
        }
    }
}

/// Actually runs a container: if podman's default runtime fails, another may work.
fn probe() -> Result<Engine, String> {
    let version = Command::new("podman").arg("--version").output();
    version.map_err(|error| format!("no podman on this machine ({error})"))?;
    let programs = Programs::make()?;
    let image = "localhost/prony/probe:1";
    std::fs::write(programs.path("Containerfile"), containerfile("wrong")).expect("a file");
    let built = Command::new("podman")
        .args(["build", "--quiet", "--tag", image])
        .arg(programs.folder.path())
        .output()
        .expect("podman starts");
    if !built.status.success() {
        return Err(format!("podman builds no image: {}", last_line(&built.stderr)));
    }
    let mut reason = String::new();
    for words in ["podman", "podman --runtime runc"] {
        let limits = "--ulimit nofile=$(ulimit -Sn):$(ulimit -Hn) --ulimit nproc=1000:1000";
        let line = format!("{words} run --rm --network host {limits} {image}");
        let ran = Command::new("sh").args(["-c", &line]).output().expect("sh");
        if ran.status.code() == Some(3) {
            return Ok(Engine {
                words: words.to_owned(),
                programs,
            });
        }
        reason = format!("`{words}` runs no container here: {}", last_line(&ran.stderr));
    }
    Err(reason)
}

fn containerfile(program: &str) -> String {
    format!("FROM scratch\nCOPY {program} /{program}\nENTRYPOINT [\"/{program}\"]\n")
}

/// A checkout with a service for each name, defined by these lines, and a suite of them.
fn checkout(rounds: u32, services: &[(&str, &str)]) -> Checkout {
    let checkout = Checkout::new(rounds, &[]);
    for (name, lines) in services {
        let text = format!(
            "name = \"{name}\"\ntitle = \"{name}\"\nlanguage = \"C\"\nframework = \"epoll\"\nclass = \"stripped\"\n\
             contracts = [\"hello\"]\nversion = \"1\"\n{lines}\n[[variant]]\nname = \"current\"\n"
        );
        checkout.write(&format!("services/{name}/service.toml"), &text);
    }
    let names: Vec<String> = services.iter().map(|(name, _)| format!("{name:?}")).collect();
    let suite = std::fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    let suite = suite.replace("services = []", &format!("services = [{}]", names.join(", ")));
    checkout.write("suites/toys.toml", &suite);
    checkout
}

/// The same, with an image of this program in each service that is built.
fn with_images(engine: &Engine, rounds: u32, services: &[(&str, &str, &str)]) -> Checkout {
    let lines: Vec<(&str, &str)> = services.iter().map(|(name, lines, _)| (*name, *lines)).collect();
    let checkout = checkout(rounds, &lines);
    for (name, _, program) in services {
        let folder = checkout.path(&format!("services/{name}"));
        std::fs::write(folder.join("Containerfile"), containerfile(program)).expect("a file");
        std::fs::copy(engine.programs.path(program), folder.join(program)).expect("the program");
    }
    checkout
}

/// Inserts these lines before the group of the suite.
fn limited(checkout: &Checkout, lines: &str) {
    let suite = std::fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    let suite = suite.replace("[[group]]", &format!("{lines}\n\n[[group]]"));
    checkout.write("suites/toys.toml", &suite);
}

const BUILT: &str = "containerfile = \"Containerfile\"";

fn command(checkout: &Checkout, engine: &str, arguments: &[&str]) -> Command {
    let mut command = checkout.command(arguments);
    command.env("PRONY_CONTAINER_ENGINE", engine);
    command
}

fn prony(checkout: &Checkout, engine: &str, arguments: &[&str]) -> CommandOutput {
    let output = command(checkout, engine, arguments).output();
    CommandOutput::of(&output.expect("the binary starts"))
}

const RUN: [&str; 6] = ["run", "toys", "--json", "--seed", "1", "--keep-disturbed"];

fn row<'a>(report: &'a Value, service: &str) -> &'a Value {
    let rows = report["groups"][0]["services"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["service"] == service);
    row.unwrap_or_else(|| panic!("no row of {service}: {report}"))
}

fn podman(arguments: &[&str]) -> String {
    let output = Command::new("podman").args(arguments).output().expect("podman");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Containers of a prony, identified by their names.
fn containers(of: u32) -> Vec<String> {
    let all = podman(&["ps", "--all", "--format", "{{.Names}}"]);
    let own = format!("prony-{of}.");
    let names = all.lines().filter(|name| name.starts_with(&own));
    names.map(str::to_owned).collect()
}

/// The first process of a running container of a prony.
fn first_process(of: u32) -> Option<i32> {
    let name = containers(of).pop()?;
    let pid = podman(&["container", "inspect", "--format", "{{.State.Pid}}", &name]);
    pid.parse().ok().filter(|pid| *pid > 0)
}

fn cpus_of(pid: i32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap_or_default().trim().to_owned()
}

/// Waits until a container of a prony runs its own program.
fn until_it_runs(child: &Child) -> i32 {
    let mut found = None;
    until("a container runs", || {
        let pid = first_process(child.id());
        found = pid.filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.starts_with(b"/server")
        });
        found.is_some()
    });
    found.expect("invariant: waited for")
}

#[test]
fn an_image_is_built_and_measured_as_a_process_is() {
    let Some(engine) = engine() else { return };
    let checkout = with_images(engine, 2, &[("alone", BUILT, "server")]);
    let checked = prony(&checkout, &engine.words, &["check", "alone"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let child = command(&checkout, &engine.words, &RUN)
        .spawn()
        .expect("it starts");
    let (prony_id, pid) = (child.id(), until_it_runs(&child));
    let cpus = cpus_of(pid);
    let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(containers(prony_id).is_empty(), "a container is left");
    assert!(
        !Path::new(&format!("/proc/{pid}")).exists(),
        "its process is left"
    );
    let report = ended.json();
    let row = row(&report, "alone");
    assert!(row["excluded"].is_null(), "{row}");
    let of_service = &row["details"]["service_cpus"];
    let wanted: Vec<String> = (of_service.as_array().expect("CPUs").iter())
        .map(ToString::to_string)
        .collect();
    if wanted.len() == 1 {
        assert_eq!(cpus, wanted[0], "it may use other CPUs");
    }
    let cpu = row["cpu_ns_per_request"]["point"].as_f64();
    assert!(cpu.is_some_and(|cpu| (500.0..1e6).contains(&cpu)), "{row}");
    let memory = row["memory_bytes_peak"]["point"].as_f64();
    assert!(memory.is_some_and(|memory| (1e4..1e8).contains(&memory)), "{row}");
    assert!(row["start_ms"]["point"].as_f64().is_some(), "{row}");
    let service = &report["services"][0];
    let image = service["image"].as_str().unwrap_or_default();
    assert!(image.contains("@sha256:"), "{service}");
    assert!(
        report["environment"]["runtimes"]["podman"].is_string(),
        "{report}"
    );
    let cleaned = prony(&checkout, &engine.words, &["clean", "builds"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    let name = image.split_once('@').map_or("", |(name, _)| name);
    assert_eq!(
        podman(&["images", "--quiet", name]),
        "",
        "the image {name} is left"
    );
}

/// The base image is part of what is measured, although its name stays.
#[test]
fn another_base_image_is_another_build() {
    let Some(engine) = engine() else { return };
    let checkout = with_images(engine, 1, &[("based", BUILT, "server")]);
    let base = format!("localhost/prony/base-{}:1", std::process::id());
    let folder = tempfile::tempdir().expect("a folder");
    let make_base = |content: &str| {
        std::fs::write(
            folder.path().join("Containerfile"),
            "FROM scratch\nCOPY data /data\n",
        )
        .expect("a file");
        std::fs::write(folder.path().join("data"), content).expect("a file");
        let place = folder.path().to_string_lossy().into_owned();
        podman(&["build", "--quiet", "--tag", &base, &place]);
    };
    let file = checkout.path("services/based/Containerfile");
    let text = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, text.replace("scratch", &base)).expect("a file");
    let builds = || {
        let checked = prony(&checkout, &engine.words, &["check", "based"]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        let builds = std::fs::read_dir(checkout.path(".prony/build")).expect("builds");
        let builds = builds.flatten().filter(|entry| entry.path().is_dir());
        builds
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("based-"))
            .count()
    };
    make_base("one");
    assert_eq!(builds(), 1);
    assert_eq!(builds(), 1, "nothing has changed");
    make_base("two");
    assert_eq!(builds(), 2);
    let cleaned = prony(&checkout, &engine.words, &["clean", "builds"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    podman(&["rmi", &base]);
}

#[test]
fn images_take_turns_and_rest() {
    let Some(engine) = engine() else { return };
    let checkout = with_images(engine, 1, &[("one", BUILT, "server"), ("two", BUILT, "server")]);
    let ended = prony(&checkout, &engine.words, &[&RUN[..], &["--turns"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for service in ["one", "two"] {
        assert!(row(&ended.json(), service)["excluded"].is_null(), "{ended:?}");
    }
}

#[test]
fn a_container_gets_a_network_of_its_own() {
    let Some(engine) = engine() else { return };
    let checkout = with_images(engine, 1, &[("apart", BUILT, "server")]);
    limited(&checkout, "[network]\ndelay = \"0ms\"");
    let report = prony(&checkout, &engine.words, &RUN).json();
    let row = row(&report, "apart");
    let reason = row["excluded"]["reason"].as_str().unwrap_or_default();
    // If network namespaces do not work for processes here, they do not work for containers either.
    if reason.contains("network namespace") {
        skipped(reason);
        return;
    }
    assert!(row["excluded"].is_null(), "{row}");
}

#[test]
fn what_goes_wrong_in_a_container_is_told() {
    let Some(engine) = engine() else { return };
    let absent = "image = \"localhost/prony/no-such-image:1\"";
    let eats = "containerfile = \"Containerfile\"\nenv = { MODE = \"eats\" }";
    let services = [
        ("fails", BUILT, "wrong"),
        ("eats", eats, "wrong"),
        ("absent", absent, "wrong"),
        ("right", BUILT, "server"),
    ];
    let checkout = with_images(engine, 1, &services);
    limited(&checkout, "[limits]\nmemory = \"32MiB\"\ncpus = 0.5");
    let report = prony(&checkout, &engine.words, &RUN).json();
    let reason = |service: &str| {
        let reason = row(&report, service)["excluded"]["reason"].as_str();
        reason.unwrap_or_default().to_owned()
    };
    assert!(reason("fails").contains("ended with exit code 3"), "{report}");
    let log = row(&report, "fails")["excluded"]["log_tail"].to_string();
    assert!(log.contains("the mode is none"), "{log}");
    let right = row(&report, "right");
    assert!(right["excluded"].is_null(), "{right}");
    let text = right["warnings"].to_string();
    // Without root, podman may be unable to set limits; then the message is about that.
    if text.contains("not enforced") {
        assert!(text.contains("un as root"), "{text}");
    } else {
        assert!(
            reason("eats").contains("needed more than its 32 MiB of memory"),
            "{report}"
        );
    }
    let absent = reason("absent");
    assert!(
        absent.contains("podman pull localhost/prony/no-such-image:1"),
        "{absent}"
    );
    let doctor = prony(&checkout, &engine.words, &["doctor"]);
    assert!(
        doctor
            .out
            .contains("`podman pull localhost/prony/no-such-image:1`"),
        "{doctor:?}"
    );
}

/// The engine fails, but the image is the cause: its service has failed by its own error.
#[test]
fn an_image_without_its_program_is_at_fault_itself() {
    let Some(engine) = engine() else { return };
    let checkout = with_images(engine, 1, &[("hollow", BUILT, "server")]);
    checkout.write(
        "services/hollow/Containerfile",
        "FROM scratch\nCOPY server /server\nENTRYPOINT [\"/no-such-program\"]\n",
    );
    let ended = prony(&checkout, &engine.words, &RUN);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let report = ended.json();
    let excluded = &row(&report, "hollow")["excluded"];
    let reason = excluded["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("cannot start its container"), "{report}");
    assert!(excluded["fault"].is_null(), "the service's: {excluded}");
    let attempts = || -> u32 {
        let store = rusqlite::Connection::open(checkout.path(".prony/store.db")).expect("the store");
        let count = store.query_row("SELECT count(*) FROM trial", [], |row| row.get(0));
        count.expect("a number")
    };
    assert_eq!(attempts(), 2);
    let resumed = prony(&checkout, &engine.words, &["run", "--resume", "--json"]);
    assert_eq!((resumed.code, attempts()), (Some(3), 2), "{resumed:?}");
}

#[test]
fn killed_prony_leaves_no_container() {
    let Some(engine) = engine() else { return };
    let checkout = with_images(engine, 3, &[("boxed", BUILT, "server")]);
    let start = || {
        command(&checkout, &engine.words, &RUN)
            .spawn()
            .expect("it starts")
    };
    let mut child = start();
    let pid = until_it_runs(&child);
    child.kill().expect("KILL");
    child.wait().expect("it is gone");
    until("no container is left", || containers(child.id()).is_empty());
    until("no process is left", || {
        !Path::new(&format!("/proc/{pid}")).exists()
    });
    // Killed together with its supervisors it cannot clean up; the next run does.
    let mut child = start();
    let pid = until_it_runs(&child);
    let own = child.id();
    let below = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
    child.kill().expect("KILL");
    for supervisor in below.split_whitespace() {
        let _ = Command::new("kill").args(["-KILL", supervisor]).status();
    }
    child.wait().expect("it is gone");
    let checked = prony(&checkout, &engine.words, &["check", "boxed"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    until("no container is left", || containers(own).is_empty());
    until("no process is left", || {
        !Path::new(&format!("/proc/{pid}")).exists()
    });
}

/// The subset of docker that prony uses. Its container is a process of this machine, and it logs its arguments.
const DOCKER: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/told"
case "$1 $2" in
"--version ") echo "Docker version 27.0.1, build 1a2b" ;;
"image inspect")
    [ "$3" = mine:1 ] || { echo "Error response from daemon: No such image: $3" >&2; exit 1; }
    echo '[{"Id": "sha256:0a1b", "RepoDigests": ["mine@sha256:2c3d"], "Config": {"StopSignal": "SIGINT"}}]' ;;
"create "*)
    while [ $# -gt 1 ]; do
        [ "$1" != --env ] || echo "export '$2'" >>"$here/environment"
        [ "$1" != --env-file ] || sed "s/.*/export '&'/" "$2" >>"$here/environment"
        shift
    done ;;
"start --attach")
    . "$here/environment"
    echo $$ >"$here/pid"
    exec python3 "$here/toy.py" ;;
"container inspect")
    case "$4" in *Pid*) cat "$here/pid" 2>/dev/null || echo 0 ;; *) echo false ;; esac ;;
esac
"#;

#[test]
fn docker_is_told_the_same() {
    let checkout = checkout(
        2,
        &[("boxed", "image = \"mine:1\""), ("absent", "image = \"other:1\"")],
    );
    checkout.write("bin/docker", DOCKER);
    std::fs::copy(
        Path::new(REPOSITORY).join("tests/toy/toy.py"),
        checkout.path("bin/toy.py"),
    )
    .expect("the toy");
    let docker = checkout.path("bin/docker");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&docker, mode).expect("executable");
    let ended = prony(&checkout, &docker.display().to_string(), &RUN);
    let report = ended.json();
    let boxed = row(&report, "boxed");
    assert!(boxed["excluded"].is_null(), "{ended:?}");
    assert!(
        boxed["cpu_ns_per_request"]["point"].as_f64() > Some(10_000.0),
        "{boxed}"
    );
    let services = report["services"].to_string();
    assert!(services.contains("mine:1@sha256:2c3d"), "{services}");
    assert_eq!(report["environment"]["runtimes"]["docker"], "27.0.1");
    let reason = row(&report, "absent")["excluded"]["reason"].as_str();
    assert!(
        reason.is_some_and(|reason| reason.contains("`docker pull other:1`")),
        "{report}"
    );
    let told = std::fs::read_to_string(checkout.path("bin/told")).expect("the log of its arguments");
    let create = told
        .lines()
        .find(|line| line.starts_with("create "))
        .expect("a container");
    for part in [
        "--pull never",
        "--network host",
        "--cpuset-cpus ",
        "--label prony.tree=prony-",
        "--env-file ",
        " sha256:0a1b",
    ] {
        assert!(create.contains(part), "no `{part}`: {create}");
    }
    assert!(!create.contains("--pidfile"), "{create}");
    // All users of the machine see arguments.
    assert!(!create.contains("MODE=") && !create.contains("HOST="), "{create}");
    assert!(
        told.lines()
            .any(|line| line.starts_with("rm --force --volumes prony-")),
        "{told}"
    );
    assert!(!told.lines().any(|line| line.starts_with("pull")), "{told}");
    // Its daemon runs in another network namespace than prony.
    limited(&checkout, "[network]\ndelay = \"0ms\"");
    let report = prony(&checkout, &docker.display().to_string(), &RUN).json();
    let reason = row(&report, "boxed")["excluded"]["reason"].as_str();
    assert!(
        reason.is_some_and(|reason| reason.contains("use podman, or leave `[network]` out")),
        "{report}"
    );
}

#[test]
fn what_is_wrong_with_the_lines_of_an_image_is_told() {
    for (lines, line, part) in [
        ("image = \"a:1\"\nrun = \"true\"", 8, "`run` and `image`"),
        (
            "image = \"a:1\"\nurl = \"http://127.0.0.1:1\"",
            8,
            "`url` and `image`",
        ),
        ("image = \"a b\"", 8, "name of an image"),
        ("image = \"-v\"", 8, "name of an image"),
        ("image = \"a:1\"\npid = 1", 9, "give its `url`"),
        ("image = \"a:1\"\nbuild = [\"true\"]", 11, "remove `build`"),
        (
            "containerfile = \"../Containerfile\"",
            8,
            "a file in the service's source",
        ),
        (
            "containerfile = \"/Containerfile\"",
            8,
            "a file in the service's source",
        ),
        ("containerfile = \"Nofile\"", 8, "a file in the service's source"),
        (
            "run = \"true\"\ncontainerfile = \"service.toml\"",
            9,
            "`run` and `containerfile`",
        ),
    ] {
        let checkout = checkout(1, &[("mine", lines)]);
        let ended = checkout.prony(&["check", "mine"]);
        assert_eq!(ended.code, Some(2), "{lines}: {ended:?}");
        assert!(ended.err.contains(part), "{lines}: {}", ended.err);
        assert!(
            ended.err.contains(&format!("service.toml:{line}")),
            "{lines}: {}",
            ended.err
        );
    }
}

#[test]
fn without_an_engine_it_is_said_what_to_do() {
    let checkout = checkout(1, &[("mine", "image = \"a:1\"")]);
    let ended = prony(&checkout, "/no/such/engine", &["check", "mine"]);
    let said = format!("{}{}", ended.out, ended.err);
    assert!(said.contains("not available"), "{said}");
    assert!(
        said.contains("PRONY_CONTAINER_ENGINE is `/no/such/engine`"),
        "{said}"
    );
}
