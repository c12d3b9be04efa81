//! The keys of a suite file.

use super::{Design, LimitLines, Limits, Network, RankBy, Starts, WarmUpChoice};
use crate::format::SourceFile;
use crate::{Address, ConfigError};
use prony_load::{DurationText, Objective, Protocol, Rate, Search};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use crate::format::Spanned;
use toml::Table;

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteToml {
    pub(super) title: String,
    pub(super) rounds: Option<Spanned<u32>>,
    pub(super) warm_up: Option<WarmUpToml>,
    pub(super) duration: Option<DurationText>,
    pub(super) budget: Option<DurationText>,
    pub(super) precision: Option<Spanned<f64>>,
    pub(super) confidence: Option<Spanned<f64>>,
    pub(super) tie: Option<Spanned<f64>>,
    pub(super) timeout: Option<DurationText>,
    pub(super) design: Option<DesignToml>,
    #[serde(default)]
    #[serde(alias = "turns")]
    pub(super) interleaved: InterleavedToml,
    pub(super) starts: Option<Spanned<Starts>>,
    #[serde(default)]
    pub(super) no_errors: bool,
    #[serde(default)]
    pub(super) limits: LimitsToml,
    pub(super) network: Option<NetworkToml>,
    #[serde(default)]
    pub(super) address: AddressToml,
    #[serde(rename = "group", default)]
    pub(super) groups: Vec<Spanned<GroupToml>>,
    #[serde(default)]
    pub(super) profile: BTreeMap<Spanned<String>, ProfileToml>,
}

/// `"sequence"` or `"turns"`.
#[derive(Deserialize, Clone, Copy, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum DesignToml {
    Sequence,
    #[serde(alias = "turns")]
    Interleaved,
}

/// `{ window = "200ms", cycles = 30 }`
#[derive(Deserialize, Clone, Copy, Default, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InterleavedToml {
    window: Option<DurationText>,
    cycles: Option<u32>,
}

impl DesignToml {
    /// The design, with the suite's windows if it is interleaved.
    pub(super) fn with(self, interleaved: InterleavedToml) -> Design {
        match self {
            Self::Sequence => Design::Sequence,
            Self::Interleaved => Design::Interleaved {
                window_ns: interleaved
                    .window
                    .map_or(Design::WINDOW, |window| window.0)
                    .as_nanos() as u64,
                cycles: interleaved.cycles.unwrap_or(Design::CYCLES),
            },
        }
    }
}

/// The suite settings that a profile may override.
#[derive(Deserialize, Clone, Default, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileToml {
    pub(super) rounds: Option<Spanned<u32>>,
    pub(super) warm_up: Option<WarmUpToml>,
    pub(super) duration: Option<DurationText>,
    pub(super) budget: Option<DurationText>,
    pub(super) starts: Option<Spanned<Starts>>,
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupToml {
    pub(super) contract: String,
    pub(super) workload: Option<String>,
    pub(super) protocols: Option<Vec<Protocol>>,
    /// A load, possibly with several numbers of connections.
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    pub(super) load: Option<Spanned<Table>>,
    pub(super) capacity: Option<Spanned<CapacityToml>>,
    pub(super) rank_by: Option<Spanned<RankBy>>,
    pub(super) warm_up: Option<WarmUpToml>,
    pub(super) duration: Option<DurationText>,
    pub(super) timeout: Option<DurationText>,
    pub(super) services: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) profile: BTreeMap<Spanned<String>, GroupProfileToml>,
}

/// The group settings that a profile may override.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupProfileToml {
    pub(super) services: Option<Vec<Spanned<String>>>,
    /// A load, possibly with several numbers of connections.
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    pub(super) load: Option<Spanned<Table>>,
    pub(super) capacity: Option<Spanned<CapacityToml>>,
    pub(super) warm_up: Option<WarmUpToml>,
    pub(super) duration: Option<DurationText>,
}

/// `"2s"`, or `{ least = "1s", most = "20s" }`: until the service is steady.
#[derive(Deserialize, Clone, Copy, schemars::JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a duration (`\"2s\"`) or `{ least = \"1s\", most = \"20s\" }`"
)]
pub(super) enum WarmUpToml {
    Fixed(DurationText),
    Steady { least: DurationText, most: DurationText },
}

#[derive(Deserialize, Default, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsToml {
    pub(super) cpus: Option<Spanned<f64>>,
    pub(super) memory: Option<Spanned<String>>,
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NetworkToml {
    pub(super) delay: Option<DurationText>,
    pub(super) rate: Option<Spanned<String>>,
}

/// `{ objective = "p99<10ms,errors<0.1%", limit = 200000, precision = 0.05, step = "1s" }`
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CapacityToml {
    objective: Objective,
    limit: Option<Rate>,
    precision: Option<f64>,
    step: Option<DurationText>,
}

#[derive(Deserialize, Default, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddressToml {
    host: Option<Spanned<String>>,
    port: Option<Spanned<u16>>,
}

impl From<WarmUpToml> for WarmUpChoice {
    fn from(written: WarmUpToml) -> Self {
        match written {
            WarmUpToml::Fixed(duration) => Self::FixedNs(duration.as_ns()),
            WarmUpToml::Steady { least, most } => Self::Steady {
                least_ns: least.as_ns(),
                most_ns: most.as_ns(),
            },
        }
    }
}

/// Default highest rate that a search tries, per second.
const LIMIT_PER_S: f64 = 1_000_000.0;
/// Default relative precision of a search.
const PRECISION: f64 = 0.05;
/// Default length of the measurement at each rate of a search, ns.
const STEP_NS: u64 = 1_000_000_000;

impl CapacityToml {
    pub(super) fn resolve(&self, source: &SourceFile, span: Range<usize>) -> Result<Search, ConfigError> {
        let precision = self.precision.unwrap_or(PRECISION);
        if !(0.001..=0.5).contains(&precision) {
            let message = format!("`precision` is {precision}: give a share from 0.001 to 0.5, such as 0.05");
            return Err(source.invalid(span, message));
        }
        let step_ns = self.step.map_or(STEP_NS, DurationText::as_ns);
        if step_ns == 0 {
            return Err(source.invalid(span, "`step` is 0: nothing would be measured at any rate"));
        }
        if self.objective.streams().is_some() {
            let message = "ttft, tpot, e2el and good are for language models: use `prony capacity URL --llm`";
            return Err(source.invalid(span, message));
        }
        Ok(Search {
            objective: self.objective.clone(),
            limit: self
                .limit
                .unwrap_or_else(|| Rate::per_second(LIMIT_PER_S).expect("invariant: above 0")),
            precision,
            step_ns,
        })
    }
}

impl AddressToml {
    pub(super) fn resolve(&self, source: &SourceFile) -> Result<Address, ConfigError> {
        if let Some(port) = self.port.as_ref().filter(|port| *port.get_ref() == 0) {
            let message = "`port` is 0: remove it for a free one, or give one";
            return Err(source.invalid(port.span(), message));
        }
        if let Some(host) = &self.host
            && host.get_ref().parse::<std::net::Ipv4Addr>().is_err()
        {
            let message = format!(
                "`host` is `{}`: give the IPv4 address of an interface of this machine, such as \"127.0.0.1\" or \"0.0.0.0\"",
                host.get_ref()
            );
            return Err(source.invalid(host.span(), message));
        }
        Ok(Address {
            host: self.host.as_ref().map(|host| host.get_ref().clone()),
            port: self.port.as_ref().map(|port| *port.get_ref()),
        })
    }
}

impl LimitsToml {
    pub(super) fn lines(&self, source: &SourceFile) -> LimitLines {
        LimitLines {
            cpus: self.cpus.as_ref().map_or(1, |cpus| source.line(cpus.span())),
            memory: self
                .memory
                .as_ref()
                .map_or(1, |memory| source.line(memory.span())),
        }
    }

    pub(crate) fn resolve(&self, source: &SourceFile) -> Result<Limits, ConfigError> {
        if let Some(cpus) = self
            .cpus
            .as_ref()
            .filter(|cpus| !(cpus.get_ref().is_finite() && *cpus.get_ref() > 0.0))
        {
            return Err(source.invalid(cpus.span(), "`cpus` must be above 0, such as 2 or 0.5"));
        }
        let memory = self.memory.as_ref().map(|memory| {
            quantity(
                memory.get_ref(),
                &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)],
            )
            .ok_or_else(|| {
                source.invalid(
                    memory.span(),
                    "`memory` must be a size, such as \"2GiB\" or \"512MiB\"",
                )
            })
        });
        Ok(Limits {
            cpus: self.cpus.as_ref().map(|cpus| *cpus.get_ref()),
            memory_bytes: memory.transpose()?,
        })
    }
}

impl NetworkToml {
    pub(super) fn resolve(&self, source: &SourceFile) -> Result<Network, ConfigError> {
        let rate = self.rate.as_ref().map(|rate| {
            quantity(
                rate.get_ref(),
                &[("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000)],
            )
            .ok_or_else(|| {
                source.invalid(
                    rate.span(),
                    "`rate` must be bits per second, such as \"1Gbit\" or \"100Mbit\"",
                )
            })
        });
        Ok(Network {
            delay_ns: self.delay.map_or(0, DurationText::as_ns),
            rate_bits_per_s: rate.transpose()?,
        })
    }
}

/// A positive whole number with one of the units.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number
        .trim()
        .parse::<u64>()
        .ok()
        .filter(|&number| number > 0)?
        .checked_mul(*factor)
}
