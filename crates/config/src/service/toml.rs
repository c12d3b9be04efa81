//! The keys of `service.toml`.

use super::Class;
use crate::TlsProtocol;
use crate::format::Spanned;
use prony_load::{DurationText, Protocol};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The keys of the file and of a variant. Most may be in both.
#[derive(Deserialize, Clone, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    /// The name of the folder. It may be omitted, except in the root of a repository, whose folder has any name.
    pub(super) name: Option<Spanned<String>>,
    /// The name that reports show. Default: the name of the folder.
    pub(super) title: Option<String>,
    /// The programming language.
    pub(super) language: Option<String>,
    /// The framework, with drivers and their versions.
    pub(super) framework: Option<String>,
    /// The published measurements that include the service, such as `["004"]`.
    #[schemars(extend("x-aliases" = ["documents"]))]
    pub(super) study: Option<Vec<String>>,
    /// The version of the framework, or of the runtime if there is no framework.
    pub(super) version: Option<String>,
    /// A shell command that prints the version. It runs in the build folder after the build, and must match `version`, if both are
    /// given.
    pub(super) version_from: Option<String>,
    /// Whether the variant has the version of a published measurement that is reproduced.
    #[schemars(extend("x-aliases" = ["era"]))]
    pub(super) pinned: Option<bool>,
    /// Earlier names of the variant, under which stored runs and commands may name it.
    pub(super) formerly: Option<Vec<String>>,
    /// Remarks for readers of reports.
    pub(super) note: Option<String>,
    /// The kind of software. Default: `micro`.
    pub(super) class: Option<Class>,
    /// The contracts that the service implements.
    #[schemars(length(min = 1))]
    pub(super) contracts: Option<Vec<Spanned<String>>>,
    /// The protocols, all on the same port. Default: `["http1"]`.
    #[schemars(length(min = 1))]
    pub(super) protocols: Option<Vec<Protocol>>,
    /// The protocols that the service offers in the TLS handshake (ALPN) on `TLS_PORT`, with the certificate chain in the file
    /// `TLS_CERT` and the key in `TLS_KEY`: `["h2", "http/1.1"]` or `["http/1.1"]`. The same process serves `PORT` without TLS. An empty
    /// list means that a variant has none.
    #[schemars(extend("uniqueItems" = true))]
    pub(super) tls: Option<Spanned<Vec<TlsProtocol>>>,
    /// Toolchains that the build needs, each as `name` or `name >= version`.
    pub(super) toolchains: Option<Vec<Spanned<String>>>,
    /// How the service uses CPUs.
    pub(super) workers: Option<WorkersToml>,
    /// The folder that is copied to where the service is built, relative to the folder of this file: `"."`, or `"../.."` for the
    /// whole repository. The commands and `containerfile` are relative to it. Default: the folder of this file.
    pub(super) source: Option<Spanned<PathBuf>>,
    /// Files of `source` whose changes are not measured, as patterns of `.gitignore`, such as `["docs/**", "*.md"]`. The build has
    /// them nevertheless.
    pub(super) ignore: Option<Vec<Spanned<String>>>,
    /// Files of `source` that git ignores, but that the build needs, as patterns of `.gitignore`.
    pub(super) include: Option<Vec<Spanned<String>>>,
    /// Shell commands that build the service, in a copy of its source.
    pub(super) build: Option<Vec<String>>,
    /// The shell command that starts the service, in the build folder. It reads `HOST`, `PORT` and `WORKERS`.
    pub(super) run: Option<Spanned<String>>,
    /// A container image on this machine, or the name for one that `containerfile` builds.
    pub(super) image: Option<Spanned<String>>,
    /// A file in the source of the service from which a container image is built.
    #[schemars(extend("x-aliases" = ["dockerfile"]))]
    pub(super) containerfile: Option<Spanned<PathBuf>>,
    /// The address of a service that runs already, such as `http://127.0.0.1:8080`.
    pub(super) url: Option<Spanned<String>>,
    /// The process of a service that runs already: its id, or a file with the id.
    pub(super) pid: Option<Spanned<PidSourceToml>>,
    /// The control group of a service that runs already.
    pub(super) cgroup: Option<Spanned<PathBuf>>,
    /// Whether requests that may change data are sent to a service that runs already. Default: only GET, HEAD, OPTIONS and operations
    /// that are `safe`.
    pub(super) allow_writes: Option<Spanned<bool>>,
    /// A PEM file in the folder of the service with the only certificates to trust.
    pub(super) cacert: Option<Spanned<PathBuf>>,
    /// Whether any certificate is accepted.
    pub(super) insecure: Option<Spanned<bool>>,
    /// Variables of the environment of build and run.
    pub(super) env: Option<BTreeMap<String, String>>,
    /// Variables of the caller's environment that build and run inherit. They inherit few others.
    pub(super) pass: Option<Vec<Spanned<String>>>,
    /// Beginnings of the names of the threads in which its runtime compiles, in addition to those of runtimes that prony knows. The
    /// service is warm when they are idle.
    pub(super) compiler_threads: Option<Vec<String>>,
    /// The longest time until the service is ready. Default: 30 s, and 3 s for one that runs already.
    pub(super) start_timeout: Option<DurationText>,
    /// Files from elsewhere in the project: path in the build folder = path from the root of the project.
    pub(super) copies: Option<BTreeMap<PathBuf, Spanned<PathBuf>>>,
    /// The page of the framework's documentation that recommends the settings.
    pub(super) guide: Option<String>,
    /// What to do if the build cannot download what it needs.
    pub(super) unavailable_hint: Option<String>,
    /// The variants; the first is the default. Without one, the service has a single variant, `default`.
    #[serde(rename = "variant", default)]
    pub(super) variants: Vec<VariantToml>,
}

/// Keys that describe the service, and are the same for all variants.
const ONLY_ABOVE: &[&str] = &["title", "language", "framework", "study", "variant"];
/// Keys that describe one of several variants.
const ONLY_IN_VARIANT: &[&str] = &["pinned", "formerly"];

/// A service: how it is built and started, and the contracts that it implements.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct ServiceToml(pub(super) Keys);

impl JsonSchema for ServiceToml {
    fn schema_name() -> Cow<'static, str> {
        "Service".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Keys::json_schema(generator);
        remove_keys(&mut schema, ONLY_IN_VARIANT, "it belongs in a `[[variant]]`");
        schema.insert(
            "description".into(),
            "A service: how it is built and started, and the contracts that it implements.".into(),
        );
        schema
    }
}

/// A variant of a service. Its keys replace those above the variants.
#[derive(Deserialize, Clone)]
#[serde(transparent)]
pub(super) struct VariantToml(pub(super) Keys);

impl JsonSchema for VariantToml {
    fn schema_name() -> Cow<'static, str> {
        "Variant".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Keys::json_schema(generator);
        remove_keys(&mut schema, ONLY_ABOVE, "it belongs above the variants");
        schema.insert(
            "description".into(),
            "A variant of the service. Its keys replace those above the variants.".into(),
        );
        schema.insert("required".into(), json!(["name"]));
        if let Some(name) = schema.pointer_mut("/properties/name") {
            name["description"] = "The name of the variant.".into();
        }
        schema
    }
}

/// Removes keys from the schema of a table, and keeps where they belong instead.
fn remove_keys(schema: &mut Schema, keys: &[&str], place: &str) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for key in keys {
            properties.remove(*key);
        }
    }
    let misplaced: Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), place.into())).collect();
    schema.insert("x-misplaced".into(), misplaced.into());
}

/// The process of a service that runs already.
#[derive(Deserialize, Clone, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "a process id, or the name of a file with one"))]
pub(super) enum PidSourceToml {
    /// The id.
    Number(u32),
    /// A file with the id.
    File(PathBuf),
}

/// How a service uses CPUs.
#[derive(Deserialize, Clone, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkersToml {
    /// The kind of workers.
    #[schemars(extend("x-aliases" = ["uses"]))]
    pub(super) kind: WorkerKind,
    /// A description in a sentence.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["how"]))]
    pub(super) note: String,
}

/// The kind of workers of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerKind {
    /// A thread for each CPU.
    Threads,
    /// A process for each CPU.
    Processes,
    /// Event loops in threads of one process.
    EventLoops,
    /// It can use only one CPU.
    OneCpu,
}
