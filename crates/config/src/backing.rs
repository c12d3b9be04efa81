//! `backing-services/<name>/backing.toml`: a backing service, and how to seed, start and query it.

use crate::ConfigError;
use crate::contract::UpperLimit;
use crate::format::suggestion::suggest;
use crate::format::{Faults, FileKind, SourceFile, Spanned};
use crate::project::folder_name;
use crate::service::wrong_name;
use crate::suite::{Limits, LimitsToml};
use crate::toolchain::{Requirement, regex, requirements};
use prony_load::DurationText;
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A backing service: a database, a cache, a slow backend.
#[derive(Debug, Clone)]
pub struct BackingDefinition {
    /// The name of its folder, which contracts use.
    pub name: String,
    pub title: String,
    /// Toolchains that its host must have.
    pub toolchains: Vec<Requirement>,
    /// If prony runs as root, the backing service runs as the first of these users that exists. Empty: as root.
    pub users: Vec<String>,
    /// Shell commands that create its data from seed files; `None`: it takes no seed.
    pub seed: Option<String>,
    /// Shell command that runs it, in the folder with its data.
    pub run: String,
    /// Shell command that sets its passwords while it runs; `None`: its `run` does.
    pub credentials: Option<String>,
    pub ready: ReadinessCheck,
    /// Shell command that removes what the check wrote; `None`: it is restarted with its original data.
    pub reset: Option<String>,
    /// Shell command that writes another version of a file, `$VERSION`; `None`: it has no such file.
    pub change: Option<String>,
    /// Whether it must run on the host of the service, which reads its data.
    pub beside_service: bool,
    /// The signal that stops it.
    pub stop_signal: Option<StopSignal>,
    /// The longest time until it is ready.
    pub start_timeout: Duration,
    /// Variables added to the environment of the service.
    pub env: BTreeMap<String, String>,
    pub settings: BTreeMap<String, String>,
    /// The command-line arguments for one setting.
    pub setting: Vec<String>,
    /// The URL for queries; `None`: it cannot be queried.
    pub query_url: Option<String>,
    /// The same on its own host: over a socket in its data folder.
    pub local_query_url: Option<String>,
    /// Query for the activity of the service's connections: a row for each activity, with the number of connections; `None`:
    /// unknown.
    pub watch: Option<String>,
    /// Headers of requests that go to it directly in a paired design; `None`: it has no direct path.
    pub direct_headers: Option<BTreeMap<String, String>>,
    /// A path that counts its events, and how many of them it sent late; `None`: unknown.
    pub lateness: Option<String>,
    pub limits: Limits,
    /// Patterns in its log that mean that it failed: then the trial shows nothing about the service.
    pub fatal_log: Vec<Regex>,
    /// Patterns in its log that mean that the service overloaded it, each with an explanation.
    pub service_error_log: Vec<(Regex, String)>,
    /// The folder with `backing.toml`.
    pub folder: PathBuf,
}

/// How prony checks that a backing service is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadinessCheck {
    /// It answers this query.
    Query(String),
    /// This shell command succeeds.
    Command(String),
    /// It answers a GET of this path with a status below 500.
    Get(String),
}

/// The signal for an orderly stop. It is sent only to the first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// Interrupt: PostgreSQL ends its sessions and then stops.
    Int,
    Quit,
    Term,
}

impl StopSignal {
    /// The number is the same on all platforms that prony runs on.
    pub const fn number(self) -> i32 {
        match self {
            Self::Int => 2,
            Self::Quit => 3,
            Self::Term => 15,
        }
    }
}

/// A backing service: how it is seeded, started and queried.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackingToml {
    /// The name of the folder. It may be omitted.
    name: Option<Spanned<String>>,
    /// The name that reports show. Default: the name of the folder.
    title: Option<String>,
    /// Toolchains that its host must have, each as `name` or `name >= version`.
    #[serde(default)]
    toolchains: Vec<Spanned<String>>,
    /// The users it may run as if prony is root; the first that exists is taken.
    #[serde(default)]
    user: Vec<Spanned<String>>,
    /// A shell script that creates its data from the seed files, which are its arguments.
    seed: Option<String>,
    /// The shell command that runs it, in the folder with its data. It must `exec`.
    run: String,
    /// A shell command that sets the password of the service, `$PASSWORD`, and that of prony, `$ADMIN_PASSWORD`, once it runs. It is
    /// repeated until it succeeds.
    credentials: Option<String>,
    /// How prony checks that it is ready: `query`, `command` or `get`.
    ready: Spanned<ReadyToml>,
    /// A shell command that undoes all writes. Without it, the backing service is restarted with a new copy of its data.
    reset: Option<String>,
    /// A shell command that writes version `$VERSION` of a file of known bytes.
    change: Option<String>,
    /// Whether it always runs on the host of the service, because the service reads files in `{data}`.
    #[serde(default)]
    beside_service: bool,
    /// The signal that stops it. Default: TERM to all of its processes.
    stop_signal: Option<StopSignal>,
    /// The longest time until it is ready. Default: 10 s.
    start_timeout: Option<DurationText>,
    /// Variables of the environment of the service, such as `DATABASE_URL`, with `{host}`, `{port}`, `{password}` and `{data}`, the
    /// folder with its data.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["exports"]))]
    env: BTreeMap<String, String>,
    /// Settings and their defaults. A contract may change these, and no others.
    #[serde(default)]
    settings: BTreeMap<String, String>,
    /// The arguments for one setting in `{settings}`, such as `["-c", "{name}={value}"]`.
    #[serde(default)]
    setting: Vec<String>,
    /// The address for queries in PostgreSQL's protocol, such as `postgres://admin:{admin_password}@{host}:{port}/name`.
    #[schemars(extend("x-aliases" = ["asked_at"]))]
    query_url: Option<Spanned<String>>,
    /// The same address for a prony on the same host, such as `postgres://postgres@/name?host={data}&port={port}`: a socket in the
    /// folder with its data. Default: `query_url`.
    local_query_url: Option<String>,
    /// A query for the activity of the service's connections: a row for each activity, with the number of connections.
    watch: Option<Spanned<String>>,
    /// Limits of its resources.
    #[serde(default)]
    limits: LimitsToml,
    /// Regular expressions for lines of its log that mean that it failed.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["faults"]))]
    fatal_log: Vec<Spanned<String>>,
    /// Regular expressions for lines of its log, each with the mistake of the service that it means.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["blames"]))]
    service_error_log: BTreeMap<Spanned<String>, String>,
    /// In a paired design requests also go to it directly, without the service: with these headers instead of the contract's, such as
    /// `{ Authorization = "Bearer {password}" }`.
    direct_headers: Option<BTreeMap<String, String>>,
    /// A path whose JSON has `events`, the number of events that it sent, and `late_events`, how many of them later than it should. More
    /// than 1 % in a measurement are a warning.
    lateness: Option<String>,
}

/// How prony checks that a backing service is ready: one of the keys.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadyToml {
    /// It answers this query, at `query_url`.
    query: Option<String>,
    /// This shell command succeeds.
    command: Option<String>,
    /// It answers a GET of this path with a status below 500.
    get: Option<String>,
}

/// The folders of backing services and the file that describes each; the older name first, so that the newer one wins.
pub(crate) const PLACES: [(&str, &str); 2] = [
    ("companions", "companion.toml"),
    ("backing-services", "backing.toml"),
];

const START_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn read(folder: &Path) -> Result<BackingDefinition, ConfigError> {
    let mut files = PLACES.iter().rev().map(|(_, file)| folder.join(file));
    let file = files.find(|file| file.is_file());
    let file = file.unwrap_or_else(|| folder.join("backing.toml"));
    of(&SourceFile::read(&file)?, folder)
}

/// The same, from the text of its file.
pub(crate) fn of(source: &SourceFile, folder: &Path) -> Result<BackingDefinition, ConfigError> {
    let written: BackingToml = source.parse(FileKind::Backing)?;
    let mut faults = Faults::default();
    let name = folder_name(folder);
    if let Some(wrong) = written.name.as_ref().filter(|written| *written.get_ref() != name) {
        faults.keep::<()>(Err(wrong_name(source, wrong, &name)));
    }
    let toolchains = faults.keep(requirements(source, &written.toolchains));
    let ready = faults.keep(ready(source, &written));
    if let (Some(watch), None) = (&written.watch, &written.query_url) {
        faults.keep::<()>(Err(no_query_url(source, watch.span(), "watch")));
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    for user in &written.user {
        if user.get_ref().is_empty() || !user.get_ref().chars().all(plain) {
            let message = format!("`{}` is not the name of a user", user.get_ref());
            let help = "give names, as in [\"postgres\"]";
            faults.keep::<()>(Err(source.invalid_with(user.span(), message, help)));
        }
    }
    let mut service_error_log = Vec::new();
    for (pattern, meaning) in written.service_error_log {
        let pattern = faults.keep(regex(source, &pattern));
        service_error_log.extend(pattern.map(|pattern| (pattern, meaning)));
    }
    let mut fatal_log = Vec::new();
    for pattern in &written.fatal_log {
        fatal_log.extend(faults.keep(regex(source, pattern)));
    }
    let limits = faults.keep(written.limits.resolve(source));
    let (Some(toolchains), Some(ready), Some(limits)) = (toolchains, ready, limits) else {
        return Err(faults.into_error());
    };
    faults.or(BackingDefinition {
        title: written.title.unwrap_or_else(|| name.clone()),
        name,
        toolchains,
        users: written.user.into_iter().map(Spanned::into_inner).collect(),
        seed: written.seed,
        run: written.run,
        credentials: written.credentials,
        ready,
        reset: written.reset,
        change: written.change,
        beside_service: written.beside_service,
        stop_signal: written.stop_signal,
        start_timeout: written.start_timeout.map_or(START_TIMEOUT, |timeout| timeout.0),
        env: written.env,
        settings: written.settings,
        setting: written.setting,
        query_url: written.query_url.map(Spanned::into_inner),
        local_query_url: written.local_query_url,
        watch: written.watch.map(Spanned::into_inner),
        direct_headers: written.direct_headers,
        lateness: written.lateness,
        limits,
        fatal_log,
        service_error_log,
        folder: folder.to_owned(),
    })
}

fn no_query_url(source: &SourceFile, span: Range<usize>, key: &str) -> ConfigError {
    let message = format!("`{key}` is a query, and there is no `query_url`");
    source.invalid_with(span, message, "add `query_url`, the address for queries")
}

fn ready(source: &SourceFile, written: &BackingToml) -> Result<ReadinessCheck, ConfigError> {
    let span = written.ready.span();
    let ready = written.ready.get_ref();
    match (&ready.query, &ready.command, &ready.get) {
        (Some(_), None, None) if written.query_url.is_none() => Err(no_query_url(source, span, "ready")),
        (Some(query), None, None) => Ok(ReadinessCheck::Query(query.clone())),
        (None, Some(command), None) => Ok(ReadinessCheck::Command(command.clone())),
        (None, None, Some(path)) => Ok(ReadinessCheck::Get(path.clone())),
        (None, None, None) => {
            let help = "give `query`, `command` or `get`";
            Err(source.invalid_with(span, "`ready` is empty", help))
        }
        _ => {
            let help = "give only one of `query`, `command` and `get`";
            Err(source.invalid_with(span, "`ready` has several checks", help))
        }
    }
}

impl BackingDefinition {
    /// The limit that a contract sets: a number, or the name of a variable that the backing service exports. The error says
    /// why there is none.
    pub fn number(&self, most: &UpperLimit) -> Result<u64, String> {
        let name = match most {
            UpperLimit::Number(number) => return Ok(*number),
            UpperLimit::Variable(name) => name,
        };
        let Some(value) = self.env.get(name) else {
            let allowed = suggest(self.env.keys().map(String::as_str), name);
            return Err(format!("`{}` has no variable `{name}`: {allowed}", self.name));
        };
        let number = value.parse();
        number.map_err(|_| {
            format!(
                "`{name}` of `{}` is \"{value}\", which is not a number",
                self.name
            )
        })
    }

    /// Its settings, overridden by those of a contract. The error is the name of an unknown setting.
    pub fn settings_with<'a>(
        &self,
        of_contract: &'a BTreeMap<String, serde_json::Value>,
    ) -> Result<BTreeMap<String, String>, &'a str> {
        let mut settings = self.settings.clone();
        for (name, value) in of_contract {
            let Some(setting) = settings.get_mut(name) else {
                return Err(name);
            };
            *setting = match value {
                serde_json::Value::String(text) => text.clone(),
                value => value.to_string(),
            };
        }
        Ok(settings)
    }
}
