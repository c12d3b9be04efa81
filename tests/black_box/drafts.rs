//! Services of this repository that describe their own routes: they pass the contract drafted from such a description, and a
//! contract with other replies fails.
//!
//! `FastAPI` describes its routes itself, Fastify with `@fastify/swagger`, Spring with springdoc; the latter two are added to a
//! copy of the service, since no measured service has them. `make test-all` runs these tests: they install packages.

use crate::common::{CommandOutput, root};
use crate::ports::reserved;
use crate::server::{Server, output};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A JVM on a busy machine needs long to start.
const PATIENCE: Duration = Duration::from_mins(2);
const SPRINGDOC: &str = "<dependency><groupId>org.springdoc</groupId>
<artifactId>springdoc-openapi-starter-webmvc-api</artifactId><version>3.0.1</version></dependency>";
const SWAGGER: &str = "
const fastify = require('fastify');
(async () => {
  const app = fastify();
  await app.register(require('@fastify/swagger'), { openapi: { info: { title: 'Sequences', version: '1' } } });
  app.register(require('./sequence'));
  await app.ready();
  console.log(JSON.stringify(app.swagger()));
})();
";

fn copy_folder(from: &Path, to: &Path) {
    output(Command::new("cp").arg("-r").args([from, to]));
}

/// A copy of a service, with the files that it copies from elsewhere.
struct Copied(TempDir);

impl Copied {
    fn new(service: &str) -> Self {
        let copied = Self(TempDir::new().expect("a folder"));
        let source = root().join("services").join(service);
        copy_folder(&source.join("."), copied.0.path());
        let text = fs::read_to_string(source.join("service.toml")).expect("service.toml");
        let table: toml::Table = text.parse().expect("TOML");
        if let Some(copies) = table.get("copies") {
            for (to, from) in copies.as_table().expect("a table") {
                let from = root().join(from.as_str().expect("a path"));
                fs::copy(from, copied.path(to)).expect("a copy");
            }
        }
        copied
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// A command in this folder; a program with a slash is relative to it.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let program = if program.contains('/') {
            self.path(program)
        } else {
            program.into()
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.0.path());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        output(&mut self.command(program, arguments))
    }

    fn start(&self, program: &str, arguments: &[&str]) -> Server {
        let port = reserved();
        let mut command = self.command(program, arguments);
        command
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("WORKERS", "1");
        Server::start(&mut command, port, &self.path("service.log"), PATIENCE)
    }
}

/// A project that contains only the draft.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(TempDir::new().expect("a folder"));
        project.passes(&["init"]);
        project
    }

    fn prony(&self, arguments: &[&str]) -> CommandOutput {
        let output = Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("PRONY_STORE")
            .env("PRONY_LOCKS", self.0.path().join("locks"))
            .env("NO_COLOR", "1")
            .output();
        CommandOutput::of(&output.expect("prony runs"))
    }

    fn passes(&self, arguments: &[&str]) {
        let ended = self.prony(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}\n{}", ended.out, ended.err);
    }

    fn contract(&self, name: &str) -> PathBuf {
        self.0.path().join("contracts").join(name)
    }

    /// A copy of the contract in which each operation expects another status.
    fn with_other_statuses(&self, name: &str, other: &str) {
        copy_folder(&self.contract(name), &self.contract(other));
        let file = self.contract(other).join("contract.toml");
        let text = fs::read_to_string(&file).expect("the contract");
        let text = text
            .replace("status = 2", "status = 3")
            .replace("status = 4", "status = 5");
        fs::write(file, text).expect("the contract");
    }
}

/// Drafts a contract from the description, with replies recorded from the service, and checks the service against it.
fn drafted_from_it(service: &Server, description: &str) {
    let project = Project::new();
    let url = service.url.as_str();
    fs::write(project.0.path().join("description.json"), description).expect("a file");
    project.passes(&[
        "new",
        "contract",
        "drafted",
        "--openapi",
        "description.json",
        "--record",
        url,
    ]);
    let contract = fs::read_to_string(project.contract("drafted").join("contract.toml")).expect("a contract");
    assert!(
        contract.contains("\n[operation."),
        "no operation in {} bytes of description: {contract}",
        description.len()
    );
    project.passes(&["check", "--url", url, "drafted"]);
    project.with_other_statuses("drafted", "drafted-other");
    let wrong = project.prony(&["check", "--url", url, "drafted-other"]);
    assert_eq!(
        wrong.code,
        Some(3),
        "a contract that expects other replies: {wrong:?}"
    );
}

#[test]
#[ignore = "installs packages: `make test-all` runs it"]
fn fastapi_passes_what_is_drafted_from_its_description() {
    let service = Copied::new("python-fastapi");
    service.run("python3", &["-m", "venv", "venv"]);
    service.run("venv/bin/pip", &["install", "-q", "-r", "requirements.txt"]);
    let script = "import json, app; print(json.dumps(app.app.openapi()))";
    let description = service.run("venv/bin/python", &["-c", script]);
    drafted_from_it(&service.start("venv/bin/python", &["serve.py"]), &description);
}

#[test]
#[ignore = "installs packages: `make test-all` runs it"]
fn fastify_passes_what_is_drafted_from_its_description() {
    let service = Copied::new("node-fastify");
    let install = ["install", "--no-audit", "--no-fund", "--ignore-scripts"];
    service.run("npm", &[&install[..], &["@fastify/swagger"]].concat());
    fs::write(service.path("describe.js"), SWAGGER).expect("a file");
    let description = service.run("node", &["describe.js"]);
    drafted_from_it(&service.start("node", &["server.js"]), &description);
}

#[test]
#[ignore = "installs packages: `make test-all` runs it"]
fn spring_passes_what_is_drafted_from_its_description() {
    let service = Copied::new("java-spring");
    let file = service.path("pom.xml");
    let pom = fs::read_to_string(&file).expect("a pom.xml");
    let managed = pom.find("</dependencyManagement>").expect("managed versions");
    let tag = "<dependencies>";
    let place = managed + pom[managed..].find(tag).expect("dependencies") + tag.len();
    let (before, after) = pom.split_at(place);
    fs::write(file, format!("{before}{SPRINGDOC}{after}")).expect("a pom.xml");
    let repository = root().join(".prony/cache/m2");
    let repository = format!("-Dmaven.repo.local={}", repository.display());
    service.run("mvn", &["-B", "-q", &repository, "package"]);
    let running = service.start("java", &["-jar", "target/service.jar"]);
    let described_at = format!("{}/v3/api-docs", running.url);
    let description = service.run("curl", &["--silent", "--show-error", "--fail", &described_at]);
    drafted_from_it(&running, &description);
}
