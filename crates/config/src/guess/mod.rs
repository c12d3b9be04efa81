//! Guesses from the files of a repository how its server is built and started, by the conventions of each ecosystem, and which paths
//! it may serve. A guess is written into a `service.toml`, where people correct it.

mod container;
mod dotnet;
mod folder;
mod go;
mod jvm;
mod node;
mod python;
mod routes;
mod ruby;
mod rust;

pub use routes::{Routes, routes};

use crate::format::FORMAT;
use folder::Folder;
use std::path::{Path, PathBuf};

/// What the files of a repository say about building and starting its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// The file that it is based on.
    pub evidence: String,
    /// Toolchains that the build needs.
    pub toolchains: Vec<&'static str>,
    /// The commands of the build.
    pub build: Vec<String>,
    /// How it is started.
    pub start: StartGuess,
    /// What a reader should know, each in a sentence.
    pub remarks: Vec<String>,
}

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartGuess {
    /// By this command.
    Run(String),
    /// As a container of an image that is built from this file.
    Containerfile(String),
    /// Unknown: why, and a command as an example.
    Unknown { reason: String, example: String },
}

impl Guess {
    fn run(evidence: impl Into<String>, command: impl Into<String>) -> Self {
        Self::of(evidence, StartGuess::Run(command.into()))
    }

    fn unknown(evidence: impl Into<String>, reason: impl Into<String>, example: &str) -> Self {
        let start = StartGuess::Unknown {
            reason: reason.into(),
            example: example.to_owned(),
        };
        Self::of(evidence, start)
    }

    fn of(evidence: impl Into<String>, start: StartGuess) -> Self {
        Self {
            evidence: evidence.into(),
            toolchains: Vec::new(),
            build: Vec::new(),
            start,
            remarks: Vec::new(),
        }
    }

    fn with_toolchains(self, toolchains: &[&'static str]) -> Self {
        Self {
            toolchains: toolchains.to_vec(),
            ..self
        }
    }

    fn with_build(self, build: Vec<String>) -> Self {
        Self { build, ..self }
    }

    fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remarks.push(remark.into());
        self
    }

    const fn is_known(&self) -> bool {
        !matches!(self.start, StartGuess::Unknown { .. })
    }

    /// The `service.toml` of a service of this name, with a contract of the same name. An unknown command is a comment.
    pub fn service_toml(&self, name: &str) -> String {
        let list = |items: &mut dyn Iterator<Item = String>| {
            let items: Vec<String> = items.map(|item| toml_text(&item)).collect();
            format!("[{}]", items.join(", "))
        };
        let mut lines = vec![
            format!("format = {FORMAT}"),
            format!("name = {}", toml_text(name)),
            "source = \".\"                     # what is built and measured".to_owned(),
            "ignore = [\"*.md\", \"docs/**\"]     # changes that do not matter".to_owned(),
            format!("contracts = [{}]", toml_text(name)),
        ];
        if !self.toolchains.is_empty() {
            let mut toolchains = self.toolchains.iter().map(|&name| name.to_owned());
            lines.push(format!("toolchains = {}", list(&mut toolchains)));
        }
        if !self.build.is_empty() {
            lines.push(format!("build = {}", list(&mut self.build.iter().cloned())));
        }
        lines.push(match &self.start {
            StartGuess::Run(command) => format!("run = {}", toml_text(command)),
            StartGuess::Containerfile(file) => format!("containerfile = {}", toml_text(file)),
            StartGuess::Unknown { example, .. } => {
                format!("# run = {}    # the command that starts it", toml_text(example))
            }
        });
        lines.join("\n") + "\n"
    }
}

/// A string of TOML. One without quotes of its own is easier to read in single quotes if it has double ones.
fn toml_text(text: &str) -> String {
    if text.contains('"') && !text.contains(['\'', '\n']) {
        format!("'{text}'")
    } else {
        toml::Value::from(text).to_string()
    }
}

/// A guess for the repository in a folder; `None`: nothing that prony knows is there. A language is preferred to a container, which
/// adds costs of its own, unless only the container says how the server is started.
pub fn guess(root: &Path) -> Option<Guess> {
    let folder = Folder::new(root);
    let languages = [
        node::guess,
        go::guess,
        rust::guess,
        jvm::maven,
        jvm::gradle,
        python::guess,
        ruby::guess,
        dotnet::guess,
    ];
    let found: Vec<Guess> = languages.iter().filter_map(|guess| guess(&folder)).collect();
    let container = container::guess(&folder);
    let known = found.iter().find(|guess| guess.is_known()).cloned();
    match (known, container) {
        (Some(known), Some(container)) => {
            let file = container.evidence;
            Some(known.remark(format!(
                "`containerfile = \"{file}\"` instead of `build` and `run` measures the image of {file}."
            )))
        }
        (known, container) => known.or(container).or_else(|| found.into_iter().next()),
    }
}

/// The description of the API in a repository: an OpenAPI or Swagger file.
pub fn description(root: &Path) -> Option<PathBuf> {
    let folder = Folder::new(root);
    let is_description = |path: &Path| {
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let extension = path
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or_default();
        matches!(stem.to_ascii_lowercase().as_str(), "openapi" | "swagger")
            && matches!(extension, "yaml" | "yml" | "json")
    };
    let mut found = folder.files().filter(|path| is_description(path));
    found.next().map(|path| root.join(path))
}

#[cfg(test)]
mod tests;
