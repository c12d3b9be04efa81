//! The keys of a suite file.

use super::matrix::{LoadsToml, OneOrMore, loads};
use super::{Design, LimitSpans, Limits, Network, RankBy, StartKind, StartPlan, Starts, WarmUpChoice};
use crate::format::{Faults, SourceFile, Spanned};
use crate::load_table::PositiveDuration;
use crate::{Address, Channel, ConfigError};
use prony_load::{DurationText, Objective, Rate, Search};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;

/// Services to compare, their loads, and the length of the run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteToml {
    /// The version of the file format: 1.
    #[expect(dead_code, reason = "read before the other keys")]
    #[schemars(range(min = 1))]
    format: Option<u32>,
    /// The title in reports; default: the name of the file.
    pub(super) title: Option<String>,
    /// The largest number of rounds, each of which measures every service once; default: 5.
    pub(super) rounds: Option<NonZeroU32>,
    /// The length of the warm-up, or `{ min = "1s", max = "20s" }` for one until the service is steady, which is the default.
    pub(super) warm_up: Option<Spanned<WarmUpToml>>,
    /// The length of each measurement; default: 5 s.
    pub(super) duration: Option<PositiveDuration>,
    /// The time after which no new round starts.
    pub(super) budget: Option<DurationText>,
    /// The relative half-width of all intervals at which the run stops early, such as 0.02.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub(super) precision: Option<f64>,
    /// The confidence of the intervals; default: 0.95.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub(super) confidence: Option<f64>,
    /// The relative difference up to which services count as equal, such as 0.02.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "x-aliases" = ["tie"]))]
    pub(super) equivalence: Option<f64>,
    /// The time after which a request without a complete reply has failed; default: 10 s.
    pub(super) timeout: Option<PositiveDuration>,
    /// The order of the trials of a round; default: one service after the other.
    pub(super) design: Option<DesignToml>,
    /// The windows of an interleaved design, also of one that the command line requests.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["turns"]))]
    pub(super) interleaved: InterleavedToml,
    /// The blocks of a paired design.
    #[serde(default)]
    pub(super) paired: PairedToml,
    /// The trials that a process start serves; default: one.
    pub(super) starts: Option<Spanned<Starts>>,
    /// Whether a trial with any error is excluded; default: false.
    #[serde(default)]
    pub(super) no_errors: bool,
    /// The CPUs and the memory of each service.
    #[serde(default)]
    pub(super) limits: LimitsToml,
    /// A simulated network between generator and service.
    pub(super) network: Option<NetworkToml>,
    /// Where services listen.
    #[serde(default)]
    pub(super) address: AddressToml,
    /// The services of the groups that name none: names, variants and patterns, such as `"go-*"`, `"java-netty/nio"` and `"*/*"`.
    #[schemars(length(min = 1))]
    pub(super) services: Option<Vec<Spanned<String>>>,
    /// The protocols of the groups that name none; default: `["http1"]`.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(super) protocols: Option<Spanned<Vec<Channel>>>,
    /// The load of the groups that have none; default: that of the workload.
    pub(super) load: Option<Spanned<LoadsToml>>,
    /// Services under the same workload and load, at least one `[[group]]`.
    #[serde(rename = "group")]
    #[schemars(length(min = 1))]
    pub(super) groups: Vec<Spanned<GroupToml>>,
    /// What `--profile NAME` changes. The profile `quick` always exists.
    #[serde(default)]
    pub(super) profile: BTreeMap<Spanned<String>, ProfileToml>,
}

/// The order of the trials of a round.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum DesignToml {
    /// One service after the other: each has the machine for itself.
    Sequence,
    /// All services of a group run at the same time, and are loaded in turn in many short windows.
    Interleaved,
    /// One start after the other; the `start` of a group says what is measured of it.
    Starts,
    /// Each service is compared with the direct path to its backing service, in blocks `direct, via, via, direct` of the same load.
    Paired,
}

/// The blocks of a paired design.
#[derive(Deserialize, Clone, Copy, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-give" = "a table, such as { block = \"2s\", repeats = 2 }"))]
pub(super) struct PairedToml {
    /// The length of a block; default: 2 s.
    block: Option<PositiveDuration>,
    /// How often the four blocks are repeated in a round; default: 2.
    repeats: Option<NonZeroU32>,
    /// Whether streams are held open instead, on 250, 500 and 1,000 connections: for memory per open stream.
    #[serde(default)]
    held: bool,
}

/// The windows of an interleaved design.
#[derive(Deserialize, Clone, Copy, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-give" = "a table, such as { window = \"1s\", cycles = 6 }"))]
pub(super) struct InterleavedToml {
    /// The length of a window; default: 1 s.
    window: Option<PositiveDuration>,
    /// The windows of each service in a round; default: 6.
    cycles: Option<NonZeroU32>,
}

impl DesignToml {
    /// The design, with the suite's windows if it is interleaved, and its blocks if it is paired.
    pub(super) fn with(self, interleaved: InterleavedToml, paired: PairedToml) -> Design {
        match self {
            Self::Sequence => Design::Sequence,
            Self::Starts => Design::Starts,
            Self::Paired => Design::Paired {
                block_ns: paired
                    .block
                    .map_or(Design::BLOCK, PositiveDuration::get)
                    .as_nanos() as u64,
                repeats: paired.repeats.map_or(Design::REPEATS, NonZeroU32::get),
                held: paired.held,
            },
            Self::Interleaved => Design::Interleaved {
                window_ns: interleaved
                    .window
                    .map_or(Design::WINDOW, PositiveDuration::get)
                    .as_nanos() as u64,
                cycles: interleaved.cycles.map_or(Design::CYCLES, NonZeroU32::get),
            },
        }
    }
}

/// What a profile changes in a suite.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileToml {
    /// The largest number of rounds.
    pub(super) rounds: Option<NonZeroU32>,
    /// The length of the warm-up, or `{ min = "1s", max = "20s" }`.
    pub(super) warm_up: Option<Spanned<WarmUpToml>>,
    /// The length of each measurement.
    pub(super) duration: Option<PositiveDuration>,
    /// The time after which no new round starts.
    pub(super) budget: Option<DurationText>,
    /// The trials that a process start serves.
    pub(super) starts: Option<Spanned<Starts>>,
    /// The order of the trials of a round.
    pub(super) design: Option<DesignToml>,
}

/// Services under the same workload and load, which are compared with each other. A list of workloads, rates or numbers of
/// connections is a group for each combination.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupToml {
    /// The contract that the services fulfil.
    pub(super) contract: Spanned<String>,
    /// A workload of the contract, or a list of them; default: the first.
    #[schemars(extend("x-give" = "a name or a list of names"))]
    pub(super) workload: Option<Spanned<OneOrMore<String>>>,
    /// The protocols. A service is measured over each of them that it offers. With `https1` or `https2` each protocol is a group, of
    /// services that offer TLS; the same protocol in clear shows the cost of TLS.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(super) protocols: Option<Spanned<Vec<Channel>>>,
    /// A connection is closed after this number of requests, and replaced by a new one. Default: connections stay open.
    pub(super) requests_per_connection: Option<NonZeroU32>,
    /// Whether new connections resume TLS sessions. Default: if the service allows it.
    pub(super) resumption: Option<bool>,
    /// When requests are sent, and on how many connections.
    pub(super) load: Option<Spanned<LoadsToml>>,
    /// A search for the highest rate that meets an objective. It starts at the rate of the load.
    pub(super) capacity: Option<Spanned<CapacityToml>>,
    /// The metric of the ranking; default: that of the load.
    pub(super) rank_by: Option<Spanned<RankBy>>,
    /// What is measured of the start of each service, in a suite with the design "starts".
    pub(super) start: Option<Spanned<StartKind>>,
    /// The time without a request before memory is read, with `start = "memory"`; default: 5 s.
    pub(super) rest: Option<PositiveDuration>,
    /// The largest number of rounds of this group; default: that of the suite. A group with 0 is left out.
    pub(super) rounds: Option<u32>,
    /// The services that do the same without a framework: patterns of services, and the one service that each of them is compared
    /// with, such as `{ "go-*" = "go-nethttp" }`. Reports show what the framework adds.
    #[serde(default)]
    pub(super) baselines: BTreeMap<Spanned<String>, Spanned<String>>,
    /// The length of the warm-up, or `{ min = "1s", max = "20s" }`.
    pub(super) warm_up: Option<Spanned<WarmUpToml>>,
    /// The length of each measurement.
    pub(super) duration: Option<Spanned<PositiveDuration>>,
    /// The time after which a request without a complete reply has failed.
    pub(super) timeout: Option<PositiveDuration>,
    /// Names, variants and patterns of services, such as `"go-*"`, `"java-netty/nio"` and `"*/*"`.
    #[schemars(length(min = 1))]
    pub(super) services: Option<Vec<Spanned<String>>>,
    /// What a profile of the suite changes in the group.
    #[serde(default)]
    pub(super) profile: BTreeMap<Spanned<String>, GroupProfileToml>,
}

impl GroupToml {
    /// How starts are measured, if they are.
    pub(super) fn start_plan(&self) -> Option<StartPlan> {
        let start = self.start.as_ref()?;
        Some(StartPlan {
            measures: *start.get_ref(),
            rest_ns: self
                .rest
                .map_or(StartPlan::REST, PositiveDuration::get)
                .as_nanos() as u64,
        })
    }
}

/// What a profile changes in a group.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupProfileToml {
    /// Names, variants and patterns of services.
    #[schemars(length(min = 1))]
    pub(super) services: Option<Vec<Spanned<String>>>,
    /// When requests are sent, and on how many connections.
    pub(super) load: Option<Spanned<LoadsToml>>,
    /// A search for the highest rate that meets an objective.
    pub(super) capacity: Option<Spanned<CapacityToml>>,
    /// The length of the warm-up, or `{ min = "1s", max = "20s" }`.
    pub(super) warm_up: Option<Spanned<WarmUpToml>>,
    /// The length of each measurement.
    pub(super) duration: Option<Spanned<PositiveDuration>>,
    /// The largest number of rounds of this group. A group with 0 is left out.
    pub(super) rounds: Option<u32>,
}

/// `"2s"`, or `{ min = "1s", max = "20s" }`: until the service is steady.
#[derive(Deserialize, Clone, Copy, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "a duration, such as \"2s\", or { min = \"1s\", max = \"20s\" }"))]
pub(super) enum WarmUpToml {
    /// A warm-up of this length.
    Fixed(DurationText),
    /// A warm-up until the service is steady.
    Steady(SteadyToml),
}

/// A warm-up until the service is steady.
#[derive(Deserialize, Clone, Copy, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SteadyToml {
    /// The shortest warm-up.
    #[schemars(extend("x-aliases" = ["least"]))]
    min: DurationText,
    /// The longest warm-up.
    #[schemars(extend("x-aliases" = ["most"]))]
    max: DurationText,
}

/// The CPUs and the memory of a service.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsToml {
    /// CPUs, such as 2 or 0.5.
    #[schemars(extend("exclusiveMinimum" = 0))]
    cpus: Option<Spanned<f64>>,
    /// Memory, such as `"512MiB"` or `"2Gi"`.
    #[schemars(extend("pattern" = "^[0-9]*[1-9][0-9]* *(Ki|Mi|Gi)B?$", "x-give" = "a size, such as \"512MiB\" or \"2GiB\""))]
    memory: Option<Spanned<String>>,
}

/// A simulated network between generator and service.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NetworkToml {
    /// The delay of each direction; default: none.
    delay: Option<DurationText>,
    /// The rate of each direction, such as `"1Gbit"` or `"100Mbit"` per second; default: unlimited.
    #[schemars(extend("pattern" = "^[0-9]*[1-9][0-9]* *(k|M|G)bit$", "x-give" = "bits per second, such as \"1Gbit\" or \"100Mbit\""))]
    rate: Option<Spanned<String>>,
}

/// A search for the highest rate that meets an objective.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-give" = "a table, such as { objective = \"p99<10ms,errors<0.1%\" }"))]
pub(super) struct CapacityToml {
    /// The conditions that must all hold, such as `"p99<10ms,errors<0.1%"`.
    objective: Spanned<Objective>,
    /// The highest rate to try, per second; default: a million.
    #[schemars(extend("x-aliases" = ["limit"]))]
    max_rate: Option<Rate>,
    /// The search ends when its bounds differ by this share of the rate; default: 0.05.
    #[schemars(range(min = 0.001, max = 0.5), extend("x-aliases" = ["precision"]))]
    tolerance: Option<f64>,
    /// The length of the measurement at each rate; default: 1 s.
    #[schemars(extend("x-aliases" = ["step"]))]
    probe: Option<PositiveDuration>,
}

/// Where services listen.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddressToml {
    /// The IPv4 address of an interface; default: the loopback.
    #[schemars(extend("format" = "ipv4"))]
    host: Option<Spanned<String>>,
    /// The port, for services that are up at once the first of theirs; default: free ones.
    #[schemars(range(min = 1))]
    port: Option<u16>,
}

impl From<WarmUpToml> for WarmUpChoice {
    fn from(written: WarmUpToml) -> Self {
        match written {
            WarmUpToml::Fixed(duration) => Self::FixedNs(duration.as_ns()),
            WarmUpToml::Steady(SteadyToml { min, max }) => Self::Steady {
                least_ns: min.as_ns(),
                most_ns: max.as_ns(),
            },
        }
    }
}

/// The profile that every suite has.
pub(super) const QUICK: &str = "quick";

impl SuiteToml {
    /// The names of the profiles, in order.
    pub(super) fn profiles(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.profile.keys().map(|key| key.get_ref().as_str()).collect();
        if !names.contains(&QUICK) {
            names.push(QUICK);
            names.sort_unstable();
        }
        names
    }

    /// Verifies what the schema cannot say, in all profiles.
    pub(super) fn verify(&self, source: &SourceFile) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        faults.keep(verified_warm_up(source, self.warm_up.as_ref()));
        for change in self.profile.values() {
            faults.keep(verified_warm_up(source, change.warm_up.as_ref()));
        }
        faults.keep(self.address.resolve(source));
        faults.keep(self.limits.resolve(source));
        faults.keep(
            self.network
                .as_ref()
                .map(|network| network.resolve(source))
                .transpose(),
        );
        faults.keep(verified_load(source, self.load.as_ref()));
        for group in &self.groups {
            self.verify_group(source, group, &mut faults);
        }
        faults.or(())
    }

    fn verify_group(&self, source: &SourceFile, group: &Spanned<GroupToml>, faults: &mut Faults) {
        let written = group.get_ref();
        let known = self.profiles();
        if written.services.is_none() && self.services.is_none() {
            let help = "add `services`, such as [\"go-*\"], to the group or at the top for all groups";
            faults.keep::<()>(Err(source.invalid_with(
                group.span(),
                "the group has no `services`",
                help,
            )));
        }
        faults.keep(verified_warm_up(source, written.warm_up.as_ref()));
        faults.keep(verified_load(source, written.load.as_ref()));
        faults.keep(verified_capacity(source, written.capacity.as_ref()));
        for (name, change) in &written.profile {
            if !known.contains(&name.get_ref().as_str()) {
                let message = format!("the suite has no profile `{}`", name.get_ref());
                let help = crate::format::suggestion::suggest(known.iter().copied(), name.get_ref());
                faults.keep::<()>(Err(source.invalid_with(name.span(), message, help)));
            }
            faults.keep(verified_warm_up(source, change.warm_up.as_ref()));
            faults.keep(verified_load(source, change.load.as_ref()));
            faults.keep(verified_capacity(source, change.capacity.as_ref()));
        }
    }
}

fn verified_warm_up(source: &SourceFile, written: Option<&Spanned<WarmUpToml>>) -> Result<(), ConfigError> {
    match written.map(|written| (written.get_ref(), written.span())) {
        Some((WarmUpToml::Steady(SteadyToml { min, max }), span)) if min > max => {
            let message = format!("`warm_up`: `min` is {min}, and `max` {max}");
            Err(source.invalid_with(span, message, "give a `max` that is not below `min`"))
        }
        _ => Ok(()),
    }
}

fn verified_load(source: &SourceFile, written: Option<&Spanned<LoadsToml>>) -> Result<(), ConfigError> {
    let mut faults = Faults::default();
    for (load, _) in written.iter().flat_map(|written| loads(written.get_ref())) {
        faults.keep(load.resolve(source));
    }
    faults.or(())
}

fn verified_capacity(
    source: &SourceFile,
    written: Option<&Spanned<CapacityToml>>,
) -> Result<(), ConfigError> {
    match written.map(|written| &written.get_ref().objective) {
        Some(objective) if objective.get_ref().streams().is_some() => Err(source.invalid_with(
            objective.span(),
            "ttft, tpot, e2el and good are for language models",
            "use `prony capacity URL --llm`",
        )),
        _ => Ok(()),
    }
}

/// Default highest rate that a search tries, per second.
const MAX_RATE_PER_S: f64 = 1_000_000.0;
/// Default relative precision of a search.
const TOLERANCE: f64 = 0.05;
/// Default length of the measurement at each rate of a search, ns.
const PROBE_NS: u64 = 1_000_000_000;

impl CapacityToml {
    pub(super) fn search(&self) -> Search {
        Search {
            objective: self.objective.get_ref().clone(),
            limit: self
                .max_rate
                .unwrap_or_else(|| Rate::per_second(MAX_RATE_PER_S).expect("invariant: above 0")),
            precision: self.tolerance.unwrap_or(TOLERANCE),
            step_ns: self.probe.map_or(PROBE_NS, PositiveDuration::as_ns),
        }
    }
}

impl AddressToml {
    pub(super) fn resolve(&self, source: &SourceFile) -> Result<Address, ConfigError> {
        if let Some(host) = &self.host
            && host.get_ref().parse::<std::net::Ipv4Addr>().is_err()
        {
            let message = format!("`host` is \"{}\", which is no IPv4 address", host.get_ref());
            let help = "give that of an interface of this machine, such as \"127.0.0.1\" or \"0.0.0.0\"";
            return Err(source.invalid_with(host.span(), message, help));
        }
        Ok(Address {
            host: self.host.as_ref().map(|host| host.get_ref().clone()),
            port: self.port,
        })
    }
}

impl LimitsToml {
    pub(super) fn spans(&self) -> LimitSpans {
        LimitSpans {
            cpus: self.cpus.as_ref().map_or(0..0, Spanned::span),
            memory: self.memory.as_ref().map_or(0..0, Spanned::span),
        }
    }

    pub(crate) fn resolve(&self, source: &SourceFile) -> Result<Limits, ConfigError> {
        const UNITS: [(&str, u64); 3] = [("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
        let bytes = |memory: &Spanned<String>| {
            let text = memory.get_ref();
            quantity(text.strip_suffix('B').unwrap_or(text), &UNITS)
                .ok_or_else(|| too_large(source, "memory", memory))
        };
        Ok(Limits {
            cpus: self.cpus.as_ref().map(|cpus| *cpus.get_ref()),
            memory_bytes: self.memory.as_ref().map(bytes).transpose()?,
        })
    }
}

impl NetworkToml {
    pub(super) fn resolve(&self, source: &SourceFile) -> Result<Network, ConfigError> {
        const UNITS: [(&str, u64); 3] = [("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000)];
        let rate = |rate: &Spanned<String>| {
            quantity(rate.get_ref(), &UNITS).ok_or_else(|| too_large(source, "rate", rate))
        };
        Ok(Network {
            delay_ns: self.delay.map_or(0, DurationText::as_ns),
            rate_bits_per_s: self.rate.as_ref().map(rate).transpose()?,
        })
    }
}

fn too_large(source: &SourceFile, key: &str, written: &Spanned<String>) -> ConfigError {
    source.invalid(
        written.span(),
        format!("`{key}` is \"{}\": give less", written.get_ref()),
    )
}

/// A whole number with one of the units; `None` if it is too large.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(*factor)
}

/// The range of a value, or else of another one.
pub(super) fn span_or<T>(value: Option<&Spanned<T>>, other: &Range<usize>) -> Range<usize> {
    value.map_or_else(|| other.clone(), Spanned::span)
}
