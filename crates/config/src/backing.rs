//! `backing-services/<name>/backing.toml`: a backing service, and how to seed, start and query it.

use crate::ConfigError;
use crate::contract::UpperLimit;
use crate::format::{FileKind, SourceFile};
use crate::format::suggestion::suggest;
use crate::suite::{Limits, LimitsToml};
use crate::toolchain::Requirement;
use prony_load::DurationText;
use regex::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use crate::format::Spanned;

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
    pub ready: ReadinessCheck,
    /// Shell command that removes what the check wrote; `None`: it is restarted with its original data.
    pub reset: Option<String>,
    /// The signal that stops it.
    pub stop_signal: Option<StopSignal>,
    /// The longest time until it is ready.
    pub start_timeout: Duration,
    /// Variables added to the environment of the service.
    pub exports: BTreeMap<String, String>,
    pub settings: BTreeMap<String, String>,
    /// The command-line arguments for one setting.
    pub setting: Vec<String>,
    /// The URL for queries; `None`: it cannot be queried.
    pub asked_at: Option<String>,
    /// Query for the activity of the service's connections: a row for each activity, with the number of connections; `None`:
    /// unknown.
    pub watch: Option<String>,
    pub limits: Limits,
    /// Patterns in its log that mean that it failed: then the trial shows nothing about the service.
    pub faults: Vec<Regex>,
    /// Patterns in its log that mean that the service overloaded it, each with an explanation.
    pub blames: Vec<(Regex, String)>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
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

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct BackingToml {
    name: Spanned<String>,
    title: String,
    #[serde(default)]
    toolchains: Vec<Spanned<String>>,
    #[serde(default)]
    user: Vec<Spanned<String>>,
    seed: Option<String>,
    run: String,
    ready: Spanned<ReadyToml>,
    reset: Option<String>,
    stop_signal: Option<StopSignal>,
    start_timeout: Option<DurationText>,
    #[serde(default)]
    exports: BTreeMap<String, String>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    #[serde(default)]
    setting: Vec<String>,
    asked_at: Option<Spanned<String>>,
    watch: Option<Spanned<String>>,
    #[serde(default)]
    limits: LimitsToml,
    #[serde(default)]
    faults: Vec<Spanned<String>>,
    #[serde(default)]
    blames: BTreeMap<String, String>,
}

#[derive(Deserialize, Default, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadyToml {
    query: Option<String>,
    command: Option<String>,
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
    let source = SourceFile::read(&file.unwrap_or_else(|| folder.join("backing.toml")))?;
    let written: BackingToml = source.parse(FileKind::Backing)?;
    let name = written.name.get_ref();
    if folder.file_name().is_none_or(|file| file != name.as_str()) {
        let message = format!("`name` is `{name}`: it must be the name of the folder");
        return Err(source.invalid(written.name.span(), message));
    }
    let mut toolchains = Vec::new();
    for one in &written.toolchains {
        toolchains.push(Requirement::parse(one.get_ref()).ok_or_else(|| {
            let message = format!(
                "`toolchains`: `{}` is neither `name` nor `name >= version`",
                one.get_ref()
            );
            source.invalid(one.span(), message)
        })?);
    }
    let ready = ready(&source, &written)?;
    if let (Some(watch), None) = (&written.watch, &written.asked_at) {
        let message = "`watch` is a query, and there is no `asked_at`: give the URL for queries";
        return Err(source.invalid(watch.span(), message));
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    for user in &written.user {
        if user.get_ref().is_empty() || !user.get_ref().chars().all(plain) {
            return Err(source.invalid(user.span(), "`user`: give user names, like [\"postgres\"]"));
        }
    }
    let mut blames = Vec::new();
    for (pattern, meaning) in written.blames {
        let pattern = Regex::new(&pattern).map_err(|error| {
            source.invalid(0..0, format!("`blames`: `{pattern}` is not a pattern: {error}"))
        })?;
        blames.push((pattern, meaning));
    }
    let mut faults = Vec::new();
    for pattern in &written.faults {
        faults.push(Regex::new(pattern.get_ref()).map_err(|error| {
            let message = format!("`faults`: `{}` is not a pattern: {error}", pattern.get_ref());
            source.invalid(pattern.span(), message)
        })?);
    }
    Ok(BackingDefinition {
        title: written.title,
        toolchains,
        users: written.user.into_iter().map(Spanned::into_inner).collect(),
        seed: written.seed,
        run: written.run,
        ready,
        reset: written.reset,
        stop_signal: written.stop_signal,
        start_timeout: written.start_timeout.map_or(START_TIMEOUT, |timeout| timeout.0),
        exports: written.exports,
        settings: written.settings,
        setting: written.setting,
        asked_at: written.asked_at.map(Spanned::into_inner),
        watch: written.watch.map(Spanned::into_inner),
        limits: written.limits.resolve(&source)?,
        faults,
        blames,
        folder: folder.to_owned(),
        name: written.name.into_inner(),
    })
}

fn ready(source: &SourceFile, written: &BackingToml) -> Result<ReadinessCheck, ConfigError> {
    let span = written.ready.span();
    let ready = written.ready.get_ref();
    match (&ready.query, &ready.command, &ready.get) {
        (Some(_), None, None) if written.asked_at.is_none() => Err(source.invalid(
            span,
            "`ready` is a query, and there is no `asked_at`: give the URL for queries",
        )),
        (Some(query), None, None) => Ok(ReadinessCheck::Query(query.clone())),
        (None, Some(command), None) => Ok(ReadinessCheck::Command(command.clone())),
        (None, None, Some(path)) => Ok(ReadinessCheck::Get(path.clone())),
        _ => Err(source.invalid(span, "`ready`: give exactly one of `query`, `command` and `get`")),
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
        let Some(value) = self.exports.get(name) else {
            let allowed = suggest(self.exports.keys().map(String::as_str), name);
            return Err(format!("`{}` does not export `{name}`: {allowed}", self.name));
        };
        let number = value.parse();
        number.map_err(|_| format!("`{name}` of `{}` is `{value}`, which is not a number", self.name))
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
