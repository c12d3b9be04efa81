//! `companions/<name>/companion.toml`: software that a service needs beside it, and how it is seeded, started and asked.

use crate::PlanError;
use crate::contract::Most;
use crate::error::known;
use crate::read::Source;
use crate::suite::{Limits, WrittenLimits};
use crate::toolchain::Requirement;
use prony_load::WrittenDuration;
use regex::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// Software that a service needs beside it: a database, a cache, a slow backend.
#[derive(Debug, Clone)]
pub struct Companion {
    /// What contracts call it: its folder's name.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What its host must have.
    pub toolchains: Vec<Requirement>,
    /// Users as whom it runs where prony is root: the first that is there. Empty: as prony.
    pub users: Vec<String>,
    /// Shell commands that make its data out of seed files; `None`: it takes none.
    pub seed: Option<String>,
    /// Shell command that runs it, in the folder with its data.
    pub run: String,
    /// How one knows that it is ready.
    pub ready: Ready,
    /// Shell command that forgets what the check wrote; `None`: it is started anew with its data.
    pub reset: Option<String>,
    /// How it is told to end.
    pub stop_signal: Option<StopSignal>,
    /// How long it may take until it is ready.
    pub start_timeout: Duration,
    /// Added to the environment of the service.
    pub exports: BTreeMap<String, String>,
    /// How it is set up, by the names of its settings.
    pub settings: BTreeMap<String, String>,
    /// The words of one setting on its command line.
    pub setting: Vec<String>,
    /// Where prony asks queries; `None`: it answers none.
    pub asked_at: Option<String>,
    /// Query that says what the service's connections do there: a row for each thing that is done, with the number of
    /// connections that do it; `None`: nobody can tell.
    pub watch: Option<String>,
    /// What it may use.
    pub limits: Limits,
    /// What its log says when it failed: then nothing is known of the service.
    pub faults: Vec<Regex>,
    /// What its log says when the service asked too much of it, and what that means.
    pub blames: Vec<(Regex, String)>,
    /// The folder with `companion.toml`.
    pub folder: PathBuf,
}

/// How one knows that a companion is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It answers this query.
    Query(String),
    /// This shell command succeeds.
    Command(String),
    /// It answers a GET of this path with a status below 500.
    Get(String),
}

/// The signal that ends a companion in order. It is sent to its first process alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// Interrupt: a database ends its sessions and then itself.
    Int,
    /// Quit.
    Quit,
    /// Terminate.
    Term,
}

impl StopSignal {
    /// Its number, the same on all machines that prony runs on.
    pub const fn number(self) -> i32 {
        match self {
            Self::Int => 2,
            Self::Quit => 3,
            Self::Term => 15,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    title: String,
    #[serde(default)]
    toolchains: Vec<Spanned<String>>,
    #[serde(default)]
    user: Vec<Spanned<String>>,
    seed: Option<String>,
    run: String,
    ready: Spanned<WrittenReady>,
    reset: Option<String>,
    stop_signal: Option<StopSignal>,
    start_timeout: Option<WrittenDuration>,
    #[serde(default)]
    exports: BTreeMap<String, String>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    #[serde(default)]
    setting: Vec<String>,
    asked_at: Option<Spanned<String>>,
    watch: Option<Spanned<String>>,
    #[serde(default)]
    limits: WrittenLimits,
    #[serde(default)]
    faults: Vec<Spanned<String>>,
    #[serde(default)]
    blames: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct WrittenReady {
    query: Option<String>,
    command: Option<String>,
    get: Option<String>,
}

const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads `<folder>/companion.toml`.
pub(crate) fn read(folder: &Path) -> Result<Companion, PlanError> {
    let source = Source::read(&folder.join("companion.toml"))?;
    let written: Written = source.parse()?;
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
        let message = "`watch` is a query, and there is no `asked_at`: say where prony asks it";
        return Err(source.invalid(watch.span(), message));
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    for user in &written.user {
        if user.get_ref().is_empty() || !user.get_ref().chars().all(plain) {
            return Err(source.invalid(user.span(), "`user`: give names of users, like [\"postgres\"]"));
        }
    }
    let mut blames = Vec::new();
    for (pattern, meaning) in written.blames {
        let pattern = Regex::new(&pattern)
            .map_err(|error| source.invalid(0..0, format!("`blames`: `{pattern}` is no pattern: {error}")))?;
        blames.push((pattern, meaning));
    }
    let mut faults = Vec::new();
    for pattern in &written.faults {
        faults.push(Regex::new(pattern.get_ref()).map_err(|error| {
            let message = format!("`faults`: `{}` is no pattern: {error}", pattern.get_ref());
            source.invalid(pattern.span(), message)
        })?);
    }
    Ok(Companion {
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

fn ready(source: &Source, written: &Written) -> Result<Ready, PlanError> {
    let span = written.ready.span();
    let ready = written.ready.get_ref();
    match (&ready.query, &ready.command, &ready.get) {
        (Some(_), None, None) if written.asked_at.is_none() => Err(source.invalid(
            span,
            "`ready` is a query, and there is no `asked_at`: say where prony asks it",
        )),
        (Some(query), None, None) => Ok(Ready::Query(query.clone())),
        (None, Some(command), None) => Ok(Ready::Command(command.clone())),
        (None, None, Some(path)) => Ok(Ready::Get(path.clone())),
        _ => Err(source.invalid(span, "`ready`: give one of `query`, `command` and `get`")),
    }
}

impl Companion {
    /// The number that a contract bounds by: its own, or the one that the service is given in a variable. The error says why
    /// there is none.
    pub fn number(&self, most: &Most) -> Result<u64, String> {
        let name = match most {
            Most::Number(number) => return Ok(*number),
            Most::Variable(name) => name,
        };
        let Some(value) = self.exports.get(name) else {
            let allowed = known(self.exports.keys().map(String::as_str), name);
            return Err(format!("`{}` gives no `{name}`: {allowed}", self.name));
        };
        let number = value.parse();
        number.map_err(|_| format!("`{name}` of `{}` is `{value}`, which is no number", self.name))
    }

    /// Its settings with those of a contract, or the name of one that it does not have.
    pub fn settings_with<'a>(
        &self,
        of_contract: &'a BTreeMap<String, toml::Value>,
    ) -> Result<BTreeMap<String, String>, &'a str> {
        let mut settings = self.settings.clone();
        for (name, value) in of_contract {
            let Some(setting) = settings.get_mut(name) else {
                return Err(name);
            };
            *setting = match value {
                toml::Value::String(text) => text.clone(),
                value => value.to_string(),
            };
        }
        Ok(settings)
    }
}
