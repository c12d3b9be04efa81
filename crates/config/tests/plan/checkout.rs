//! A checkout of two services, for tests of files.

use prony_config::{Catalogue, ConfigError, Plan, PlanOverrides, Suite};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SERVICE: &str = r#"name = "NAME"
title = "A title"
language = "Go"
framework = "net/http"
class = "platform"
contracts = ["hello"]
toolchains = ["go >= 1.22"]
build = ["go build -o server ."]
run = "exec ./server"

[workers]
uses = "threads"
how = "a thread per CPU"

[[variant]]
name = "current"
version = "1.26"

[[variant]]
name = "single"
version = "1.26"
env = { WORKERS = "1" }
"#;

const TOOLCHAINS: &str = r#"[go]
title = "Go"
probe = "go version"
version = 'go(\d+(?:\.\d+)+)'
debian = ["golang-go"]
"#;

/// Services of two names in one group.
pub(crate) const SUITE: &str = r#"title = "A suite"
rounds = 3

[[group]]
contract = "hello"
load = { kind = "closed", connections = 8 }
services = ["go-one", "go-two/*"]
"#;

/// A checkout with the project's own contracts and two services.
pub(crate) struct Checkout(TempDir);

impl Checkout {
    pub(crate) fn new() -> Self {
        let checkout = Self(TempDir::new().expect("a temporary folder"));
        for ours in ["contracts", "backing-services"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(ours);
            let folder = folder.canonicalize().expect("a folder of the project");
            std::os::unix::fs::symlink(folder, checkout.path(ours)).expect("a link");
        }
        checkout.write("services/toolchains.toml", TOOLCHAINS);
        checkout.write("services/go-one/service.toml", &SERVICE.replace("NAME", "go-one"));
        checkout.write("services/go-two/service.toml", &SERVICE.replace("NAME", "go-two"));
        checkout.write("suites/a.toml", SUITE);
        checkout
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(self.path(name), text).expect("a file");
    }

    pub(crate) fn catalogue(&self) -> Result<Catalogue, ConfigError> {
        Catalogue::read(self.0.path())
    }

    pub(crate) fn plan(&self, overrides: &PlanOverrides) -> Result<Plan, ConfigError> {
        let catalogue = self.catalogue()?;
        let suite = Suite::read(&catalogue.suite_file("a")?, None)?;
        Plan::of(&catalogue, &suite, overrides)
    }

    /// The suite as it is read.
    pub(crate) fn suite(&self, profile: Option<&str>) -> Result<Suite, ConfigError> {
        Suite::read(&self.path("suites/a.toml"), profile)
    }

    /// The error message, without the temporary folder.
    pub(crate) fn error(&self) -> String {
        let error = self.plan(&PlanOverrides::default()).expect_err("an error");
        error
            .to_string()
            .replace(&format!("{}/", self.0.path().display()), "")
    }
}
