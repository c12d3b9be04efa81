//! A repository of any layout: what is a source, what changed, and what is built of a revision.

use crate::common::{CommandOutput, root};
use crate::images::engine;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

const SERVICE: &str = r#"format = 1
name = "shop"
source = "."
ignore = ["*.md", "docs/**"]
include = ["/generated.txt"]
contracts = ["hello"]
build = ["cp src/toy.py built.py"]
run = "exec python3 built.py"
env = { MODE = "right" }
"#;

const TESTBED: &str = r#"format = 1

[host.app]
pipe = true

[host.load]
pipe = true

[roles]
service = "app"
load = ["load"]
"#;

const DESCRIPTION: &str = r#"openapi: 3.1.0
info: { title: Shop, version: "1" }
paths:
  /api/test:
    get: { operationId: greet, responses: { "200": { description: a greeting, content: { text/plain: {} } } } }
"#;

/// A comparison that takes a few seconds.
const SHORT: [&str; 6] = ["--rounds", "2", "--duration", "300ms", "--warmup", "100ms"];

/// A repository with a server in `src/` and a Dockerfile, as it is without prony.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(TempDir::new().expect("a folder"));
        let toy = std::fs::read_to_string(root().join("tests/toy/toy.py")).expect("the toy");
        repository.write("src/toy.py", &toy);
        repository.write("README.md", "# A shop\n");
        repository.write("docs/how.txt", "how\n");
        repository.write(
            "Dockerfile",
            "FROM scratch\nCOPY src/server /server\nENTRYPOINT [\"/server\"]\n",
        );
        repository.write(".gitignore", "*.log\n/generated.txt\n/.prony/\n");
        repository.write("generated.txt", "one\n");
        repository.git(&["init", "-q"]);
        repository.commit("a shop");
        repository
    }

    /// With the description, in a commit of its own.
    fn described() -> Self {
        let repository = Self::new();
        repository.write("prony.toml", "");
        repository.write("service.toml", SERVICE);
        repository.commit("measure it");
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn add(&self, name: &str, text: &str) {
        let before = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        self.write(name, &format!("{before}{text}"));
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.0.path());
        git.args(["-c", "user.name=toy", "-c", "user.email=toy@example.org"]);
        let done = git.args(arguments).output().expect("git is needed");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    fn commit(&self, what: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", what]);
    }

    fn prony(&self, arguments: &[&str]) -> CommandOutput {
        self.prony_with("podman", arguments)
    }

    /// With containers of this engine.
    fn prony_with(&self, engine: &str, arguments: &[&str]) -> CommandOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        let done = command
            .args(arguments)
            .env("PRONY_CONTAINER_ENGINE", engine)
            .current_dir(self.0.path())
            .env_remove("PRONY_STORE")
            .env("PRONY_LOCKS", self.path(".prony/locks"))
            .env("PRONY_AGENT_CACHE", self.path(".prony/agents"))
            .env("NO_COLOR", "1")
            .output();
        CommandOutput::of(&done.expect("the binary starts"))
    }

    /// What changed of the service `shop`: `none`, `new`, or the parts that differ.
    fn changed(&self, revisions: &str) -> String {
        let listed = self
            .prony(&["list", "services", "--changed", revisions, "--json"])
            .json();
        let services = listed["services"].as_array().expect("services");
        let shop = services
            .iter()
            .find(|one| one["service"] == "shop")
            .expect("the service");
        match shop["change"].as_str().expect("a change") {
            "changed" => {
                let parts = shop["parts"].as_array().expect("parts").iter();
                parts.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            other => other.to_owned(),
        }
    }

    /// The folder of the only build of `shop`.
    fn built(&self, name: &str) -> PathBuf {
        let done = self.prony(&["build", name]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let entries = std::fs::read_dir(self.path(".prony/build"))
            .expect("builds")
            .flatten();
        let mut folders = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
        let folder = folders.next().expect("a build");
        assert_eq!(folders.next(), None, "one build");
        folder
    }
}

#[test]
fn a_change_of_the_sources_is_measured_and_no_other_is() {
    let repository = Repository::described();
    assert_eq!(repository.changed("HEAD"), "none");
    repository.add("README.md", "More.\n");
    repository.add("docs/how.txt", "more\n");
    repository.add("src/notes.md", "more\n");
    repository.write("src/server.log", "started\n");
    assert_eq!(
        repository.changed("HEAD"),
        "none",
        "neither documents nor ignored files"
    );
    repository.commit("documents");
    assert_eq!(repository.changed("HEAD~1..HEAD"), "none");

    repository.add("src/toy.py", "# Changed.\n");
    assert_eq!(
        repository.changed("HEAD"),
        "source",
        "a change that is not committed"
    );
    assert_eq!(
        repository.changed("HEAD~1..HEAD"),
        "none",
        "it is part of no revision"
    );
    repository.write("src/new.py", "");
    repository.commit("a change");
    assert_eq!(repository.changed("HEAD"), "none");
    assert_eq!(repository.changed("HEAD~1..HEAD"), "source");

    repository.write(
        "service.toml",
        &SERVICE.replace("exec python3", "exec python3 -O"),
    );
    assert_eq!(repository.changed("HEAD"), "run");
    let shown = repository.prony(&["list", "services", "--changed", "HEAD"]);
    assert!(shown.out.contains("start command and its settings"), "{shown:?}");
    let wrong = repository.prony(&["list", "services", "--changed", "HEAD..."]);
    assert!(
        wrong.code == Some(2) && wrong.err.contains("Write BASE..HEAD"),
        "{wrong:?}"
    );
    let unknown = repository.prony(&["list", "services", "--changed", "no-such"]);
    assert!(
        unknown.code == Some(2) && unknown.err.contains("git fetch origin no-such"),
        "{unknown:?}"
    );
}

#[test]
fn the_build_folder_has_the_sources_and_what_is_included() {
    let repository = Repository::described();
    repository.write("src/server.log", "started\n");
    repository.write("src/new.txt", "new\n");
    let fingerprint = || {
        let printed = repository.prony(&["build", "shop", "--json", "--fingerprints"]);
        let line: Value = printed
            .out
            .lines()
            .next()
            .and_then(|line| serde_json::from_str(line).ok())
            .expect("JSON");
        line["fingerprint"]["source"]
            .as_str()
            .expect("a digest")
            .to_owned()
    };
    let before = fingerprint();
    let folder = repository.built("shop");
    for file in [
        "src/toy.py",
        "built.py",
        "src/new.txt",
        "generated.txt",
        "README.md",
        "docs/how.txt",
    ] {
        assert!(folder.join(file).is_file(), "no {file}");
    }
    for file in ["src/server.log", ".git", ".prony"] {
        assert!(!folder.join(file).exists(), "{file}");
    }
    repository.add("README.md", "More.\n");
    repository.write("src/other.log", "x\n");
    assert_eq!(fingerprint(), before);
    repository.write("generated.txt", "two\n");
    let generated = fingerprint();
    assert_ne!(generated, before, "it is included");
    repository.write("src/new.txt", "newer\n");
    assert_ne!(fingerprint(), generated);
}

#[test]
fn uncommitted_changes_are_compared_and_named() {
    let repository = Repository::described();
    let toy = std::fs::read_to_string(repository.path("src/toy.py")).expect("the toy");
    repository.write("src/toy.py", &toy.replace("DELAY = delay()", "DELAY = 0.2"));
    let ended = repository.prony(&[&["compare", "shop@HEAD", "shop"], &SHORT[..]].concat());
    assert!(ended.code.is_some_and(|code| code == 0 || code == 3), "{ended:?}");
    assert!(ended.out.contains("shop (uncommitted changes)"), "{}", ended.out);
    let builds = std::fs::read_dir(repository.path(".prony/build"))
        .expect("builds")
        .flatten();
    let built = builds.filter_map(|entry| std::fs::read_to_string(entry.path().join("built.py")).ok());
    let mut slow: Vec<bool> = built.map(|text| text.contains("DELAY = 0.2")).collect();
    slow.sort_unstable();
    assert_eq!(slow, [false, true], "one of each");
    let report = repository.prony(&["report", "--format", "json"]).json();
    let versions: Vec<&str> = report["services"]
        .as_array()
        .expect("services")
        .iter()
        .filter_map(|service| service["version"].as_str())
        .collect();
    let commit = repository.git(&["rev-parse", "--short=12", "HEAD"]);
    assert_eq!(versions, [format!("{commit}+dirty"), commit]);
}

#[test]
fn a_service_in_a_folder_below_builds_from_the_repository() {
    let repository = Repository::new();
    let text = SERVICE.replace("name = \"shop\"\n", "");
    let text = text.replace("source = \".\"", "source = \"../../..\"");
    repository.write("bench/prony.toml", "services = [\"apps/*\"]\n");
    repository.write("bench/apps/shop/service.toml", &text);
    repository.write("bench/.gitignore", "/.prony/\n");
    repository.commit("measure it");
    let project = repository.path("bench").display().to_string();
    let prony = |arguments: &[&str]| repository.prony(&[&["-C", &project], arguments].concat());
    let checked = prony(&["check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    repository.add("src/toy.py", "# Changed.\n");
    let changed = prony(&["list", "services", "--changed", "HEAD"]);
    assert!(changed.out.contains("source files"), "{changed:?}");
    let revision = prony(&[&["compare", "shop@HEAD", "shop"], &SHORT[..]].concat());
    assert!(
        revision.code.is_some_and(|code| code == 0 || code == 3),
        "{revision:?}"
    );
}

/// From a clone to a verdict: `src/` and a Dockerfile are enough.
#[test]
fn a_dockerfile_says_how_a_repository_is_built_and_started() {
    let Some(engine) = engine() else { return };
    let repository = Repository::new();
    repository.write(".gitignore", "*.log\n");
    repository.write("openapi.yaml", DESCRIPTION);
    std::fs::copy(engine.programs.path("server"), repository.path("src/server")).expect("the program");
    repository.commit("a server");
    repository.git(&["remote", "add", "origin", "https://example.org/me/shop.git"]);
    let prony = |arguments: &[&str]| repository.prony_with(&engine.words, arguments);
    let made = prony(&["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.err.contains("guessed from Dockerfile"), "{}", made.err);
    let expected = "shop: 1 operation from openapi.yaml, checked";
    assert!(made.out.contains(expected), "{}", made.out);
    let described = std::fs::read_to_string(repository.path("service.toml")).expect("a description");
    assert!(
        described.contains("containerfile = \"Dockerfile\"") && described.lines().count() <= 10,
        "{described}"
    );
    repository.commit("measure it");
    repository.add("README.md", "More.\n");
    assert_eq!(repository.changed("HEAD"), "none");
    repository.write("src/new.txt", "new\n");
    assert_eq!(repository.changed("HEAD"), "source");
    let ended = prony(&[&["compare", "shop@HEAD", "shop"], &SHORT[..]].concat());
    assert!(ended.code.is_some_and(|code| code == 0 || code == 3), "{ended:?}");
    assert!(ended.out.contains("shop (uncommitted changes)"), "{}", ended.out);

    repository.commit("another file");
    let out = ["--format", "junit,json", "--out", "speed"];
    let ended = prony(&[&["compare", "HEAD~1", "HEAD"], &AT_ONCE[..], &out].concat());
    assert!(ended.code.is_some_and(|code| code == 0 || code == 3), "{ended:?}");
    let found = std::fs::read(repository.path("speed/comparison.json")).expect("the comparison");
    let found: Value = serde_json::from_slice(&found).expect("JSON");
    assert_eq!(found["base"]["commit"], repository.git(&["rev-parse", "HEAD~1"]));
    assert_eq!(found["head"]["commit"], repository.git(&["rev-parse", "HEAD"]));
    let cleaned = prony(&["clean", "builds"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
}

/// A repository whose branch `change` makes each reply take 50 ms, while `main` went on in another file.
fn branched() -> Repository {
    let repository = Repository::described();
    repository.git(&["branch", "-M", "main"]);
    repository.git(&["checkout", "-q", "-b", "change"]);
    let toy = std::fs::read_to_string(repository.path("src/toy.py")).expect("the toy");
    repository.write("src/toy.py", &toy.replace("DELAY = delay()", "DELAY = 0.05"));
    repository.commit("slower");
    repository.git(&["checkout", "-q", "main"]);
    repository.write("src/other.py", "# Of main.\n");
    repository.commit("main goes on");
    repository.git(&["checkout", "-q", "change"]);
    repository
}

#[test]
fn a_comment_says_what_may_come_from_code_layout() {
    let repository = branched();
    repository.write(
        "services/toolchains.toml",
        "[toy]\ntitle = \"Toy\"\nprobe = \"echo toy 1\"\nversion = 'toy (\\d+)'\ncode_layout = 0.999\n",
    );
    let compiled = SERVICE.replace("build =", "toolchains = [\"toy\"]\nbuild =");
    repository.write("service.toml", &compiled);
    repository.commit("compiled");
    repository.add("src/toy.py", "# More.\n");
    let compare = |sides: [&str; 2], more: &[&str]| {
        let done = repository.prony(&[&["compare"], &sides[..], more].concat());
        assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
        done
    };
    let formats = [
        "--at-once",
        "--format",
        "json,terminal,github,junit",
        "--out",
        ".prony/speed",
    ];
    compare(["shop@HEAD", "shop"], &[&AT_ONCE[..], &formats].concat());
    let text = |name: &str| {
        let text = std::fs::read_to_string(repository.path(".prony/speed").join(name)).expect("a file");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for name in ["comparison.txt", "comparison.md", "comparison.xml"] {
        let text = text(name);
        assert!(
            text.contains("Differences below 99.9 % may come from code layout"),
            "{name}: {text}"
        );
    }
    let found = serde_json::from_str::<Value>(&text("comparison.json")).expect("JSON");
    assert_eq!(found["measured"]["code_layout"], 0.999);

    // One build has one layout, and of other toolchains nothing is known.
    repository.git(&["checkout", "-q", "--", "src/toy.py"]);
    repository.write("elsewhere.md", "No source.\n");
    repository.commit("no source");
    for sides in [["shop@HEAD~1", "shop@HEAD"], ["shop@HEAD~3", "shop@HEAD~2"]] {
        let found = compare(sides, &[&SHORT[..], &["--json"]].concat()).json();
        assert_eq!(found["measured"]["code_layout"], Value::Null, "{sides:?}");
    }
}

/// Options of a comparison that a busy machine ends soon as well.
const AT_ONCE: [&str; 8] = [
    "--rounds",
    "2",
    "--duration",
    "300ms",
    "--warmup",
    "100ms",
    "--connections",
    "2",
];

#[test]
fn a_branch_is_compared_with_what_it_has_in_common_with_its_base() {
    let repository = branched();
    let formats = "json,github,gitlab,junit,bencher,github-action-benchmark";
    let out = ["--max-slowdown", "50%", "--format", formats, "--out", "speed"];
    let ended = repository.prony(&[&["compare", "main", "HEAD"], &AT_ONCE[..], &out].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let text = |name: &str| std::fs::read_to_string(repository.path("speed").join(name)).expect("a file");
    let json = |name: &str| serde_json::from_str::<Value>(&text(name)).expect("JSON");

    let found = json("comparison.json");
    let common = repository.git(&["rev-parse", "HEAD~1"]);
    assert_eq!(found["base"]["commit"], common, "not the end of main");
    assert_eq!(found["verdict"], "regression");
    assert_eq!(found["comparisons"].as_array().map(Vec::len), Some(1));
    let comment = text("comparison.md");
    for part in [
        "## prony: REGRESSION: the service became slower",
        "the last common commit of `main` and `HEAD`",
        "❌ `shop@",
        "Smallest change that",
        "<!-- prony: regression -->",
    ] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    let issues = json("gl-code-quality-report.json");
    let issue = &issues[0];
    assert_eq!(issue["severity"], "major", "{issues}");
    assert_eq!(issue["location"]["path"], "service.toml");
    assert!(issue["fingerprint"].as_str().is_some_and(|text| !text.is_empty()));
    let tests = text("comparison.xml");
    assert!(
        tests.contains("<testcase classname=\"shop, hello/hello\" name=\"goodput\"><failure"),
        "{tests}"
    );
    let ratio = &json("bencher.json")["shop, hello/hello"]["goodput-per-s-ratio"];
    assert!(
        ratio["value"].as_f64().is_some_and(|ratio| ratio < 0.5),
        "{ratio}"
    );
    let entries = json("github-action-benchmark.json");
    let times = entries.as_array().expect("entries").iter();
    let names: Vec<&str> = times.filter_map(|entry| entry["name"].as_str()).collect();
    assert!(
        names.contains(&"shop, hello/hello: response time, p99")
            && !names.iter().any(|name| name.contains("goodput")),
        "{names:?}"
    );
}

#[test]
fn a_comparison_goes_on_where_it_was_and_says_what_it_left_out() {
    let repository = branched();
    let compare = |more: &[&str]| {
        repository.prony(&[&["compare", "main", "change", "--json"], &AT_ONCE[..], more].concat())
    };
    let first = compare(&["--max-slowdown", "50%"]).json();
    let run = &first["comparisons"][0]["measured"]["runs"][0];
    let again = compare(&["--max-slowdown", "50%", "--resume"]);
    assert_eq!(
        &again.json()["comparisons"][0]["measured"]["runs"][0],
        run,
        "{again:?}"
    );

    let absent = compare(&["--service", "absent"]).json();
    assert_eq!(absent["verdict"], "no_change");
    assert_eq!(absent["left_out"][0]["reason"], "is in neither revision");
    let equal = repository.prony(&["compare", "HEAD"]);
    assert!(
        equal.code == Some(0) && equal.out.starts_with("NO CHANGE: no service differs"),
        "{equal:?}"
    );
    let unknown = repository.prony(&["compare", "no-such", "HEAD"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let broken = SERVICE.replace("cp src/toy.py built.py", "echo no compiler >&2; false");
    repository.write("service.toml", &broken);
    let failed = repository.prony(&[&["compare", "HEAD"], &AT_ONCE[..]].concat());
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(
        failed
            .out
            .starts_with("FAILED: the service could not be compared")
            && failed.out.contains("no compiler"),
        "{failed:?}"
    );
}

/// git does not know the files on another host.
#[test]
fn another_host_builds_from_the_same_files() {
    let repository = Repository::described();
    let build = "build = [\"test ! -e src/server.log && test -f target/kept.txt && cp src/toy.py built.py\"]";
    let text = SERVICE.replace("build = [\"cp src/toy.py built.py\"]", build);
    let text = text
        .replace("name = \"shop\"\n", "")
        .replace("\".\"", "\"../../..\"");
    repository.write("bench/prony.toml", "services = [\"apps/*\"]\n");
    repository.write("bench/apps/shop/service.toml", &text);
    repository.write("bench/testbed.toml", TESTBED);
    repository.write(
        "target/kept.txt",
        "what git tracks is a source, also under this name\n",
    );
    std::fs::remove_file(repository.path("service.toml")).expect("it is there");
    repository.commit("measure it");
    repository.write("src/server.log", "ignored\n");
    let project = repository.path("bench").display().to_string();
    let testbed = ["--testbed", "testbed.toml"];
    let checked = repository.prony(&[&["-C", &project, "check", "shop"], &testbed[..]].concat());
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let pair = ["compare", "shop@HEAD", "shop", "--rounds", "2"];
    let revision = repository.prony(&[&["-C", &project], &pair[..], &testbed].concat());
    assert!(
        revision.code != Some(0) && revision.err.contains("has no git history"),
        "{revision:?}"
    );
}

/// The first pull request that measures a repository has a base without a description.
#[test]
fn a_revision_from_before_the_description_is_built_by_the_current_one() {
    let repository = Repository::described();
    assert_eq!(repository.changed("HEAD~1..HEAD"), "none");
    repository.add("src/toy.py", "# Changed.\n");
    assert_eq!(repository.changed("HEAD~1"), "source");
    let compared = repository.prony(&[&["compare", "shop@HEAD~1", "shop"], &SHORT[..]].concat());
    assert!(
        compared.code.is_some_and(|code| code == 0 || code == 3),
        "{compared:?}"
    );
    let missing = repository.prony(&["compare", "other@HEAD~1", "shop"]);
    assert!(
        missing.code == Some(2) && missing.err.contains("does not have `other`"),
        "{missing:?}"
    );
}

#[test]
fn a_folder_without_git_is_built_as_a_whole() {
    let repository = Repository::described();
    std::fs::remove_dir_all(repository.path(".git")).expect("it is there");
    repository.write("node_modules/a/index.js", "");
    let folder = repository.built("shop");
    assert!(folder.join("src/toy.py").is_file() && !folder.join("node_modules").exists());
    let ended = repository.prony(&["compare", "shop@HEAD", "shop"]);
    assert!(
        ended.code == Some(2) && ended.err.contains("is not inside a git repository"),
        "{ended:?}"
    );
}

#[test]
fn what_is_wrong_with_a_source_is_said() {
    let repository = Repository::described();
    for (text, expected) in [
        (
            SERVICE.replace("source = \".\"", "source = \"../no\""),
            "there is no such folder",
        ),
        (
            SERVICE.replace("source = \".\"", "source = \"/tmp\""),
            "the path is absolute",
        ),
        (SERVICE.replace("*.md", "{a"), "write patterns as in .gitignore"),
        (SERVICE.replace("name = \"shop\"\n", ""), "the file has no `name`"),
        (SERVICE.replace("\"shop\"", "\"a b\""), "use letters, digits"),
    ] {
        repository.write("service.toml", &text);
        let told = repository.prony(&["validate"]);
        assert!(
            told.code == Some(2) && told.err.contains(expected),
            "{expected}: {told:?}"
        );
    }
    repository.write("service.toml", SERVICE);
    repository.write("prony.toml", "services = [\"apps/*\"]\n");
    let told = repository.prony(&["validate"]);
    assert!(
        told.code == Some(2) && told.err.contains("no folder `apps/*` has a service.toml"),
        "{told:?}"
    );
    repository.write("prony.toml", "");
    std::os::unix::fs::symlink("/etc/hostname", repository.path("src/outside")).expect("a link");
    let told = repository.prony(&["build", "shop"]);
    assert!(
        told.code != Some(0) && told.err.contains("name it in `ignore` of service.toml"),
        "{told:?}"
    );
}
