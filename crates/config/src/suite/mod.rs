//! Suite files: the compared services, their load, and the length of the run.

mod design;
mod levels;
mod rank;
mod written;

pub(crate) use written::LimitsToml;

use crate::error::known;
use crate::read::Source;
use crate::{Address, PlanError};
use prony_load::{Load, Protocol, Search};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;
use written::{DesignToml, GroupToml, ProfileToml, SuiteToml};

pub use design::{Design, Starts};
pub use rank::RankBy;

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
    pub path: PathBuf,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpChoice {
    /// After this time, ns.
    FixedNs(u64),
    /// When the service is steady, but not before `least_ns` and not after `most_ns`.
    Steady { least_ns: u64, most_ns: u64 },
}

/// Limits of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
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
    pub fn read(path: &Path, profile: Option<&str>) -> Result<Self, PlanError> {
        let source = Source::read(path)?;
        let written: SuiteToml = source.parse()?;
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
            path: path.to_owned(),
        })
    }
}

impl SuiteToml {
    fn profile_named(&self, source: &Source, name: Option<&str>) -> Result<ProfileToml, PlanError> {
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
                    known(names, key.get_ref())
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
            .ok_or_else(|| PlanError::Unknown {
                kind: "profile",
                name: name.to_owned(),
                allowed: format!("{}: {}", source.path.display(), known(names, name)),
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
    source: &Source,
    spanned: &Spanned<GroupToml>,
    profile: Option<&str>,
    defaults: GroupDefaults,
) -> Result<Vec<SuiteGroup>, PlanError> {
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
        Some(load) => levels::loads(source, load)?.into_iter().map(Some).collect(),
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

fn rounds(source: &Source, written: Option<&Spanned<u32>>) -> Result<u32, PlanError> {
    match written {
        Some(rounds) if *rounds.get_ref() == 0 => {
            Err(source.invalid(rounds.span(), "`rounds` is 0: give at least 1"))
        }
        other => Ok(other.map_or(ROUNDS, |rounds| *rounds.get_ref())),
    }
}

fn starts(source: &Source, written: Option<&Spanned<Starts>>, design: Design) -> Result<Starts, PlanError> {
    match written {
        Some(starts) if *starts.get_ref() == Starts::Shared && design != Design::Sequence => {
            let message = "`starts = \"shared\"` with `design = \"turns\"`: `turns` start all services of a group again; remove one of the two";
            Err(source.invalid(starts.span(), message))
        }
        other => Ok(other.map_or(Starts::Fresh, |starts| *starts.get_ref())),
    }
}

fn share(source: &Source, key: &str, value: Option<&Spanned<f64>>) -> Result<Option<f64>, PlanError> {
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
