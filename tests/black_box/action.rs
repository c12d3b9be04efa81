//! Runs the steps of `action.yml` and `comment/action.yml` as a CI runner would, with a fake server for GitHub.

use crate::common::{Checkout, CommandOutput, root};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// The state of the server.
#[derive(Default)]
struct GithubState {
    comments: Vec<Value>,
    /// Method and path of each request that changes something.
    changes: Vec<String>,
    /// The open pull requests.
    pulls: Vec<Value>,
    /// The account of the token; without, the token may not ask for it.
    user: Option<&'static str>,
    /// Whether comments may not be changed.
    is_locked: bool,
    /// Name and content of the artefacts of the measuring run, in the order of their upload.
    artefacts: Vec<(String, Vec<u8>)>,
    files: BTreeMap<String, Vec<u8>>,
}

/// The measuring run.
const RUN: u64 = 4242;
/// The commit that it measured.
const HEAD: &str = "00112233445566778899aabbccddeeff00112233";

/// A server with the comments of one pull request, the artefacts of one run, and files.
struct Github {
    address: String,
    state: Arc<Mutex<GithubState>>,
}

impl Github {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("bound"));
        let state = Arc::new(Mutex::new(GithubState::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let _ = answer(connection, &shared);
            }
        });
        Self { address, state }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, GithubState> {
        self.state.lock().expect("no panic")
    }
}

fn answer(mut connection: TcpStream, state: &Mutex<GithubState>) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut authorized) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim().to_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        authorized |= header == "authorization: bearer a-token";
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut state = state.lock().expect("no panic");
    let (status, content) = state.answer((method, path), authorized, &body);
    let head = format!(
        "HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(&content)
}

impl GithubState {
    fn answer(&mut self, (method, path): (&str, &str), authorized: bool, body: &[u8]) -> (u16, Vec<u8>) {
        if let Some(file) = self.files.get(path) {
            return (200, file.clone());
        }
        let repository = "/repos/someone/something";
        let list = "/repos/someone/something/issues/7/comments";
        let own = "/repos/someone/something/issues/comments/";
        if !authorized {
            return (if path.starts_with("/repos") { 401 } else { 404 }, Vec::new());
        }
        if path == "/user" {
            return match self.user {
                Some(login) => (200, json!({ "login": login }).to_string().into_bytes()),
                None => (403, Vec::new()),
            };
        }
        if method == "GET" && path == "/repos/someone/something/pulls/7" {
            let pull = self.pulls.iter().find(|pull| pull["number"] == 7);
            return (200, pull.expect("the pull request").to_string().into_bytes());
        }
        if method == "GET" && path.starts_with(list) {
            return (200, json!(self.comments).to_string().into_bytes());
        }
        if path.starts_with(&format!("{repository}/pulls?")) {
            assert_eq!(
                path,
                format!("{repository}/pulls?state=open&head=stranger%3Afast%26loose")
            );
            return (200, json!(self.pulls).to_string().into_bytes());
        }
        if let Some(name) = path.strip_prefix(&format!("{repository}/actions/runs/{RUN}/artifacts?name=")) {
            let all = self
                .artefacts
                .iter()
                .enumerate()
                .filter(|(_, (known, _))| known == name);
            let all: Vec<_> = all.map(|(id, _)| json!({ "id": id })).collect();
            return (200, json!({ "artifacts": all }).to_string().into_bytes());
        }
        if let Some(id) = path.strip_prefix(&format!("{repository}/actions/artifacts/")) {
            let id: usize = id
                .strip_suffix("/zip")
                .and_then(|id| id.parse().ok())
                .expect("an artefact");
            return (200, self.artefacts[id].1.clone());
        }
        self.changes.push(format!("{method} {path}"));
        let text = serde_json::from_slice::<Value>(body).expect("JSON")["body"].clone();
        if method == "POST" && path == list {
            let id = 100 + self.comments.len();
            let login = self.user.unwrap_or("github-actions[bot]");
            self.comments
                .push(json!({ "id": id, "body": text, "user": { "login": login } }));
            return (201, self.comments.last().expect("one").to_string().into_bytes());
        }
        if self.is_locked {
            return (403, Vec::new());
        }
        let id: u64 = path.strip_prefix(own).and_then(|id| id.parse().ok()).unwrap_or(0);
        match self.comments.iter_mut().find(|one| one["id"] == id) {
            Some(one) if method == "PATCH" => {
                one["body"] = text;
                (200, one.to_string().into_bytes())
            }
            _ => (404, Vec::new()),
        }
    }
}

fn nothing_is_left(checkout: &Checkout) {
    let left = checkout.processes();
    assert!(left.is_empty(), "{left:#?}");
}

/// The result of a job.
struct Job {
    code: i32,
    summary: String,
    log: String,
    outputs: BTreeMap<String, String>,
}

/// Runs the steps of `action.yml` one after the other.
struct Runner<'a> {
    checkout: &'a Checkout,
    github: &'a Github,
    inputs: Vec<(&'a str, &'a str)>,
}

impl Runner<'_> {
    fn run(&self, base: &str) -> Job {
        let text = std::fs::read_to_string(root().join("action.yml")).expect("action.yml");
        let action: Value = serde_yaml_ng::from_str(&text).expect("YAML");
        let mut inputs: BTreeMap<String, String> = BTreeMap::new();
        for (name, input) in action["inputs"].as_object().expect("inputs") {
            inputs.insert(
                format!("inputs.{name}"),
                input["default"].as_str().unwrap_or_default().to_owned(),
            );
        }
        for (name, value) in &self.inputs {
            let known = inputs.insert(format!("inputs.{name}"), (*value).to_owned());
            assert!(known.is_some(), "action.yml has no input `{name}`");
        }
        // No step may ask for the token.
        let mut known = inputs;
        let temp = tempfile::tempdir().expect("a folder");
        let event = json!({ "pull_request": { "number": 7, "base": { "sha": base } } });
        std::fs::write(temp.path().join("event.json"), event.to_string()).expect("written");
        let mut job = Job {
            code: 0,
            summary: String::new(),
            log: String::new(),
            outputs: BTreeMap::new(),
        };
        for step in action["runs"]["steps"].as_array().expect("steps") {
            if job.code != 0 && step["if"] != "${{ !cancelled() }}" {
                continue;
            }
            if step["uses"] == "actions/cache@v4" {
                assert_eq!(step["with"]["path"], "${{ inputs.directory }}/.prony/cache");
                continue;
            }
            if step["uses"].is_string() {
                self.upload(step, &known);
                continue;
            }
            let ended = self.step(step, &known, temp.path());
            let _ = write!(job.log, "{}{}", ended.out, ended.err);
            if job.code == 0 {
                job.code = ended.code.expect("an exit code");
            }
            let id = step["id"].as_str().expect("an id");
            let file = temp.path().join("output");
            for line in std::fs::read_to_string(&file).unwrap_or_default().lines() {
                let (name, value) = line.split_once('=').expect("name=value");
                known.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
            let _ = std::fs::remove_file(file);
        }
        for (name, output) in action["outputs"].as_object().expect("outputs") {
            let value = filled(output["value"].as_str().expect("text"), &known);
            job.outputs.insert(name.clone(), value);
        }
        job.summary = std::fs::read_to_string(temp.path().join("summary")).unwrap_or_default();
        job
    }

    /// `actions/upload-artifact`: a zip with the file.
    fn upload(&self, step: &Value, known: &BTreeMap<String, String>) {
        assert_eq!(step["uses"], "actions/upload-artifact@v4");
        assert_eq!(step["if"], "${{ !cancelled() }}");
        let input = |name: &str| filled(step["with"][name].as_str().expect("text"), known);
        let zip = zipped(Path::new(&input("path")));
        self.github.state().artefacts.push((input("name"), zip));
    }

    /// The job that comments, for this event. It has a folder of its own, and no project.
    fn comment(&self, event: &Value) -> CommandOutput {
        let text = std::fs::read_to_string(root().join("comment/action.yml")).expect("comment/action.yml");
        let action: Value = serde_yaml_ng::from_str(&text).expect("YAML");
        let [step] = action["runs"]["steps"].as_array().expect("steps").as_slice() else {
            panic!("one step: {action}");
        };
        let temp = tempfile::tempdir().expect("a folder");
        std::fs::write(temp.path().join("event.json"), event.to_string()).expect("written");
        let mut known = BTreeMap::from([("github.token".to_owned(), "a-token".to_owned())]);
        for (name, input) in action["inputs"].as_object().expect("inputs") {
            let default = input["default"].as_str().unwrap_or_default();
            known.insert(format!("inputs.{name}"), default.to_owned());
        }
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c"])
            .arg(step["run"].as_str().expect("a script"))
            .current_dir(temp.path())
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_ACTION_PATH", root().join("comment"))
            .env("GITHUB_EVENT_PATH", temp.path().join("event.json"))
            .env("GITHUB_API_URL", &self.github.address)
            .env("GITHUB_REPOSITORY", "someone/something")
            .env("GITHUB_RUN_ID", RUN.to_string())
            .env("RUNNER_TEMP", temp.path());
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            command.env(name, filled(value.as_str().expect("text"), &known));
        }
        CommandOutput::of(&command.output().expect("bash is needed"))
    }

    fn step(&self, step: &Value, known: &BTreeMap<String, String>, temp: &Path) -> CommandOutput {
        assert_eq!(step["shell"], "bash");
        let mut command = Command::new("bash");
        command
            .args([
                "--noprofile",
                "--norc",
                "-eo",
                "pipefail",
                "-c",
                step["run"].as_str().expect("a script"),
            ])
            .current_dir(self.checkout.path(""))
            .env("PRONY_LOCKS", self.checkout.path("locks"))
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_ACTION_PATH", root())
            .env("GITHUB_WORKSPACE", self.checkout.path(""))
            .env("GITHUB_EVENT_PATH", temp.join("event.json"))
            .env("GITHUB_STEP_SUMMARY", temp.join("summary"))
            .env("GITHUB_OUTPUT", temp.join("output"))
            .env("GITHUB_API_URL", &self.github.address)
            .env("GITHUB_REPOSITORY", "someone/something")
            .env("PRONY_RELEASES", &self.github.address)
            .env("RUNNER_TEMP", temp)
            .env("GITHUB_ENV", temp.join("env"))
            .env("GITHUB_PATH", temp.join("path"))
            .env("ACTIONS_RUNTIME_TOKEN", "of the runner")
            .env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of the runner")
            .env("NO_COLOR", "1")
            .env_remove("PRONY_STORE")
            .env_remove("GITHUB_TOKEN")
            .stdin(Stdio::null());
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            command.env(name, filled(value.as_str().expect("text"), known));
        }
        CommandOutput::of(&command.output().expect("bash is needed"))
    }
}

/// A zip with one file, as Python makes it.
fn zipped(file: &Path) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let zip = folder.path().join("zip");
    let script = "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED).write(sys.argv[2], sys.argv[3])";
    let name = file.file_name().expect("a file");
    let mut python = Command::new("python3");
    let done = python.args(["-c", script]).arg(&zip).arg(file).arg(name).status();
    assert!(done.expect("python3 is needed").success());
    std::fs::read(zip).expect("the zip")
}

/// What GitHub says after a run for a pull request of a fork: the list of its pull requests is empty.
fn of_a_fork() -> Value {
    json!({ "workflow_run": {
        "id": RUN, "head_sha": HEAD, "head_branch": "fast&loose", "pull_requests": [],
        "head_repository": { "id": 11, "owner": { "login": "stranger" } }
    } })
}

/// What GitHub says in a workflow of the repository itself.
fn own_event(head: &str) -> Value {
    json!({ "pull_request": { "number": 7, "head": { "sha": head } } })
}

/// The pull request of the fork.
fn pull(number: u64, head: &str) -> Value {
    json!({ "number": number, "head": { "sha": head, "repo": { "id": 11 } } })
}

/// A text with its expressions evaluated; unset values are empty.
fn filled(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut parts = text.split("${{");
    let mut done = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").expect("an expression ends");
        let value = known.get(name.trim()).cloned().unwrap_or_default();
        done.push_str(&filled(&value, known));
        done.push_str(rest);
    }
    done
}

/// Commits everything and returns the commit.
fn commit(checkout: &Checkout, what: &str) -> String {
    checkout.git(&["add", "contracts", "services"]);
    checkout.git(&["commit", "-q", "-m", what]);
    checkout.git(&["rev-parse", "HEAD"])
}

#[test]
#[expect(clippy::too_many_lines, reason = "the life of a pull request")]
fn a_pull_request_gets_one_comment_and_fails_where_it_is_slower() {
    let checkout = Checkout::new(2, &["right"]);
    let github = Github::start();
    checkout.git(&["init", "-q"]);
    let base = commit(&checkout, "base");
    let file = "services/toy-right/toy.py";
    let toy = std::fs::read_to_string(checkout.path(file)).expect("the toy");
    let run = |inputs: &[(&'static str, &'static str)]| {
        let short = "--rounds 2 --duration 600ms --warmup 100ms --connections 4";
        let mut all = vec![
            ("prony", env!("CARGO_BIN_EXE_prony")),
            ("arguments", short),
            ("budget", "20m"),
        ];
        all.extend(inputs);
        Runner {
            checkout: &checkout,
            github: &github,
            inputs: all,
        }
        .run(&base)
    };

    // Twenty replies a second, regardless of other load on the CPUs: the base is many times faster even on a busy machine.
    checkout.write(file, &toy.replace("DELAY = delay()", "DELAY = 0.2"));
    commit(&checkout, "slow");
    let slow = run(&[("max-slowdown", "50%")]);
    assert_eq!(slow.code, 3, "{}\n{}", slow.log, slow.summary);
    assert_eq!(slow.outputs["regressed"], "true");
    for part in [
        "## prony: REGRESSION: the service became slower",
        "❌ `toy-right@",
        "% slower than `@",
        "| **goodput** |",
        "A/A noise",
        "Smallest change",
        "measured again",
    ] {
        assert!(slow.summary.contains(part), "{part}: {}", slow.summary);
    }
    {
        assert!(
            github.state().changes.is_empty(),
            "the job that measures writes nothing"
        );
        github.state().pulls = vec![pull(7, HEAD)];
        commented(&github, &checkout, &own_event(HEAD));
        let state = github.state();
        assert_eq!(state.changes, ["POST /repos/someone/something/issues/7/comments"]);
        let text = state.comments[0]["body"].as_str().expect("text");
        assert!(
            text.starts_with("<!-- prony: compare -->\nMeasured by [this run](https://github.com/someone/something/actions/runs/4242)"),
            "{text}"
        );
        assert!(text.ends_with(&slow.summary), "{text}");
    }

    checkout.write(file, &format!("{toy}\n# No effect.\n"));
    commit(&checkout, "equal");
    let equal = run(&[("max-slowdown", "95%")]);
    assert_eq!(equal.code, 0, "{}\n{}", equal.log, equal.summary);
    assert_eq!(equal.outputs["regressed"], "false");
    assert!(
        !equal.summary.contains('❌') && equal.summary.contains("A/A noise"),
        "{}",
        equal.summary
    );
    {
        github.state().pulls = vec![pull(9, "another commit"), pull(7, HEAD)];
        commented(&github, &checkout, &of_a_fork());
        let state = github.state();
        assert_eq!(
            state.changes[1..],
            ["PATCH /repos/someone/something/issues/comments/100"]
        );
        assert_eq!(state.comments.len(), 1);
        let text = state.comments[0]["body"].as_str().expect("text");
        // On a busy machine, two rounds may not suffice to exclude even this slowdown.
        let is_cleared = text.contains("## prony: NO REGRESSION: the service did not become slower");
        assert_ne!(
            is_cleared,
            text.contains("## prony: INCONCLUSIVE for the service"),
            "{text}"
        );
        assert_eq!(equal.outputs["inconclusive"], (!is_cleared).to_string());
    }
    nothing_is_left(&checkout);
}

/// A fake prony whose comparison is inconclusive.
const BLIND: &str = r#"#!/bin/sh
[ "$1" = --version ] && exec echo prony 0
case "$*" in *"--fail-on inconclusive"*) code=3 ;; *) code=0 ;; esac
while [ "$1" != --out ]; do shift; done
printf '## blind\n\n<!-- prony: inconclusive -->\n' > "$2"
exit $code
"#;

#[test]
fn an_inconclusive_comparison_is_no_approval_and_fails_on_request() {
    let checkout = Checkout::new(2, &["right"]);
    let github = Github::start();
    checkout.git(&["init", "-q"]);
    let base = commit(&checkout, "base");
    checkout.write("services/toy-right/changed", "x");
    commit(&checkout, "changed");
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("prony");
    std::fs::write(&program, BLIND).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let program = program.to_str().expect("text");
    for (fail_on, code) in [("regression", 0), ("inconclusive", 3)] {
        let job = Runner {
            checkout: &checkout,
            github: &github,
            inputs: vec![("prony", program), ("fail-on", fail_on)],
        }
        .run(&base);
        assert_eq!(job.code, code, "{fail_on}: {}\n{}", job.log, job.summary);
        assert!(job.summary.contains("## blind"), "{}", job.summary);
        assert_eq!(job.outputs["regressed"], "false");
        assert_eq!(job.outputs["inconclusive"], "true");
    }
}

#[test]
fn what_was_not_measured_is_in_the_summary() {
    let checkout = Checkout::new(2, &["right"]);
    let github = Github::start();
    checkout.git(&["init", "-q"]);
    let base = commit(&checkout, "base");
    let prony = env!("CARGO_BIN_EXE_prony");
    let run = |inputs: &[(&'static str, &'static str)], base: &str| {
        let mut all = vec![("prony", prony)];
        all.extend(inputs);
        Runner {
            checkout: &checkout,
            github: &github,
            inputs: all,
        }
        .run(base)
    };
    let same = run(&[], &base);
    assert_eq!(same.code, 0, "{}", same.log);
    assert!(
        same.summary.contains("## prony: NO CHANGE: no service differs"),
        "{}",
        same.summary
    );
    assert!(github.state().changes.is_empty());
    let unknown = run(&[], "0123456789012345678901234567890123456789");
    assert_eq!(unknown.code, 2, "{}", unknown.log);
    assert!(
        unknown.summary.contains("git cannot find or fetch the revision"),
        "{}",
        unknown.summary
    );
    let missing = run(&[("services", "no-such")], &base);
    assert_eq!(missing.code, 0, "{}", missing.log);
    assert!(
        missing.summary.contains("`no-such` is in neither revision"),
        "{}",
        missing.summary
    );

    // A head that does not build has no verdict, and no comment about a slowdown.
    checkout.add("right", r#""false""#);
    commit(&checkout, "broken");
    let broken = run(&[], &base);
    assert_eq!(broken.code, 1, "{}", broken.log);
    assert!(
        broken
            .summary
            .contains("## prony: FAILED: the service could not be compared")
            && broken.summary.contains("cannot be built"),
        "{}",
        broken.summary
    );
    nothing_is_left(&checkout);
}

#[test]
fn a_release_is_run_only_if_its_checksum_fits() {
    let checkout = Checkout::new(2, &["right"]);
    let github = Github::start();
    checkout.git(&["init", "-q"]);
    let base = commit(&checkout, "base");
    let name = format!("prony-9.8.7-{}-linux", std::env::consts::ARCH);
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join(&name).join("bin/prony");
    std::fs::create_dir_all(program.parent().expect("a folder")).expect("made");
    let script = "#!/bin/sh\necho prony 9.8.7\n";
    std::fs::write(&program, script).expect("written");
    let shell = |script: &str| {
        let done = Command::new("bash")
            .args(["-ec", script])
            .current_dir(folder.path())
            .output()
            .expect("bash");
        assert!(done.status.success(), "{done:?}");
        done.stdout
    };
    shell(&format!(
        "chmod +x {name}/bin/prony; tar -czf {name}.tar.gz {name}"
    ));
    let sum = String::from_utf8(shell(&format!("sha256sum {name}.tar.gz"))).expect("text");
    let sum: &'static str = sum[..64].to_owned().leak();
    let archive = std::fs::read(folder.path().join(format!("{name}.tar.gz"))).expect("the archive");
    {
        let mut state = github.state();
        state.files.insert(format!("/v9.8.7/{name}.tar.gz"), archive);
    }
    let run = |version: &'static str, sha256: &'static str| {
        Runner {
            checkout: &checkout,
            github: &github,
            inputs: vec![("version", version), ("sha256", sha256)],
        }
        .run(&base)
    };
    let fetched = run("v9.8.7", sum);
    assert_eq!(fetched.code, 0, "{}", fetched.log);
    assert!(fetched.log.contains("bin/prony: prony 9.8.7"), "{}", fetched.log);
    let absent = run("9.8.8", sum);
    assert_eq!(absent.code, 2, "{}", absent.log);
    assert!(absent.log.contains("no release 9.8.8"), "{}", absent.log);
    // A release alone could be replaced.
    let unknown = run("9.8.7", "");
    assert_eq!(unknown.code, 2, "{}", unknown.log);
    assert!(
        unknown.log.contains("`version` needs `sha256`"),
        "{}",
        unknown.log
    );
    let refused = run(
        "9.8.7",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    );
    assert_eq!(refused.code, 1, "{}", refused.log);
    assert!(refused.log.contains("does not match `sha256`"), "{}", refused.log);
    assert!(
        refused.summary.contains("## prony: could not compare"),
        "{}",
        refused.summary
    );
}

/// Runs the job that comments.
fn commented(github: &Github, checkout: &Checkout, event: &Value) {
    let runner = Runner {
        checkout,
        github,
        inputs: Vec::new(),
    };
    let ended = runner.comment(event);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// The code of a pull request can write anything into the artefact, and others can write comments.
#[test]
fn a_comment_takes_only_a_text_from_what_was_measured() {
    let checkout = Checkout::new(2, &["right"]);
    let github = Github::start();
    let folder = tempfile::tempdir().expect("a folder");
    let told = folder.path().join("told.md");
    std::fs::write(
        &told,
        format!(
            "<!-- prony: other -->\n\u{1b}[2J\u{202e}## fast\n{}",
            "x".repeat(100_000)
        ),
    )
    .expect("written");
    {
        let mut state = github.state();
        state.artefacts = vec![("prony-compare".to_owned(), zipped(&told))];
        state.pulls = vec![pull(7, HEAD)];
        let quoted =
            json!({ "id": 5, "body": "<!-- prony: compare -->\nmine", "user": { "login": "stranger" } });
        state.comments.push(quoted);
    }
    commented(&github, &checkout, &of_a_fork());
    let body = {
        let state = github.state();
        assert_eq!(state.changes, ["POST /repos/someone/something/issues/7/comments"]);
        state.comments[1]["body"].as_str().expect("text").to_owned()
    };
    assert!(
        body.starts_with("<!-- prony: compare -->\nMeasured by [this run]"),
        "{body}"
    );
    assert!(
        body.contains("[2J## fast") && !body.contains(['\u{1b}', '\u{202e}']),
        "{body}"
    );
    assert!(body.len() <= 65_000, "{}", body.len());

    // Nothing is written for a commit that no pull request has any more, nor for what is no zip of prony.
    let runner = Runner {
        checkout: &checkout,
        github: &github,
        inputs: Vec::new(),
    };
    github.state().pulls = vec![pull(7, "another commit")];
    let nothing = runner.comment(&of_a_fork());
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert!(
        nothing.out.contains("there is no open pull request"),
        "{nothing:?}"
    );
    for artefacts in [Vec::new(), vec![("prony-compare".to_owned(), b"PK".to_vec())]] {
        let mut state = github.state();
        state.pulls = vec![pull(7, HEAD)];
        state.artefacts = artefacts;
        drop(state);
        let refused = runner.comment(&of_a_fork());
        assert_eq!(refused.code, Some(1), "{refused:?}");
    }
    assert_eq!(github.state().changes.len(), 1);
}

/// One comment stays one, whatever account the token has, and whether or not it may still be changed.
#[test]
fn there_is_one_comment_of_the_account_of_the_token() {
    let checkout = Checkout::new(2, &["right"]);
    let folder = tempfile::tempdir().expect("a folder");
    let told = folder.path().join("told.md");
    std::fs::write(&told, "## fast\n").expect("written");
    for user in [None, Some("bench-bot")] {
        let github = Github::start();
        let quoted =
            json!({ "id": 5, "body": "<!-- prony: compare -->\nmine", "user": { "login": "stranger" } });
        {
            let mut state = github.state();
            state.user = user;
            state.artefacts = vec![("prony-compare".to_owned(), zipped(&told))];
            state.pulls = vec![pull(7, HEAD)];
            state.comments.push(quoted.clone());
        }
        commented(&github, &checkout, &of_a_fork());
        commented(&github, &checkout, &of_a_fork());
        let runner = Runner {
            checkout: &checkout,
            github: &github,
            inputs: Vec::new(),
        };
        github.state().is_locked = true;
        for _ in 0..2 {
            let refused = runner.comment(&of_a_fork());
            assert_eq!(refused.code, Some(1), "{refused:?}");
        }
        let state = github.state();
        assert_eq!(state.comments.len(), 2, "{user:?}: {:?}", state.changes);
        assert_eq!(state.comments[0], quoted);
        assert!(
            state.changes[1..]
                .iter()
                .all(|change| change.starts_with("PATCH"))
        );
    }
}

/// A cut inside a row or a folded part would break the rest of the page.
#[test]
fn a_long_comment_is_cut_between_rows_and_says_so() {
    let checkout = Checkout::new(2, &["right"]);
    let github = Github::start();
    let folder = tempfile::tempdir().expect("a folder");
    let told = folder.path().join("told.md");
    let row = format!("| {} |\n", "x".repeat(96));
    let text = format!(
        "## slower\n\n{}\n<details>\n\n{}\n</details>\n",
        row.repeat(500),
        row.repeat(500)
    );
    std::fs::write(&told, text).expect("written");
    {
        let mut state = github.state();
        state.artefacts = vec![("prony-compare".to_owned(), zipped(&told))];
        state.pulls = vec![pull(7, HEAD)];
    }
    commented(&github, &checkout, &of_a_fork());
    let state = github.state();
    let body = state.comments[0]["body"].as_str().expect("text");
    assert!(body.chars().count() <= 65_000, "{}", body.len());
    assert!(
        body.ends_with("the rest is in the summary of the run.*\n"),
        "{}",
        &body[body.len() - 200..]
    );
    assert_eq!(body.matches(row.trim_end()).count(), 500);
    assert!(
        !body.contains("<details>"),
        "a folded part is left out as a whole"
    );
}

/// The result of a newer commit stays.
#[test]
fn cancelled_and_older_runs_write_no_comment() {
    let checkout = Checkout::new(2, &["right"]);
    let github = Github::start();
    github.state().pulls = vec![pull(7, HEAD)];
    let mut cancelled = of_a_fork();
    cancelled["workflow_run"]["conclusion"] = json!("cancelled");
    for event in [cancelled, own_event("ffff2233445566778899aabbccddeeff00112233")] {
        commented(&github, &checkout, &event);
    }
    assert!(github.state().changes.is_empty(), "{:?}", github.state().changes);
}

/// A fake prony that stores its environment and its arguments.
const SPY: &str = r#"#!/bin/sh
[ "$1" = compare ] && env > "$(dirname "$0")/environment"
exec PRONY "$@"
"#;

#[test]
fn what_is_built_cannot_speak_for_the_runner() {
    let checkout = Checkout::new(2, &["right"]);
    let github = Github::start();
    checkout.git(&["init", "-q"]);
    let base = commit(&checkout, "base");
    // A folder of a pull request whose name is an option.
    let option = checkout.path("services/--out=owned");
    std::fs::create_dir(&option).expect("a folder");
    std::fs::write(option.join("service.toml"), "").expect("written");
    commit(&checkout, "changed");
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("prony");
    let script = SPY.replace("PRONY", env!("CARGO_BIN_EXE_prony"));
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let runner = Runner {
        checkout: &checkout,
        github: &github,
        inputs: vec![("prony", program.to_str().expect("text"))],
    };
    let job = runner.run(&base);
    let seen = std::fs::read_to_string(folder.path().join("environment")).expect("it ran");
    assert!(seen.lines().any(|line| line.starts_with("PATH=")), "{seen}");
    for name in ["GITHUB_", "ACTIONS_", "RUNNER_", "INPUT_"] {
        assert!(!seen.lines().any(|line| line.starts_with(name)), "{name}: {seen}");
    }
    assert!(
        job.summary
            .contains("`--out?owned` has a name that cannot be measured"),
        "{}",
        job.summary
    );
}

/// Branches have any names, and `git fetch` takes options that run commands.
#[test]
fn a_revision_is_never_an_option() {
    let checkout = Checkout::new(2, &["right"]);
    let github = Github::start();
    checkout.git(&["init", "-q"]);
    let base = commit(&checkout, "base");
    let origin = tempfile::tempdir().expect("a folder");
    checkout.git(&[
        "clone",
        "-q",
        "--bare",
        ".",
        origin.path().to_str().expect("text"),
    ]);
    checkout.git(&[
        "remote",
        "add",
        "origin",
        &format!("file://{}", origin.path().display()),
    ]);
    checkout.git(&["branch", "victim", &base]);
    let touched = checkout.path("touched");
    let pack = format!("--upload-pack=touch${{IFS}}{};git-upload-pack", touched.display());
    let refspec = format!("+{base}:refs/heads/written");
    for revision in [pack.as_str(), refspec.as_str(), "--help", "no-such-branch"] {
        let job = Runner {
            checkout: &checkout,
            github: &github,
            inputs: vec![("prony", env!("CARGO_BIN_EXE_prony")), ("base", revision)],
        }
        .run(&base);
        assert_eq!(job.code, 2, "{revision}: {}", job.log);
        assert!(
            job.summary.contains("git cannot find or fetch the revision"),
            "{}",
            job.summary
        );
    }
    assert!(!touched.exists(), "the branch's name ran a command");
    assert!(!checkout.git(&["branch", "--list"]).contains("written"));
}

#[test]
fn a_change_of_shared_files_is_a_change_of_the_services_that_use_them() {
    let checkout = Checkout::new(2, &["right", "other", "third"]);
    checkout.add("other", r#""sh $PRONY_SERVICES/note.sh""#);
    let file = "services/toy-right/service.toml";
    let text = std::fs::read_to_string(checkout.path(file)).expect("the service");
    let copies = "copies = { \"words.txt\" = \"shared/words.txt\" }\nbuild";
    checkout.write(file, &text.replacen("build", copies, 1));
    let file = "services/toy-third/service.toml";
    let text = std::fs::read_to_string(checkout.path(file)).expect("the service");
    checkout.write(file, &text.replace("\"python\"", "\"tool\""));
    let tool = |words: &str| {
        let python = std::fs::read_to_string(checkout.path("services/toolchains.toml")).expect("toolchains");
        let python = python.split("[tool]").next().unwrap_or_default().trim_end();
        let tool = python.replace("[python]", "[tool]").replace("CPython", words);
        checkout.write("services/toolchains.toml", &format!("{python}\n\n{tool}\n"));
    };
    tool("Tool");
    checkout.write("services/note.sh", "echo one\n");
    checkout.write("shared/words.txt", "one\n");
    checkout.git(&["init", "-q"]);
    let all = |what: &str| {
        checkout.git(&["add", "contracts", "services", "shared"]);
        checkout.git(&["commit", "-q", "-m", what]);
        checkout.git(&["rev-parse", "HEAD"])
    };
    let mut base = all("base");
    let mut compared = |what: &str| {
        let head = all(what);
        let revisions = format!("{base}..{head}");
        let listed = checkout.prony(&["list", "services", "--changed", &revisions, "--json"]);
        base = head;
        let services = listed.json()["services"].as_array().expect("services").clone();
        let changed = services.iter().filter(|one| one["change"] != "none");
        changed
            .filter_map(|one| one["service"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    checkout.write("shared/words.txt", "two\n");
    assert_eq!(compared("a copied file"), ["toy-right"]);
    checkout.write("services/note.sh", "echo two\n");
    assert_eq!(compared("a shared script"), ["toy-other"]);
    tool("Another tool");
    assert_eq!(compared("a toolchain"), ["toy-third"]);
    checkout.write("services/unused.sh", "echo three\n");
    assert_eq!(compared("a script that no service names"), [] as [&str; 0]);
    // The contracts are a link to those of the repository.
    std::fs::remove_file(checkout.path("contracts")).expect("a link");
    let contract = std::fs::read_to_string(root().join("contracts/hello/contract.toml")).expect("a contract");
    checkout.write("contracts/hello/contract.toml", &contract);
    assert_eq!(compared("the same contract"), [] as [&str; 0]);
    let other = contract.replace("Hello, World!", "Hello, you!");
    assert_ne!(other, contract);
    checkout.write("contracts/hello/contract.toml", &other);
    assert_eq!(compared("a contract"), ["toy-other", "toy-right", "toy-third"]);
}
