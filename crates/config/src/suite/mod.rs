//! Suite files: the compared services, their load, and the length of the run.

mod written;

pub(crate) use written::{LimitsToml, SuiteToml};

use crate::format::{FileKind, SourceFile};
use crate::format::suggestion::suggest;
use crate::{Address, ConfigError};
use prony_load::{Load, LoadText, Protocol, Search};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use crate::format::Spanned;
use toml::{Table, Value};
use written::{DesignToml, GroupToml, ProfileToml};

/// A suite in one profile, with every default filled in.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The name of the file.
    pub name: String,
    pub title: String,
    /// The selected profile, if any.
    pub profile: Option<String>,
    /// The profiles of the suite.
    pub profiles: Vec<String>,
    /// The largest number of rounds.
    pub rounds: u32,
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Relative half-width of the intervals at which the run stops early.
    pub precision: Option<f64>,
    /// Time after which no new round starts.
    pub budget: Option<Duration>,
    /// Relative difference below which services count as equal.
    pub tie: Option<f64>,
    /// The order of the trials of a round.
    pub design: Design,
    /// The interleaved design to use if one is requested.
    pub interleaved: Design,
    /// The trials that a process start serves.
    pub starts: Starts,
    /// Whether a trial with any error counts as excluded.
    pub no_errors: bool,
    pub limits: Limits,
    /// The lines of the limits, for errors.
    pub limit_lines: LimitLines,
    /// The network between generator and service.
    pub network: Option<Network>,
    /// Where services listen.
    pub address: Address,
    pub groups: Vec<SuiteGroup>,
    /// The file, for errors.
    pub source: SourceFile,
}

impl Suite {
    /// The requested design, or else that of the suite. The suite sets length and number of the windows.
    pub(crate) fn design_for(&self, wished: Option<Design>) -> Design {
        match wished {
            Some(wished) if wished == Design::interleaved() => self.interleaved,
            Some(wished) => wished,
            None => self.design,
        }
    }
}

/// Services under one workload and one load.
#[derive(Debug, Clone)]
pub struct SuiteGroup {
    pub contract: String,
    /// The workload; default: the contract's first.
    pub workload: Option<String>,
    /// Protocols; each service is measured over every listed one that it offers.
    pub protocols: Vec<Protocol>,
    /// The load; default: the workload's own.
    pub load: Option<Load>,
    /// Line of the load, or else of the group, for errors.
    pub load_line: usize,
    /// The search for the rate of the load.
    pub search: Option<Search>,
    /// The metric of the ranking, with its line; default: that of the load.
    pub rank_by: Option<(RankBy, usize)>,
    pub warm_up: WarmUpChoice,
    pub duration: Duration,
    /// A request without a complete reply after this time has failed.
    pub timeout: Duration,
    /// Patterns of services, with the line of each.
    pub services: Vec<(String, usize)>,
    /// Line of the group, for errors.
    pub line: usize,
}

/// When the warm-up ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpChoice {
    /// After this time, ns.
    FixedNs(u64),
    /// When the service is steady, but not before `least_ns` and not after `most_ns`.
    Steady { least_ns: u64, most_ns: u64 },
}

/// Limits of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// CPUs; fractions are allowed.
    pub cpus: Option<f64>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
}

/// The lines of the limits, from 1; 1 for an absent limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitLines {
    pub cpus: usize,
    pub memory: usize,
}

/// The network between generator and service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Delay of each direction, ns.
    pub delay_ns: u64,
    /// Rate of each direction, bits per second.
    pub rate_bits_per_s: Option<u64>,
}

const ROUNDS: u32 = 5;
const CONFIDENCE: f64 = 0.95;
const WARM_UP: WarmUpChoice = WarmUpChoice::Steady {
    least_ns: 1_000_000_000,
    most_ns: 20_000_000_000,
};
const DURATION: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);

impl Suite {
    /// Reads a suite file in a profile; `None` is the file's own settings.
    pub fn read(path: &Path, profile: Option<&str>) -> Result<Self, ConfigError> {
        let source = SourceFile::read(path)?;
        let written: SuiteToml = source.parse(FileKind::Suite)?;
        let change = written.profile_named(&source, profile)?;
        if written.groups.is_empty() {
            return Err(source.invalid(
                0..0,
                "no `[[group]]`: add at least one, with `contract` and `services`",
            ));
        }
        let defaults = GroupDefaults {
            warm_up: change
                .warm_up
                .or(written.warm_up)
                .map_or(WARM_UP, WarmUpChoice::from),
            duration: change
                .duration
                .or(written.duration)
                .map_or(DURATION, |duration| duration.0),
            timeout: written.timeout.map_or(TIMEOUT, |duration| duration.0),
        };
        let design = written
            .design
            .map_or(Design::Sequence, |design| design.with(written.interleaved));
        let starts = starts(
            &source,
            change.starts.as_ref().or(written.starts.as_ref()),
            design,
        )?;
        let mut groups = Vec::new();
        for group in &written.groups {
            groups.extend(groups_of(&source, group, profile, defaults)?);
        }
        Ok(Self {
            name: path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default(),
            profile: profile.map(str::to_owned),
            profiles: written.profile.keys().map(|key| key.get_ref().clone()).collect(),
            rounds: rounds(&source, change.rounds.as_ref().or(written.rounds.as_ref()))?,
            confidence: share(&source, "confidence", written.confidence.as_ref())?.unwrap_or(CONFIDENCE),
            precision: share(&source, "precision", written.precision.as_ref())?,
            tie: share(&source, "tie", written.tie.as_ref())?,
            budget: change.budget.or(written.budget).map(|duration| duration.0),
            design,
            interleaved: DesignToml::Interleaved.with(written.interleaved),
            starts,
            no_errors: written.no_errors,
            limits: written.limits.resolve(&source)?,
            limit_lines: written.limits.lines(&source),
            address: written.address.resolve(&source)?,
            network: written
                .network
                .as_ref()
                .map(|network| network.resolve(&source))
                .transpose()?,
            title: written.title,
            groups,
            source,
        })
    }
}

impl SuiteToml {
    fn profile_named(&self, source: &SourceFile, name: Option<&str>) -> Result<ProfileToml, ConfigError> {
        let names: Vec<&str> = self.profile.keys().map(|key| key.get_ref().as_str()).collect();
        for group in &self.groups {
            if let Some(key) = group
                .get_ref()
                .profile
                .keys()
                .find(|key| !names.contains(&key.get_ref().as_str()))
            {
                let message = format!(
                    "profile `{}` of the group: {}",
                    key.get_ref(),
                    suggest(names, key.get_ref())
                );
                return Err(source.invalid(key.span(), message));
            }
        }
        let Some(name) = name else {
            return Ok(ProfileToml::default());
        };
        let found = self.profile.iter().find(|(key, _)| key.get_ref() == name);
        found
            .map(|(_, profile)| profile.clone())
            .ok_or_else(|| ConfigError::Unknown {
                kind: "profile",
                name: name.to_owned(),
                allowed: format!("{}: {}", source.path.display(), suggest(names, name)),
            })
    }
}

#[derive(Clone, Copy)]
struct GroupDefaults {
    warm_up: WarmUpChoice,
    duration: Duration,
    timeout: Duration,
}

/// The group as written, once for each of its loads.
fn groups_of(
    source: &SourceFile,
    spanned: &Spanned<GroupToml>,
    profile: Option<&str>,
    defaults: GroupDefaults,
) -> Result<Vec<SuiteGroup>, ConfigError> {
    let written = spanned.get_ref();
    let change = profile
        .and_then(|name| written.profile.iter().find(|(key, _)| key.get_ref() == name))
        .map(|(_, v)| v);
    let services = change
        .and_then(|change| change.services.as_ref())
        .unwrap_or(&written.services);
    if services.is_empty() {
        return Err(source.invalid(
            spanned.span(),
            "`services` is empty: add at least one, `\"*\"` for all",
        ));
    }
    if written.protocols.as_ref().is_some_and(Vec::is_empty) {
        return Err(source.invalid(
            spanned.span(),
            "`protocols` is empty: add at least one of `http1`, `http2`, `grpc`, `websocket`, or remove it",
        ));
    }
    let load = change
        .and_then(|change| change.load.as_ref())
        .or(written.load.as_ref());
    let load_line = source.line(load.map_or_else(|| spanned.span(), Spanned::span));
    let search = change
        .and_then(|change| change.capacity.as_ref())
        .or(written.capacity.as_ref())
        .map(|capacity| capacity.get_ref().resolve(source, capacity.span()))
        .transpose()?;
    let loads: Vec<Option<Load>> = match load {
        Some(load) => loads(source, load)?.into_iter().map(Some).collect(),
        None => vec![None],
    };
    let warm_up = change.and_then(|change| change.warm_up).or(written.warm_up);
    let duration = change.and_then(|change| change.duration).or(written.duration);
    let services = services
        .iter()
        .map(|name| (name.get_ref().clone(), source.line(name.span())))
        .collect();
    let group = SuiteGroup {
        contract: written.contract.clone(),
        workload: written.workload.clone(),
        protocols: written.protocols.clone().unwrap_or_else(|| vec![Protocol::Http1]),
        load: None,
        load_line,
        search,
        rank_by: written
            .rank_by
            .as_ref()
            .map(|rank_by| (*rank_by.get_ref(), source.line(rank_by.span()))),
        warm_up: warm_up.map_or(defaults.warm_up, WarmUpChoice::from),
        duration: duration.map_or(defaults.duration, |duration| duration.0),
        timeout: written.timeout.map_or(defaults.timeout, |duration| duration.0),
        services,
        line: source.line(spanned.span()),
    };
    let loaded = |load| SuiteGroup {
        load,
        ..group.clone()
    };
    Ok(loads.into_iter().map(loaded).collect())
}

fn rounds(source: &SourceFile, written: Option<&Spanned<u32>>) -> Result<u32, ConfigError> {
    match written {
        Some(rounds) if *rounds.get_ref() == 0 => {
            Err(source.invalid(rounds.span(), "`rounds` is 0: give at least 1"))
        }
        other => Ok(other.map_or(ROUNDS, |rounds| *rounds.get_ref())),
    }
}

fn starts(source: &SourceFile, written: Option<&Spanned<Starts>>, design: Design) -> Result<Starts, ConfigError> {
    match written {
        Some(starts) if *starts.get_ref() == Starts::Shared && design != Design::Sequence => {
            let message = "`starts = \"shared\"` with `design = \"turns\"`: `turns` start all services of a group again; remove one of the two";
            Err(source.invalid(starts.span(), message))
        }
        other => Ok(other.map_or(Starts::Fresh, |starts| *starts.get_ref())),
    }
}

fn share(source: &SourceFile, key: &str, value: Option<&Spanned<f64>>) -> Result<Option<f64>, ConfigError> {
    match value {
        Some(value) if *value.get_ref() <= 0.0 || *value.get_ref() >= 1.0 => {
            let message = format!(
                "`{key}` is {}: give a share between 0 and 1, such as 0.02",
                value.get_ref()
            );
            Err(source.invalid(value.span(), message))
        }
        other => Ok(other.map(|value| *value.get_ref())),
    }
}

/// The key of a load that may hold a list: `connections = [16, 64, 256]` is a load for each number, and a group for each load.
const CONNECTIONS: &str = "connections";

/// The loads of the table, in the written order.
fn loads(source: &SourceFile, written: &Spanned<Table>) -> Result<Vec<Load>, ConfigError> {
    let refused = |problem: String| source.invalid(written.span(), problem);
    let table = written.get_ref();
    let Some(Value::Array(levels)) = table.get(CONNECTIONS) else {
        return Ok(vec![load(table).map_err(refused)?]);
    };
    if table.get("kind").and_then(Value::as_str) != Some("closed") {
        return Err(refused(
            "`load`: `connections` is a list, which only a closed load may have: give one number".to_owned(),
        ));
    }
    if levels.is_empty() {
        return Err(refused(
            "`load`: `connections` is empty: add at least one number, such as [16, 64, 256]".to_owned(),
        ));
    }
    if let Some((_, twice)) = levels
        .iter()
        .enumerate()
        .find(|(place, level)| levels[..*place].contains(level))
    {
        return Err(refused(format!(
            "`load`: `connections` contains {twice} twice: give each number once"
        )));
    }
    let one = |level: &Value| {
        let mut table = table.clone();
        table.insert(CONNECTIONS.to_owned(), level.clone());
        load(&table).map_err(refused)
    };
    levels.iter().map(one).collect()
}

fn load(table: &Table) -> Result<Load, String> {
    let written = LoadText::deserialize(table.clone());
    let written = written.map_err(|error| error.message().trim().replace('\n', "; "))?;
    Load::try_from(written).map_err(|error| format!("`load`: {error}"))
}

/// The metric by which the services of a group are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RankBy {
    /// Valid replies per second.
    Goodput,
    /// Complete sequences per second.
    Sequences,
    /// Median response time.
    P50,
    /// 99th percentile of the response time.
    P99,
    /// CPU time of the service per request.
    Cpu,
}

impl RankBy {
    /// The metric's key in reports.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Goodput => "goodput_per_s",
            Self::Sequences => "sequences_per_s",
            Self::P50 => "response_time_ns_p50",
            Self::P99 => "response_time_ns_p99",
            Self::Cpu => "cpu_ns_per_request",
        }
    }

    /// Why services cannot be ranked by this metric under a load, if so.
    pub(crate) fn refused(self, load: &Load, searches: bool, is_sequence: bool) -> Option<&'static str> {
        let is_closed = matches!(load, Load::Closed { .. });
        match self {
            Self::Goodput | Self::Sequences if !is_closed && !searches => Some(
                "the rate of requests is the same for all services: remove it to rank by the 99th percentile, or write \"p50\" or \"cpu\"",
            ),
            Self::Sequences if !is_sequence => {
                Some("the workload is not a sequence: remove it to rank by goodput, or write \"goodput\"")
            }
            Self::P50 | Self::P99 if searches => Some(
                "each service is loaded at its highest sustainable rate: remove it to rank by goodput, or write \"cpu\"",
            ),
            _ => None,
        }
    }
}

/// The order of the trials of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Design {
    /// One service after the other: each uses the machine alone from its start to its end.
    #[default]
    Sequence,
    /// Interleaved: all services of a group are started and warmed up, then loaded one after the other in many short windows.
    /// The other services are paused meanwhile.
    #[serde(alias = "turns")]
    Interleaved {
        /// Length of a window, ns.
        window_ns: u64,
        /// Windows of each service in a round.
        cycles: u32,
    },
    /// Two services are loaded at the same time, in each round in fresh starts.
    Duet,
    /// A duet of two versions of a service. While the new version looks slower, one version is also compared with itself.
    Regression,
}

impl Design {
    /// Default length of a window.
    pub const WINDOW: Duration = Duration::from_millis(200);
    /// Default number of windows of each service in a round.
    pub const CYCLES: u32 = 30;

    /// The default interleaved design; METHOD.md gives the reasons.
    pub const fn interleaved() -> Self {
        Self::Interleaved {
            window_ns: Self::WINDOW.as_nanos() as u64,
            cycles: Self::CYCLES,
        }
    }
}

/// The trials that a process start serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Starts {
    /// Each trial has its own process start.
    #[default]
    Fresh,
    /// A process start serves all workloads and loads of a contract, one after the other in random order.
    Shared,
}
