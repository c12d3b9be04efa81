//! The table of comparisons: `cases.toml`, which explains its keys.

use super::Part;
use super::output::{Output, Unit};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub(super) tools: BTreeMap<String, Tool>,
    pub(super) servers: BTreeMap<String, String>,
    pub(super) cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) output: Output,
    pub(super) command: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) part: Part,
    pub(super) title: String,
    pub(super) server: String,
    pub(super) tools: Vec<String>,
    pub(super) load: String,
    pub(super) each: Vec<Row>,
    #[serde(default)]
    pub(super) unit: Unit,
    #[serde(default = "one")]
    pub(super) messages_in_reply: f64,
    pub(super) rivals: Vec<String>,
    #[serde(default)]
    pub(super) wanted: Vec<RatioTarget>,
}

#[derive(Deserialize)]
pub(super) struct Row {
    #[serde(default)]
    pub(super) wanted: Vec<RatioTarget>,
    #[serde(flatten)]
    pub(super) values: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RatioTarget {
    #[serde(default)]
    pub(super) ours: Vec<String>,
    pub(super) rival: String,
    pub(super) ratio: f64,
}

fn one() -> f64 {
    1.0
}

impl Table {
    pub(super) fn read() -> Result<Self> {
        toml::from_str(include_str!("cases.toml")).context("cases.toml")
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn cases_name_existing_tools_and_servers() {
        let table = Table::read().expect("it is valid");
        for case in &table.cases {
            assert!(table.servers.contains_key(&case.server), "{}", case.server);
            assert!(
                case.tools.iter().all(|name| table.tools.contains_key(name)),
                "{:?}",
                case.tools
            );
            let wanted = case
                .wanted
                .iter()
                .chain(case.each.iter().flat_map(|row| &row.wanted));
            let named = wanted.flat_map(|wanted| wanted.ours.iter().chain([&wanted.rival]));
            for name in case.rivals.iter().chain(named) {
                assert!(case.tools.contains(name), "{}: {name}", case.title);
            }
            assert!(
                case.each.iter().all(|row| row.values["c"].parse::<u64>().is_ok()),
                "{}",
                case.title
            );
        }
    }
}
