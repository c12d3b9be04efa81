//! A suite as it is written.

use super::{Limits, Network, WarmUpChoice};
use crate::PlanError;
use crate::read::Source;
use prony_load::{Protocol, WrittenDuration, WrittenLoad};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) title: String,
    pub(super) rounds: Option<u32>,
    pub(super) warm_up: Option<WrittenWarmUp>,
    pub(super) duration: Option<WrittenDuration>,
    pub(super) budget: Option<WrittenDuration>,
    pub(super) precision: Option<Spanned<f64>>,
    pub(super) confidence: Option<Spanned<f64>>,
    pub(super) tie: Option<Spanned<f64>>,
    pub(super) timeout: Option<WrittenDuration>,
    #[serde(default)]
    pub(super) no_errors: bool,
    #[serde(default)]
    pub(super) limits: WrittenLimits,
    pub(super) network: Option<WrittenNetwork>,
    #[serde(rename = "group", default)]
    pub(super) groups: Vec<Spanned<WrittenGroup>>,
    #[serde(default)]
    pub(super) profile: BTreeMap<Spanned<String>, WrittenProfile>,
}

/// What a profile may change of the whole suite.
#[derive(Deserialize, Clone, Copy, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenProfile {
    pub(super) rounds: Option<u32>,
    pub(super) warm_up: Option<WrittenWarmUp>,
    pub(super) duration: Option<WrittenDuration>,
    pub(super) budget: Option<WrittenDuration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenGroup {
    pub(super) contract: String,
    pub(super) workload: Option<String>,
    pub(super) protocols: Option<Vec<Protocol>>,
    pub(super) load: Option<Spanned<WrittenLoad>>,
    pub(super) warm_up: Option<WrittenWarmUp>,
    pub(super) duration: Option<WrittenDuration>,
    pub(super) timeout: Option<WrittenDuration>,
    pub(super) services: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) profile: BTreeMap<Spanned<String>, WrittenGroupProfile>,
}

/// What a profile may change of a group.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenGroupProfile {
    pub(super) load: Option<Spanned<WrittenLoad>>,
    pub(super) warm_up: Option<WrittenWarmUp>,
    pub(super) duration: Option<WrittenDuration>,
}

/// `"2s"`, or `{ least = "1s", most = "20s" }`: until it is steady.
#[derive(Deserialize, Clone, Copy)]
#[serde(
    untagged,
    expecting = "expected a duration (`\"2s\"`) or `{ least = \"1s\", most = \"20s\" }`"
)]
pub(super) enum WrittenWarmUp {
    Fixed(WrittenDuration),
    Steady {
        least: WrittenDuration,
        most: WrittenDuration,
    },
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenLimits {
    pub(super) cpus: Option<Spanned<f64>>,
    pub(super) memory: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenNetwork {
    pub(super) delay: Option<WrittenDuration>,
    pub(super) rate: Option<Spanned<String>>,
}

impl From<WrittenWarmUp> for WarmUpChoice {
    fn from(written: WrittenWarmUp) -> Self {
        match written {
            WrittenWarmUp::Fixed(duration) => Self::FixedNs(duration.as_ns()),
            WrittenWarmUp::Steady { least, most } => Self::Steady {
                least_ns: least.as_ns(),
                most_ns: most.as_ns(),
            },
        }
    }
}

impl WrittenLimits {
    pub(super) fn resolve(&self, source: &Source) -> Result<Limits, PlanError> {
        if let Some(cpus) = self
            .cpus
            .as_ref()
            .filter(|cpus| !(cpus.get_ref().is_finite() && *cpus.get_ref() > 0.0))
        {
            return Err(source.invalid(cpus.span(), "`cpus` must be above 0, as 2 or 0.5"));
        }
        let memory = self.memory.as_ref().map(|memory| {
            quantity(
                memory.get_ref(),
                &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)],
            )
            .ok_or_else(|| {
                source.invalid(
                    memory.span(),
                    "`memory` must be a size, as \"2GiB\" or \"512MiB\"",
                )
            })
        });
        Ok(Limits {
            cpus: self.cpus.as_ref().map(|cpus| *cpus.get_ref()),
            memory_bytes: memory.transpose()?,
        })
    }
}

impl WrittenNetwork {
    pub(super) fn resolve(&self, source: &Source) -> Result<Network, PlanError> {
        let rate = self.rate.as_ref().map(|rate| {
            quantity(
                rate.get_ref(),
                &[("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000)],
            )
            .ok_or_else(|| {
                source.invalid(
                    rate.span(),
                    "`rate` must be bits per second, as \"1Gbit\" or \"100Mbit\"",
                )
            })
        });
        Ok(Network {
            delay_ns: self.delay.map_or(0, WrittenDuration::as_ns),
            rate_bits_per_s: rate.transpose()?,
        })
    }
}

/// A whole number above 0 with one of the units.
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
