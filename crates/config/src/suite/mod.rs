//! Suite files: the compared services, their load, and the length of the run.

mod matrix;
mod rank_by;
mod start;
mod written;

pub use matrix::Factor;
pub use rank_by::RankBy;
pub use start::{StartKind, StartPlan};
pub(crate) use written::{LimitsToml, SuiteToml};

use crate::format::suggestion::suggest;
use crate::format::{FileKind, SourceFile, Spanned};
use crate::load_table::PositiveDuration;
use crate::{Address, Channel, ConfigError};
use matrix::{LoadsToml, OneOrMore};
use prony_load::{Load, Search};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use written::{CapacityToml, DesignToml, GroupToml, ProfileToml, span_or};

/// A suite in one profile, with every default filled in.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The name of the file.
    pub name: String,
    pub title: String,
    /// The selected profile, if any.
    pub profile: Option<String>,
    /// The profiles of the suite, in order.
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
    pub equivalence: Option<f64>,
    /// The order of the trials of a round.
    pub design: Design,
    /// The interleaved design to use if one is requested.
    pub interleaved: Design,
    /// The trials that a process start serves.
    pub starts: Starts,
    /// Whether a trial with any error counts as excluded.
    pub no_errors: bool,
    pub limits: Limits,
    /// The positions of the limits, for errors.
    pub limit_spans: LimitSpans,
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
    pub(crate) fn design_for(&self, requested: Option<Design>) -> Design {
        match requested {
            Some(requested) if requested == Design::interleaved() => self.interleaved,
            Some(requested) => requested,
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
    /// Channels; each service is measured over every listed one that it offers.
    pub channels: Vec<Channel>,
    /// The only channel, if it is one of several of a table with TLS. Services without TLS are left out then.
    pub over: Option<Channel>,
    /// Requests of a connection, which is then closed and replaced; `None`: it stays open.
    pub requests_per_connection: Option<u32>,
    /// Whether connections resume TLS sessions; `None`: where the service allows it, and in clear.
    pub resumption: Option<bool>,
    /// The load; default: the workload's own.
    pub load: Option<Load>,
    /// The search for the rate of the load.
    pub search: Option<Search>,
    /// The metric of the ranking; default: that of the load.
    pub rank_by: Option<RankBy>,
    /// What is measured of the start of its services; `None`: a load.
    pub start: Option<StartPlan>,
    /// The largest number of rounds, if it has fewer than the suite.
    pub rounds: Option<u32>,
    /// Patterns of services, and the service that each of them is compared with.
    pub baselines: Vec<(Spanned<String>, Spanned<String>)>,
    pub warm_up: WarmUpChoice,
    pub duration: Duration,
    /// A request without a complete reply after this time has failed.
    pub timeout: Duration,
    /// Patterns of services.
    pub services: Vec<Spanned<String>>,
    /// What distinguishes it from the other groups of the same table; empty if there are no others.
    pub factors: Vec<Factor>,
    /// The positions of its values, for errors.
    pub spans: GroupSpans,
}

/// The positions of the values of a group, or of the whole group where it has no such value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSpans {
    pub group: Range<usize>,
    pub contract: Range<usize>,
    pub workload: Range<usize>,
    pub protocols: Range<usize>,
    /// The load, or its number of connections if that is a list.
    pub load: Range<usize>,
    pub capacity: Range<usize>,
    pub rank_by: Range<usize>,
    pub start: Range<usize>,
    pub duration: Range<usize>,
}

/// When the warm-up ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpChoice {
    /// After this time, ns.
    FixedNs(u64),
    /// When the service is warm, but not before `least_ns` of the planned load. `most_ns` limits each phase.
    Steady { least_ns: u64, most_ns: u64 },
}

impl WarmUpChoice {
    /// Until the service is warm.
    pub const DEFAULT: Self = Self::Steady {
        least_ns: 1_000_000_000,
        most_ns: 90_000_000_000,
    };

    /// For this long; `None`: until the service is warm.
    pub fn of_length(length: Option<Duration>) -> Self {
        length.map_or(Self::DEFAULT, |length| Self::FixedNs(length.as_nanos() as u64))
    }
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

/// The positions of the limits; the start of the file for an absent limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSpans {
    pub cpus: Range<usize>,
    pub memory: Range<usize>,
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
const DURATION: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);

impl Suite {
    /// Reads a suite file in a profile; `None` is the file's own settings.
    pub fn read(path: &Path, profile: Option<&str>) -> Result<Self, ConfigError> {
        Self::of(SourceFile::read(path)?, profile)
    }

    /// The same, from the text of the file.
    pub fn of(source: SourceFile, profile: Option<&str>) -> Result<Self, ConfigError> {
        let written: SuiteToml = source.parse(FileKind::Suite)?;
        written.verify(&source)?;
        let unchanged = ProfileToml::default();
        let change = written.profile_named(&source, profile)?.unwrap_or(&unchanged);
        let name = source
            .path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        let design = change
            .design
            .or(written.design)
            .map_or(Design::Sequence, |design| {
                design.with(written.interleaved, written.paired)
            });
        let starts = change.starts.as_ref().or(written.starts.as_ref());
        let reader = GroupReader {
            source: &source,
            suite: &written,
            profile,
            warm_up: change
                .warm_up
                .as_ref()
                .or(written.warm_up.as_ref())
                .map_or(WarmUpChoice::DEFAULT, |warm_up| {
                    WarmUpChoice::from(*warm_up.get_ref())
                }),
            duration: change
                .duration
                .or(written.duration)
                .map_or(DURATION, PositiveDuration::get),
        };
        let mut groups = Vec::new();
        for group in &written.groups {
            groups.extend(reader.groups_of(group)?);
        }
        Ok(Self {
            title: written.title.clone().unwrap_or_else(|| name.clone()),
            name,
            profile: profile.map(str::to_owned),
            profiles: written.profiles().into_iter().map(str::to_owned).collect(),
            rounds: change.rounds.or(written.rounds).map_or(ROUNDS, NonZeroU32::get),
            confidence: written.confidence.unwrap_or(CONFIDENCE),
            precision: written.precision,
            equivalence: written.equivalence,
            budget: change.budget.or(written.budget).map(|duration| duration.0),
            design,
            interleaved: DesignToml::Interleaved.with(written.interleaved, written.paired),
            starts: starts.map_or(Starts::Fresh, |starts| *starts.get_ref()),
            no_errors: written.no_errors,
            limits: written.limits.resolve(&source)?,
            limit_spans: written.limits.spans(),
            address: written.address.resolve(&source)?,
            network: written
                .network
                .as_ref()
                .map(|network| network.resolve(&source))
                .transpose()?,
            groups,
            source,
        })
    }
}

impl SuiteToml {
    /// What a profile changes; `None`: nothing.
    fn profile_named(
        &self,
        source: &SourceFile,
        name: Option<&str>,
    ) -> Result<Option<&ProfileToml>, ConfigError> {
        let Some(name) = name else { return Ok(None) };
        let known = self.profiles();
        if known.contains(&name) {
            return Ok(self.profile.get(name));
        }
        Err(ConfigError::Unknown {
            kind: "profile",
            name: name.to_owned(),
            allowed: format!("{}: {}", source.path.display(), suggest(known, name)),
        })
    }
}

/// Reads groups, with the settings of the suite for what they leave out.
struct GroupReader<'a> {
    source: &'a SourceFile,
    suite: &'a SuiteToml,
    profile: Option<&'a str>,
    warm_up: WarmUpChoice,
    duration: Duration,
}

impl GroupReader<'_> {
    /// A group for each combination of the lists of a table.
    fn groups_of(&self, spanned: &Spanned<GroupToml>) -> Result<Vec<SuiteGroup>, ConfigError> {
        let (written, suite) = (spanned.get_ref(), self.suite);
        let change = self.profile.and_then(|name| written.profile.get(name));
        let services = change.and_then(|change| change.services.as_ref());
        let services = services.or(written.services.as_ref()).or(suite.services.as_ref());
        let protocols = written.protocols.as_ref().or(suite.protocols.as_ref());
        let load = change.and_then(|change| change.load.as_ref());
        let load = load.or(written.load.as_ref()).or(suite.load.as_ref());
        let search = change.and_then(|change| change.capacity.as_ref());
        let search = search.or(written.capacity.as_ref());
        let warm_up = change.and_then(|change| change.warm_up.as_ref());
        let warm_up = warm_up.or(written.warm_up.as_ref());
        let duration = change.and_then(|change| change.duration.as_ref());
        let duration = duration.or(written.duration.as_ref());
        let rounds = change.and_then(|change| change.rounds).or(written.rounds);
        let whole = spanned.span();
        let group = SuiteGroup {
            contract: written.contract.get_ref().clone(),
            workload: None,
            channels: protocols.map_or_else(|| vec![Channel::Http1], |protocols| protocols.get_ref().clone()),
            over: None,
            requests_per_connection: written.requests_per_connection.map(NonZeroU32::get),
            resumption: written.resumption,
            load: None,
            search: search.map(|capacity| CapacityToml::search(capacity.get_ref())),
            rank_by: written.rank_by.as_ref().map(|rank_by| *rank_by.get_ref()),
            start: written.start_plan(),
            rounds,
            baselines: written.baselines.clone().into_iter().collect(),
            warm_up: warm_up.map_or(self.warm_up, |warm_up| WarmUpChoice::from(*warm_up.get_ref())),
            duration: duration.map_or(self.duration, |duration| duration.get_ref().get()),
            timeout: written
                .timeout
                .or(suite.timeout)
                .map_or(TIMEOUT, PositiveDuration::get),
            services: services.cloned().unwrap_or_default(),
            factors: Vec::new(),
            spans: GroupSpans {
                contract: written.contract.span(),
                workload: span_or(written.workload.as_ref(), &whole),
                protocols: span_or(protocols, &whole),
                load: span_or(load, &whole),
                capacity: span_or(search, &whole),
                rank_by: span_or(written.rank_by.as_ref(), &whole),
                start: span_or(written.start.as_ref(), &whole),
                duration: span_or(duration, &whole),
                group: whole,
            },
        };
        let mut groups = Vec::new();
        for group in by_channel(group) {
            groups.extend(self.matrix(&group, written.workload.as_ref(), load)?);
        }
        Ok(groups)
    }

    /// The group with each workload and each load.
    fn matrix(
        &self,
        group: &SuiteGroup,
        workload: Option<&Spanned<OneOrMore<String>>>,
        load: Option<&Spanned<LoadsToml>>,
    ) -> Result<Vec<SuiteGroup>, ConfigError> {
        let workloads = match workload {
            None => vec![None],
            Some(names) => OneOrMore::each(names).into_iter().map(Some).collect(),
        };
        let loads = match load {
            None => vec![None],
            Some(load) => matrix::loads(load.get_ref()).into_iter().map(Some).collect(),
        };
        let mut groups = Vec::new();
        for workload in &workloads {
            for load in &loads {
                let mut group = group.clone();
                if let Some((name, several)) = workload {
                    group.workload = Some(name.get_ref().clone());
                    group.spans.workload = name.span();
                    let factor = several.then(|| Factor::Workload(name.get_ref().clone()));
                    group.factors.extend(factor);
                }
                if let Some((load, factors)) = load {
                    if factors
                        .iter()
                        .any(|factor| matches!(factor, Factor::Connections(_)))
                    {
                        group.spans.load = load.connections().map_or(group.spans.load, Spanned::span);
                    }
                    group.load = Some(load.clone().resolve(self.source)?);
                    group.factors.extend(factors.iter().cloned());
                }
                groups.push(group);
            }
        }
        Ok(groups)
    }
}

/// A group for each channel if one of them is over TLS: a service has a row in each.
fn by_channel(group: SuiteGroup) -> Vec<SuiteGroup> {
    if !group.channels.iter().any(|channel| channel.is_tls()) {
        return vec![group];
    }
    let several = group.channels.len() > 1;
    let one = |&channel: &Channel| {
        let mut group = SuiteGroup {
            channels: vec![channel],
            over: Some(channel),
            resumption: group.resumption.filter(|_| channel.is_tls()),
            ..group.clone()
        };
        group.factors.extend(several.then_some(Factor::Channel(channel)));
        group
    };
    group.channels.iter().map(one).collect()
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
    /// Each service is compared with the direct path to its backing service: in a start, blocks of load go `direct, via, via, direct`.
    Paired {
        /// Length of a block, ns.
        block_ns: u64,
        /// How often the four blocks are repeated in a round.
        repeats: u32,
        /// Whether streams are held open instead: a direct block, then blocks via the service with more and more connections.
        held: bool,
    },
    /// Two services are loaded at the same time, in each round in fresh starts.
    Duet,
    /// One start after the other: what is measured is the start itself. Each group says what.
    Starts,
    /// A duet of two versions of a service. While the new version looks slower, one version is also compared with itself.
    Regression,
}

impl Design {
    /// Default length of a window.
    pub const WINDOW: Duration = Duration::from_secs(1);
    /// Default number of windows of each service in a round.
    pub const CYCLES: u32 = 6;

    /// Default length of a block of a paired design.
    pub const BLOCK: Duration = Duration::from_secs(2);
    /// Default number of repetitions of the four blocks of a paired design.
    pub const REPEATS: u32 = 2;

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
