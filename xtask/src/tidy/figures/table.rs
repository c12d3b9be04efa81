//! The tables of figures, and their descriptions.

use super::reports::{Ranking, Reports};
use anyhow::{Context as _, Result};
use serde::Deserialize;

/// The description of a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The folder in `results/`.
    from: String,
    /// Heading of its first column.
    label: String,
    columns: Vec<Column>,
    /// Default: all services of the first column's group, in the order of the report.
    #[serde(default)]
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    head: String,
    /// Another folder than the table's.
    from: Option<String>,
    /// A part of the group's heading in the report, if the row has none.
    group: Option<String>,
    /// The service's name in the report, if the row has none.
    service: Option<String>,
    /// Index of the row's service.
    #[serde(default)]
    nth: usize,
    /// Heading of the report's column, without its unit.
    #[serde(default)]
    figure: String,
    /// The figure without its interval.
    #[serde(default)]
    bare: bool,
    /// Ratio of the column's figure to that of this service.
    over: Option<String>,
    /// Index of the published value in the row.
    given: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Row {
    Service(String),
    Full {
        label: String,
        group: Option<String>,
        /// Overrides the figure of the columns.
        figure: Option<String>,
        #[serde(default)]
        services: Vec<String>,
        #[serde(default)]
        given: Vec<String>,
    },
}

impl Row {
    fn label(&self) -> &str {
        match self {
            Self::Service(label) | Self::Full { label, .. } => label,
        }
    }

    fn group(&self) -> Option<&str> {
        match self {
            Self::Service(_) => None,
            Self::Full { group, .. } => group.as_deref(),
        }
    }

    fn figure(&self) -> Option<&str> {
        match self {
            Self::Service(_) => None,
            Self::Full { figure, .. } => figure.as_deref(),
        }
    }

    fn service(&self, nth: usize) -> Option<&str> {
        match self {
            Self::Service(name) => Some(name),
            Self::Full { services, .. } => services.get(nth).map(String::as_str),
        }
    }

    fn given(&self, nth: usize) -> &str {
        match self {
            Self::Service(_) => "",
            Self::Full { given, .. } => given.get(nth).map_or("", String::as_str),
        }
    }
}

/// The lines of a table.
pub(super) fn lines(reports: &mut Reports<'_>, description: &str) -> Result<String> {
    let mut table: Table = toml::from_str(description)?;
    let first = table.columns.first().context("the table has no columns")?;
    let group = first.group.clone().unwrap_or_default();
    if table.rows.iter().all(|row| row.group().is_none()) {
        let from = first.from.as_deref().unwrap_or(&table.from);
        let names: Vec<String> = Ranking::services(reports.ranking(from, &group)?)
            .map(str::to_owned)
            .collect();
        if table.rows.is_empty() {
            table.rows = names.iter().cloned().map(Row::Service).collect();
        }
        let place = |row: &Row| {
            names
                .iter()
                .position(|name| Some(name.as_str()) == row.service(0))
        };
        table.rows.sort_by_key(|row| place(row).unwrap_or(usize::MAX));
    }
    let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
    let mut lines = vec![
        format!("| {} | {} |", table.label, heads.join(" | ")),
        format!("|---|{}", "---:|".repeat(heads.len())),
    ];
    for row in &table.rows {
        let cells = table
            .columns
            .iter()
            .map(|column| cell(reports, &table, row, column));
        let cells = cells.collect::<Result<Vec<String>>>()?;
        lines.push(format!("| {} | {} |", row.label(), cells.join(" | ")));
    }
    Ok(lines.join("\n"))
}

fn cell(reports: &mut Reports<'_>, table: &Table, row: &Row, column: &Column) -> Result<String> {
    if let Some(nth) = column.given {
        return Ok(row.given(nth).to_owned());
    }
    let from = column.from.as_deref().unwrap_or(&table.from);
    let group = row.group().or(column.group.as_deref()).unwrap_or_default();
    let service = column.service.as_deref().or(row.service(column.nth));
    let service =
        service.with_context(|| format!("`{}`, `{}`: no service is named", row.label(), column.head))?;
    let figure = row.figure().unwrap_or(&column.figure);
    let found = match &column.over {
        Some(other) => reports.ratio([from, group, service, figure], [from, group, other, figure])?,
        None => reports.figure(from, group, service, figure)?,
    };
    Ok(match found {
        Some(text) if column.bare => bare(&text).to_owned(),
        Some(text) => text,
        None => "–".to_owned(),
    })
}

/// The figure without its half-width. Its unit precedes the half-width.
fn bare(figure: &str) -> &str {
    figure.split_once(" ± ").map_or(figure, |(value, _)| value)
}
