//! What a contract's files hold is sent to servers, so no key of a contract names a file of somebody else.

use prony_config::ConfigError;
use prony_config::contract::Contract;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A contract with a key of each kind that names a file. All of them are `FILE`.
const CONTRACT: &str = r#"format = 1
HEAD

[operation.get]
http = "POST /get"
OPERATION
expect = { status = 200 EXPECT }

TABLES

[workload.get]
mix = [{ operation = "get" }]
load = { kind = "closed", connections = 1 }
DATA
"#;

/// A key that names a file, the part of the contract that it is in, a text that such a file may hold, and the key in messages.
const KEYS: [(&str, &str, &str, &str); 8] = [
    ("OPERATION", "file = \"FILE\"", "text", "`file`"),
    ("EXPECT", ", file = \"FILE\"", "text", "`file`"),
    ("EXPECT", ", json_schema = \"FILE\"", "{}", "`json_schema`"),
    (
        "TABLES",
        "[env]\nSECRET = { file = \"FILE\" }",
        "text",
        "`env.SECRET`",
    ),
    (
        "TABLES",
        "[jwt.token]\nalg = \"HS256\"\nkey = { file = \"FILE\" }\nclaims = {}",
        "text",
        "`key`",
    ),
    (
        "TABLES",
        "[backing_service.db]\nuse = \"postgresql\"\nseed = [\"FILE\"]",
        "text",
        "`seed`",
    ),
    ("DATA", "data = \"FILE\"", "name\nmine\n", "`data`"),
    ("HEAD", "proto = \"FILE\"", "syntax = \"proto3\";", "`proto`"),
];

/// A project with a contract, next to a file that belongs to neither.
struct Project(TempDir);

impl Project {
    fn new(content: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let project = Self(folder);
        for path in ["home/secret", "project/contracts/toy/own", "project/shared"] {
            let path = project.path(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, content).expect("written");
        }
        std::fs::write(project.path("project/prony.toml"), "").expect("written");
        symlink(
            project.path("home/secret"),
            project.path("project/contracts/toy/link"),
        )
        .expect("linked");
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn load(&self, (place, key): (&str, &str), file: &str) -> Result<Contract, ConfigError> {
        let mut text = CONTRACT.replace(place, &key.replace("FILE", file));
        for other in ["HEAD", "OPERATION", "EXPECT", "TABLES", "DATA"] {
            text = text.replace(other, "");
        }
        let folder = self.path("project/contracts/toy");
        std::fs::write(folder.join("contract.toml"), text).expect("written");
        Contract::load(&folder)
    }
}

#[test]
fn each_key_reads_files_of_the_contract_and_none_from_outside() {
    for (place, key, content, name) in KEYS {
        let project = Project::new(content);
        let load = |file: &str| project.load((place, key), file);
        load("own").unwrap_or_else(|error| panic!("{name}: {error}"));
        let absolute = project.path("home/secret");
        for outside in ["../../../home/secret", "link", absolute.to_str().expect("UTF-8")] {
            let Err(error) = load(outside) else {
                panic!("{name} reads {outside}");
            };
            let text = error.to_string();
            let told = text.contains("outside of the contract's folder")
                || text.contains("a file of the contract's folder");
            assert!(told && text.contains(name), "{name} {outside}: {text}");
        }
    }
}

#[test]
fn files_of_the_project_are_shared_by_contracts() {
    for (place, key, content, name) in KEYS {
        // Seeds are sent to another host with the folder of the contract, and a schema is compiled in it.
        if ["`seed`", "`proto`"].contains(&name) {
            continue;
        }
        let project = Project::new(content);
        let shared = project.load((place, key), "../../shared");
        shared.unwrap_or_else(|error| panic!("{name}: {error}"));
        // Without a project, there is only the folder.
        std::fs::remove_file(project.path("project/prony.toml")).expect("removed");
        assert!(project.load((place, key), "../../shared").is_err(), "{name}");
    }
}

#[test]
fn a_schema_imports_no_file_from_outside() {
    let project = Project::new("syntax = \"proto3\"; message Secret {}");
    let folder = project.path("project/contracts/toy");
    let load = |import: &str| {
        let schema = format!("syntax = \"proto3\"; import \"{import}\"; message Own {{}}");
        std::fs::write(folder.join("toy.proto"), schema).expect("written");
        project.load(("HEAD", "proto = \"FILE\""), "toy.proto")
    };
    load("own").unwrap_or_else(|error| panic!("{error}"));
    load("google/protobuf/empty.proto").unwrap_or_else(|error| panic!("{error}"));
    for outside in ["link", "../../../home/secret"] {
        assert!(load(outside).is_err(), "{outside}");
    }
    assert!(load("link").expect_err("outside").to_string().contains("outside"));
}

/// Reading it would wait for ever.
#[test]
fn a_fifo_is_no_file_of_a_contract() {
    for (place, key, content, name) in KEYS {
        let project = Project::new(content);
        let fifo = project.path("project/contracts/toy/fifo");
        let made = std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .expect("mkfifo");
        assert!(made.success() && Path::new(&fifo).exists());
        assert!(project.load((place, key), "fifo").is_err(), "{name}");
    }
}
