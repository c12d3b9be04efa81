//! `prony init` in a repository: what it guesses, how it starts the server, and the contract that it drafts.

use crate::common::CommandOutput;
use crate::skip::skipped;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

const SERVER: &str = r#"
const http = require("node:http");
const items = [{ id: 1, name: "tea" }, { id: 2, name: "cup" }];
const app = { routes: {}, get(path, reply) { this.routes[path] = reply; } };
app.get("/items", () => items);
app.get("/health", () => ({ status: "up" }));
app.get("/items/:id", () => null);
http.createServer((request, response) => {
  const reply = request.method === "DELETE" ? undefined : app.routes[request.url];
  response.writeHead(reply ? 200 : 404, { "Content-Type": "application/json" });
  response.end(JSON.stringify(reply ? reply() : { error: "unknown" }));
}).listen(PORT_OF_SERVER, process.env.HOST || "127.0.0.1");
"#;
const PORT: &str = "process.env.PORT || 8080";
const PACKAGE: &str = r#"{ "name": "shop", "scripts": { "start": "node src/server.js" } }"#;

/// A repository as it is without prony.
struct Repository(TempDir);

impl Repository {
    /// `None`, with a message, without Node.js.
    fn new(files: &[(&str, &str)]) -> Option<Self> {
        let node = Command::new("node").arg("--version").output();
        if !node.is_ok_and(|output| output.status.success()) {
            skipped("the server of this repository needs Node.js");
            return None;
        }
        let repository = Self(TempDir::new().expect("a folder"));
        for (name, text) in files {
            repository.write(name, text);
        }
        repository.git(&["init", "-q"]);
        repository.git(&["remote", "add", "origin", "https://example.org/me/Web.Shop.git"]);
        repository.commit();
        Some(repository)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.0.path());
        git.args(["-c", "user.name=toy", "-c", "user.email=toy@example.org"]);
        let done = git.args(arguments).output().expect("git is needed");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "a commit"]);
    }

    fn prony(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        let done = command
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("PRONY_STORE")
            .env("PRONY_LOCKS", self.path(".git/locks"))
            .env("NO_COLOR", "1")
            .output();
        CommandOutput::of(&done.expect("the binary starts"))
    }
}

fn server(port: &str) -> String {
    SERVER.replace("PORT_OF_SERVER", port)
}

#[test]
fn a_repository_gets_a_short_file_and_a_contract_of_its_replies() {
    let files = [
        ("package.json", PACKAGE),
        ("src/server.js", &server(PORT)),
        ("README.md", "# Shop\n"),
    ];
    let Some(repository) = Repository::new(&files) else {
        return;
    };
    let made = repository.prony(&["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for part in ["guessed from package.json", "exec node src/server.js", "web-shop"] {
        assert!(made.err.contains(part), "{part}: {}", made.err);
    }
    for part in [
        "2 operations from GET /health, /items, checked",
        "/items/:id",
        "prony init --ci github",
    ] {
        assert!(made.out.contains(part), "{part}: {}", made.out);
    }
    let service = repository.read("service.toml");
    assert!(service.lines().count() <= 10, "{service}");
    let valid = repository.prony(&["validate"]);
    assert_eq!(valid.code, Some(0), "{valid:?}");
    let contract = repository.read(".prony/contracts/web-shop/contract.toml");
    assert!(
        !contract.contains("#:schema"),
        "its file would be missing: {contract}"
    );
    assert!(
        contract.contains("\"wrong method\", # it may change data"),
        "the server has POST, too: {contract}"
    );
    let new = repository.git(&["ls-files", "--others", "--exclude-standard"]);
    let new: Vec<&str> = new.lines().collect();
    assert_eq!(
        new,
        [
            ".prony/.gitignore",
            ".prony/contracts/web-shop/contract.toml",
            "service.toml"
        ],
        "all that has to be committed, and nothing else"
    );
    repository.commit();
    let clone = TempDir::new().expect("a folder");
    repository.git(&[
        "clone",
        "-q",
        ".",
        &clone.path().join("any-name").display().to_string(),
    ]);
    let place = clone.path().join("any-name").display().to_string();
    let checked = repository.prony(&["-C", &place, "check", "web-shop"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");

    repository.write("README.md", "# A shop\n");
    let changed = |expected: &str| {
        let listed = repository.prony(&["list", "services", "--changed", "HEAD"]);
        assert!(listed.out.contains(expected), "{expected}: {listed:?}");
    };
    changed("no service changed");
    repository.write("src/server.js", &server(PORT).replace("tea", "milk"));
    changed("source files");
    let again = repository.prony(&["init"]);
    assert!(
        again.code == Some(2) && again.err.contains("already exist"),
        "{again:?}"
    );
}

#[test]
fn the_description_that_a_server_offers_becomes_the_contract() {
    let description = r#"app.get("/openapi.json", () => ({ openapi: "3.1.0", info: { title: "Shop", version: "1" }, paths: {
  "/items": { get: { operationId: "listItems", responses: { 200: { description: "all", content: { "application/json": { schema: { type: "array" } } } } } } },
  "/orders": { post: { operationId: "order", responses: { 201: { description: "made" } } } } } }));
"#;
    let text = server(PORT).replace(
        "app.get(\"/health\"",
        &format!("{description}app.get(\"/health\""),
    );
    let Some(repository) = Repository::new(&[
        ("package.json", PACKAGE),
        ("server.js", ""),
        ("src/server.js", &text),
    ]) else {
        return;
    };
    let made = repository.prony(&["init", "--json"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let told = made.json();
    assert_eq!(told["source"], "/openapi.json of the server", "{told:#}");
    assert_eq!(told["operations"][0]["name"], "listItems", "{told:#}");
    assert_eq!(told["checked"], true, "{told:#}");
    let contract = repository.read(".prony/contracts/web-shop/contract.toml");
    assert!(
        contract.contains("[operation.listItems]") && !contract.contains("/tmp/"),
        "{contract}"
    );
    assert!(
        contract.contains("POST /orders: left out: it may change data"),
        "{contract}"
    );
}

#[test]
fn a_server_that_ignores_the_port_is_described_and_told() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port().to_string();
    drop(free);
    let files = [("package.json", PACKAGE), ("src/server.js", &server(&port))];
    let Some(repository) = Repository::new(&files) else {
        return;
    };
    let made = repository.prony(&["init"]);
    assert_eq!(made.code, Some(3), "{made:?}");
    let expected = format!("the server listens on port {port}, whatever PORT says");
    assert!(
        made.out.contains(&expected) && made.out.contains("--port $PORT"),
        "{}",
        made.out
    );
    assert!(
        repository
            .read(".prony/contracts/web-shop/contract.toml")
            .contains("/items")
    );
}

#[test]
fn what_cannot_be_guessed_is_written_by_hand_and_kept() {
    let files = [("package.json", "{}"), ("lib/start.js", &server(PORT))];
    let Some(repository) = Repository::new(&files) else {
        return;
    };
    let told = repository.prony(&["init"]);
    assert_eq!(told.code, Some(2), "{told:?}");
    for part in [
        "it has no script `start`",
        "Write `run` into service.toml",
        "repeat `prony init`",
    ] {
        assert!(told.err.contains(part), "{part}: {}", told.err);
    }
    let text = repository.read("service.toml");
    let (before, _) = text.split_once("# run = ").expect("a line to write");
    repository.write(
        "service.toml",
        &format!("{before}run = \"exec node lib/no-such.js\"\n"),
    );
    let fails = repository.prony(&["init"]);
    assert_eq!(fails.code, Some(1), "{fails:?}");
    for part in ["before it listened", "no-such.js", "Correct `build` and `run`"] {
        assert!(fails.err.contains(part), "{part}: {}", fails.err);
    }
    let written = format!("{before}run = \"exec node lib/start.js\" # by hand\n");
    repository.write("service.toml", &written);
    let made = repository.prony(&["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(repository.read("service.toml"), written);
    let run = repository.prony(&["run"]);
    assert!(
        run.code == Some(2) && run.err.contains("this repository has no suite"),
        "{run:?}"
    );
}

#[test]
fn workflows_are_written_once() {
    let files = [
        ("package.json", PACKAGE),
        ("src/server.js", &server(PORT)),
        (".gitlab-ci.yml", "stages: []\n"),
    ];
    let Some(repository) = Repository::new(&files) else {
        return;
    };
    let made = repository.prony(&["init", "--ci", "github"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for file in [
        ".github/workflows/speed.yml",
        ".github/workflows/speed-comment.yml",
    ] {
        let text = repository.read(file);
        serde_yaml_ng::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    let again = repository.prony(&["init", "--ci", "github"]);
    assert!(
        again.code == Some(2) && again.err.contains("is not overwritten"),
        "{again:?}"
    );
    let gitlab = repository.prony(&["init", "--ci", "gitlab"]);
    assert!(
        gitlab.code == Some(0) && gitlab.out.contains("include: { local: .gitlab/prony.yml }"),
        "{gitlab:?}"
    );
    assert!(
        repository
            .read(".gitlab/prony.yml")
            .contains("prony compare \"$CI_MERGE_REQUEST_DIFF_BASE_SHA\" \"$CI_COMMIT_SHA\"")
    );
    assert_eq!(repository.read(".gitlab-ci.yml"), "stages: []\n");
}

#[test]
fn rules_of_git_that_would_lose_the_contract_are_told() {
    let files = [
        ("package.json", PACKAGE),
        ("src/server.js", &server(PORT)),
        (".gitignore", ".prony\n"),
    ];
    let Some(repository) = Repository::new(&files) else {
        return;
    };
    let made = repository.prony(&["init"]);
    assert_eq!(made.code, Some(3), "{made:?}");
    assert!(
        made.out
            .contains("git ignores .prony/.gitignore, .prony/contracts/web-shop"),
        "{}",
        made.out
    );
}
