//! Errors of files, and the commands that work on files: `validate`, `schema`, `upgrade-files`, and `run --dry-run`.

use crate::common::{assert_contains, json_of, stderr_of};
use crate::terminal::{Stream, written_to};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const SERVICE: &str = r#"# A service of this project.
name = "mine"
contracts = ["hello"] # only one
run = "exec mine"

[workers]
uses = "processes"
"#;

const SUITE: &str = r#"title = "Mine"
rounds = 3
duration = "2s" # short

[[group]]
contract = "hello"
protocols = ["http1"]
load = { kind = "closed", connections = [16, 64] }
services = ["mine"]
"#;

const SEQUENCE: &str = r#"[[step]]
http = "GET /items"
expect = { status = 200 }
"#;

/// A project with a service, a suite and a file of steps.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().expect("a folder"));
        project.write("prony.toml", "");
        project.write("services/mine/service.toml", SERVICE);
        project.write("suites/mine.toml", SUITE);
        project.write("sequences/items.toml", SEQUENCE);
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("written");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .env_remove("NO_COLOR")
            .env("TERM", "xterm");
        command
    }

    fn prony(&self, line: &str) -> Output {
        self.command(line).output().expect("prony runs")
    }

    /// Breaks the service once and the suite twice.
    fn broken() -> Self {
        let project = Self::new();
        let service = SERVICE.replace("run =", "rnu =");
        project.write("services/mine/service.toml", &service);
        let suite = SUITE
            .replace("rounds = 3", "rounds = \"3\"")
            .replace("\"closed\"", "\"closd\"");
        project.write("suites/mine.toml", &suite);
        project
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn assert_ended(output: &Output, code: i32) {
    let shown = format!("{}{}", out(output), stderr_of(output));
    assert_eq!(output.status.code(), Some(code), "{shown}");
}

const ERRORS: &str = "\
error: unknown key `rnu`
  services/mine/service.toml:4:1
    4 | rnu = \"exec mine\"
      | ^^^ did you mean `run`?

error: `rounds` is the text \"3\": write 3
  suites/mine.toml:2:10
    2 | rounds = \"3\"
      |          ^^^

error: `kind` is \"closd\"
  suites/mine.toml:8:17
    8 | load = { kind = \"closd\", connections = [16, 64] }
      |                 ^^^^^^^ did you mean `closed`?
";

#[test]
fn validate_shows_the_errors_of_all_files() {
    let project = Project::broken();
    let output = project.prony("validate");
    assert_ended(&output, 2);
    assert_eq!(stderr_of(&output), ERRORS);
    assert_eq!(out(&output), "");
    // A file alone, from its own folder.
    let alone = project.prony("-C suites validate mine.toml");
    assert_ended(&alone, 2);
    let error = stderr_of(&alone);
    assert_contains(&error, "\n  mine.toml:2:10\n");
    assert!(!error.contains("rnu"), "{error}");
    let fine = project.prony("validate sequences");
    assert_eq!(out(&fine), "1 file is valid\n", "{}", stderr_of(&fine));
}

#[test]
fn errors_of_files_are_data() {
    let project = Project::broken();
    let output = project.prony("validate --json");
    assert_ended(&output, 2);
    let json = json_of(&output);
    assert_eq!(json["exit"], 2);
    let error = &json["error"];
    assert_eq!(error["kind"], "input");
    assert_contains(
        error["text"].as_str().expect("a text"),
        "services/mine/service.toml:4:1: unknown key `rnu`; and 2 more errors",
    );
    let first = json!({
        "path": "services/mine/service.toml", "line": 4, "column": 1, "end_column": 4,
        "message": "unknown key `rnu`", "help": "did you mean `run`?",
    });
    assert_eq!(error["files"][0], first);
    assert_eq!(error["files"].as_array().map(Vec::len), Some(3));
    // Every command reports them so.
    let list = project.prony("run mine --dry-run --json");
    assert_ended(&list, 2);
    assert_eq!(json_of(&list)["error"]["files"][0]["path"], "suites/mine.toml");
}

#[test]
fn errors_are_annotations_of_github() {
    let project = Project::broken();
    let output = project.prony("validate --format github");
    assert_ended(&output, 2);
    let lines = out(&output);
    assert_eq!(lines.lines().count(), 3, "{lines}");
    assert_contains(
        &lines,
        "::error file=services/mine/service.toml,line=4,col=1,endColumn=4::unknown key `rnu`: did you mean `run`?\n",
    );
}

#[test]
fn errors_have_colours_only_on_a_terminal_that_wants_them() {
    let project = Project::broken();
    let patience = Duration::from_mins(1);
    let coloured = written_to(
        &mut project.command("validate"),
        Stream::Stderr,
        (80, 24),
        patience,
    );
    assert_contains(&coloured, "\x1b[1;31merror:\x1b[0m unknown key `rnu`");
    assert_contains(&coloured, "\x1b[31m^^^\x1b[0m \x1b[32mdid you mean `run`?\x1b[0m");
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let mut command = project.command("validate");
        let plain = written_to(command.env(name, value), Stream::Stderr, (80, 24), patience);
        assert_eq!(plain.replace('\r', ""), ERRORS, "{name}");
    }
}

#[test]
fn references_between_files_are_validated() {
    let project = Project::new();
    let output = project.prony("validate");
    assert_eq!(out(&output), "4 files are valid\n", "{}", stderr_of(&output));
    let files = json_of(&project.prony("validate --json"));
    assert_eq!(
        files["files"],
        json!([
            { "path": "prony.toml", "kind": "project" },
            { "path": "sequences/items.toml", "kind": "sequence" },
            { "path": "services/mine/service.toml", "kind": "service" },
            { "path": "suites/mine.toml", "kind": "suite" },
        ])
    );
    let suite = SUITE.replace("\"hello\"", "\"hello\"\nworkload = \"helo\"");
    project.write("suites/mine.toml", &suite.replace("[\"mine\"]", "[\"mime\"]"));
    project.write(
        "services/mine/service.toml",
        &SERVICE.replace("\"hello\"", "\"helo\""),
    );
    project.write("prony.toml", "testbed = \"none.toml\"\n");
    let output = project.prony("validate");
    assert_ended(&output, 2);
    let errors = stderr_of(&output);
    for part in [
        "no testbed file `none.toml`\n  prony.toml:1:11\n",
        "helo",
        "\n  services/mine/service.toml:3:14\n",
        "no service `mime`",
        "\n  suites/mine.toml:10:13\n",
    ] {
        assert_contains(&errors, part);
    }
}

#[test]
fn a_kind_that_cannot_be_told_can_be_given() {
    let project = Project::new();
    project.write("steps.txt", SEQUENCE);
    let unknown = project.prony("validate steps.txt");
    assert_ended(&unknown, 2);
    assert_contains(&stderr_of(&unknown), "cannot tell the kind of steps.txt");
    assert_contains(&stderr_of(&unknown), "--kind KIND");
    let known = project.prony("validate steps.txt --kind sequence");
    assert_eq!(out(&known), "1 file is valid\n", "{}", stderr_of(&known));
    assert_ended(&project.prony("validate steps.txt --kind stairs"), 2);
    // Outside of a project.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("items.toml"), "[[step]]\nhttp = \"get /\"\n").expect("written");
    let mut alone = project.command("validate items.toml");
    let alone = alone.current_dir(folder.path()).output().expect("prony runs");
    assert_ended(&alone, 2);
    assert_contains(&stderr_of(&alone), "items.toml:2:");
    assert_ended(&project.prony("validate none.toml"), 2);
}

#[test]
fn a_broken_file_that_a_command_does_not_need_is_a_warning() {
    let project = Project::new();
    project.write("contracts/shop/contract.toml", "titel = \"Shop\"\n");
    let output = project.prony("list suites");
    assert_ended(&output, 0);
    assert_eq!(
        stderr_of(&output),
        "prony: 1 file is broken and was left out: `prony validate` shows why\n"
    );
}

#[test]
fn schemas_are_printed_and_written() {
    let project = Project::new();
    for kind in [
        "contract",
        "service",
        "suite",
        "toolchains",
        "backing",
        "testbed",
        "project",
        "sequence",
    ] {
        let output = project.prony(&format!("schema {kind}"));
        assert_ended(&output, 0);
        let schema = json_of(&output);
        assert_eq!(
            schema["$schema"], "http://json-schema.org/draft-07/schema#",
            "{kind}"
        );
        assert_eq!(schema["properties"]["format"]["const"], 1, "{kind}");
    }
    assert_ended(&project.prony("schema"), 2);
    assert_ended(&project.prony("schema contracts"), 2);
    let first = project.prony("schema --write");
    assert_ended(&first, 0);
    assert_eq!(out(&first).lines().count(), 8, "{}", out(&first));
    assert_contains(&out(&first), "schemas/1/suite.json: written\n");
    assert_eq!(
        project.read("schemas/1/suite.json"),
        out(&project.prony("schema suite"))
    );
    project.write("schemas/1/suite.json", "{}");
    let again = project.prony("schema --write schemas");
    assert_eq!(out(&again), "schemas/1/suite.json: written\n");
    let current = project.prony("schema --write");
    assert_eq!(out(&current), "all 8 schemas in schemas/1 are current\n");
}

#[test]
fn files_are_upgraded_in_place() {
    let project = Project::new();
    let private = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(project.path("suites/mine.toml"), private).expect("set");
    let listed = || {
        ["services", "suites", "contracts"].map(|what| out(&project.prony(&format!("list {what} --json"))))
    };
    let before = listed();
    let check = project.prony("upgrade-files --check");
    assert_ended(&check, 3);
    let names = [
        "prony.toml",
        "sequences/items.toml",
        "services/mine/service.toml",
        "suites/mine.toml",
    ];
    let lines = |word: &str| names.map(|name| format!("{name}: {word}\n")).concat();
    assert_eq!(out(&check), lines("not current"));
    assert_eq!(project.read("services/mine/service.toml"), SERVICE);
    let output = project.prony("upgrade-files");
    assert_ended(&output, 0);
    assert_eq!(out(&output), lines("upgraded"));
    let service = project.read("services/mine/service.toml");
    for part in [
        "# A service of this project.\n",
        "# only one\n",
        "format = 1\n",
        "kind = \"processes\"\n",
    ] {
        assert_contains(&service, part);
    }
    assert_contains(&project.read("suites/mine.toml"), "duration = \"2s\" # short\n");
    let mode = std::fs::metadata(project.path("suites/mine.toml"))
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
    let left: Vec<String> = files_in(&project.path("suites"));
    assert_eq!(left, ["mine.toml"]);
    assert_eq!(listed(), before);
    // Once is enough.
    for line in ["upgrade-files", "upgrade-files --check"] {
        let again = project.prony(line);
        assert_ended(&again, 0);
        assert_eq!(out(&again), "4 files are current\n");
    }
    assert_eq!(project.read("services/mine/service.toml"), service);
    assert_eq!(out(&project.prony("validate")), "4 files are valid\n");
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_file_with_errors_of_syntax_is_left_alone() {
    let project = Project::new();
    project.write("suites/mine.toml", "title = \n");
    let output = project.prony("upgrade-files");
    assert_ended(&output, 2);
    assert_contains(&stderr_of(&output), "\n  suites/mine.toml:1:");
    assert_contains(&out(&output), "services/mine/service.toml: upgraded\n");
    assert_eq!(project.read("suites/mine.toml"), "title = \n");
    let json = json_of(&project.prony("upgrade-files --json suites sequences"));
    assert_eq!(json["exit"], 2);
    assert_eq!(json["upgraded"], json!([]));
    assert_eq!(json["error"]["files"][0]["path"], "suites/mine.toml");
    project.write("suites/mine.toml", "format = 2\n");
    let newer = project.prony("upgrade-files suites");
    assert_ended(&newer, 2);
    assert_contains(&stderr_of(&newer), "needs a newer prony");
}

#[test]
fn a_dry_run_lists_what_a_run_would_do() {
    let project = Project::new();
    let output = project.prony("run mine --dry-run");
    assert_ended(&output, 0);
    let shown = out(&output);
    for part in [
        "hello/hello\n  load       closed: 16 connections\n",
        "load       closed: 64 connections\n",
        "duration   2s\n",
        "protocols  http1\n",
        "services   mine/default\n",
        "3 rounds, 6 trials, about ",
    ] {
        assert_contains(&shown, part);
    }
    let json: Value = json_of(&project.prony("run mine --dry-run --json"));
    let groups = json["outline"]["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 2, "{json:#}");
    assert_eq!(groups[0]["services"], json!(["mine/default"]));
    assert_eq!(groups[0]["duration_s"], 2.0);
    assert_eq!(json["trials"], 6);
}
