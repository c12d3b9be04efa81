//! The figures in docs/STUDIES.md are those of `results/`. `cargo xtask tidy --update` writes them.
//!
//! A table follows a comment `<!-- table … -->` with its description in TOML ([`Table`]). A figure within a sentence is
//! between `<!--= RESULT | GROUP | SERVICE | FIGURE -->` and `<!---->`; two of them, with ` / ` between, are a ratio.
//! Cells are taken from `results/*/report.md`, so that a document shows a figure as the report does.

use super::repository::Repository;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The page with the figures.
const PAGE: &str = "docs/STUDIES.md";
/// The start of the description of a table, and of a figure within a sentence.
const TABLE: &str = "<!-- table\n";
const FIGURE: &str = "<!--= ";
const FIGURE_END: &str = "<!---->";

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

/// The table of a group in a report.
struct Ranking {
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The rankings of the folders in `results/` that have been read so far.
struct Results {
    folder: PathBuf,
    rankings: BTreeMap<String, Vec<Ranking>>,
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_matches('|');
    inner.split(" | ").map(|cell| cell.trim().to_owned()).collect()
}

/// The ranking tables, one below each heading of a group.
fn rankings(report: &str) -> Vec<Ranking> {
    let mut found = Vec::new();
    let mut title = String::new();
    let mut lines = report.lines();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut title);
        } else if line.starts_with("| rank |") && !title.is_empty() {
            let head = cells(line);
            let rows = lines.by_ref().skip(1).take_while(|line| line.starts_with('|'));
            // An excluded service has a reason instead of its figures.
            let rows = rows.map(cells).filter(|row| row.len() == head.len());
            found.push(Ranking {
                title: std::mem::take(&mut title),
                rows: rows.collect(),
                head,
            });
        } else if let (Some(ranking), true, true) = (
            found.last_mut(),
            title.is_empty(),
            line.starts_with("| service |"),
        ) {
            let rows = lines.by_ref().skip(1).take_while(|line| line.starts_with('|'));
            add_operations(ranking, &cells(line)[1..], &rows.map(cells).collect::<Vec<_>>());
        }
    }
    found
}

/// Adds the table of operations, which follows the ranking: each column is one more column of the ranking.
fn add_operations(ranking: &mut Ranking, names: &[String], rows: &[Vec<String>]) {
    ranking.head.extend_from_slice(names);
    for row in &mut ranking.rows {
        let of_service = rows.iter().find(|one| one[0] == name_of(row));
        let cells = of_service.map_or_else(|| vec!["–".to_owned(); names.len()], |one| one[1..].to_vec());
        row.extend(cells);
    }
}

impl Results {
    fn new(root: &Path) -> Self {
        Self {
            folder: root.join("results"),
            rankings: BTreeMap::new(),
        }
    }

    fn ranking(&mut self, from: &str, group: &str) -> &Ranking {
        let folder = &self.folder;
        let rankings = self.rankings.entry(from.to_owned()).or_insert_with(|| {
            let file = folder.join(from).join("report.md");
            let text = std::fs::read_to_string(&file);
            rankings(&text.unwrap_or_else(|error| panic!("{}: {error}", file.display())))
        });
        let ranking = rankings.iter().find(|ranking| ranking.title.contains(group));
        ranking.unwrap_or_else(|| panic!("results/{from} has no group with `{group}` in its heading"))
    }

    /// A figure as in the report, with its unit; `None` if the service has no such figure there.
    fn figure(&mut self, from: &str, group: &str, service: &str, figure: &str) -> Option<String> {
        let ranking = self.ranking(from, group);
        let column = ranking.head.iter().position(|head| named(head).0 == figure);
        let column = column.unwrap_or_else(|| panic!("results/{from}, {group}: no column `{figure}`"));
        let Some(row) = ranking.rows.iter().find(|row| name_of(row) == service) else {
            // It may be excluded from one group; a service that is in none is a mistake.
            let stands = |ranking: &Ranking| ranking.rows.iter().any(|row| name_of(row) == service);
            assert!(
                self.rankings[from].iter().any(stands),
                "results/{from} has no service called `{service}`"
            );
            return None;
        };
        let unit = named(&ranking.head[column]).1;
        let text = row.get(column)?;
        Some(match unit {
            "" | "/s" | "%" => text.clone(),
            unit => match text.split_once(" ± ") {
                Some((value, half)) => format!("{value} {unit} ± {half}"),
                None => format!("{text} {unit}"),
            },
        })
    }

    fn ratio(&mut self, above: [&str; 4], below: [&str; 4]) -> Option<String> {
        let mut value = |[from, group, service, figure]: [&str; 4]| -> Option<f64> {
            number(&self.figure(from, group, service, figure)?)
        };
        let ratio = value(above)? / value(below)?;
        Some(if ratio < 10.0 {
            format!("{ratio:.1}")
        } else {
            format!("{ratio:.0}")
        })
    }
}

/// Name and unit of a heading.
fn named(head: &str) -> (&str, &str) {
    head.rsplit_once(", ").unwrap_or((head, ""))
}

fn name_of(row: &[String]) -> &str {
    row.get(1).map_or("", |name| name.trim_end_matches(" ⚠"))
}

fn bare(figure: &str) -> String {
    let (value, half) = figure.split_once(" ± ").unwrap_or((figure, ""));
    // Nothing follows the half-width: the unit is with the value.
    debug_assert!(half.is_empty() || half.ends_with('%'));
    value.to_owned()
}

fn number(figure: &str) -> Option<f64> {
    let figure = figure.trim_start_matches("≥ ");
    let first = figure.split(' ').next()?;
    first.replace(',', "").parse().ok()
}

fn cell(results: &mut Results, table: &Table, row: &Row, column: &Column) -> String {
    if let Some(nth) = column.given {
        return row.given(nth).to_owned();
    }
    let from = column.from.as_deref().unwrap_or(&table.from);
    let group = row.group().or(column.group.as_deref()).unwrap_or_default();
    let service = column.service.as_deref().or(row.service(column.nth));
    let service =
        service.unwrap_or_else(|| panic!("`{}`, `{}`: no service is named", row.label(), column.head));
    let figure = row.figure().unwrap_or(&column.figure);
    let found = match &column.over {
        Some(other) => results.ratio([from, group, service, figure], [from, group, other, figure]),
        None => results.figure(from, group, service, figure),
    };
    match found {
        Some(text) if column.bare => bare(&text),
        Some(text) => text,
        None => "–".to_owned(),
    }
}

/// The lines of a table.
fn filled(results: &mut Results, mut table: Table) -> String {
    let first = table.columns.first().expect("a table has columns");
    let group = first.group.clone().unwrap_or_default();
    if table.rows.iter().all(|row| row.group().is_none()) {
        let from = first.from.as_deref().unwrap_or(&table.from);
        let ranking = results.ranking(from, &group);
        let names: Vec<String> = ranking.rows.iter().map(|row| name_of(row).to_owned()).collect();
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
        let cells: Vec<String> = table
            .columns
            .iter()
            .map(|column| cell(results, &table, row, column))
            .collect();
        lines.push(format!("| {} | {} |", row.label(), cells.join(" | ")));
    }
    lines.join("\n")
}

/// A page with its tables filled.
fn with_tables(results: &mut Results, page: &str) -> String {
    let mut parts = page.split(TABLE);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (description, rest) = part.split_once("-->\n").expect("the description of a table ends");
        let table: Table =
            toml::from_str(description).unwrap_or_else(|error| panic!("{description}\n{error}"));
        let rest = rest.trim_start_matches('\n');
        let rest = if rest.starts_with('|') {
            rest.find("\n\n").map_or("", |end| &rest[end..])
        } else {
            // A new table has no lines yet.
            &format!("\n\n{rest}")
        };
        let lines = filled(results, table);
        new.extend([TABLE, description, "-->\n\n", &lines, rest]);
    }
    new
}

/// A page with the figures of its sentences.
fn with_figures(results: &mut Results, page: &str) -> String {
    let mut parts = page.split(FIGURE);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (description, rest) = part.split_once(" -->").expect("the description of a figure ends");
        let (_, rest) = rest
            .split_once(FIGURE_END)
            .unwrap_or_else(|| panic!("{description}: no {FIGURE_END}"));
        let places: Vec<[&str; 4]> = description
            .split(" / ")
            .map(|place| {
                let parts: Vec<&str> = place.split(" | ").collect();
                <[&str; 4]>::try_from(parts).unwrap_or_else(|_| panic!("`{place}` has not four parts"))
            })
            .collect();
        let text = match places.as_slice() {
            [[from, group, service, figure]] => results.figure(from, group, service, figure),
            [above, below] => results.ratio(*above, *below),
            _ => panic!("`{description}` is neither a figure nor a ratio"),
        };
        let text = text.unwrap_or_else(|| panic!("`{description}`: no such figure"));
        new.extend([FIGURE, description, " -->", &text, FIGURE_END, rest]);
    }
    new
}

/// The figures of the page match the results; `update` writes them.
pub(crate) fn figures_match_results(repository: &Repository, update: bool) -> Vec<String> {
    let page = repository.text(PAGE);
    let mut results = Results::new(&repository.root);
    let new = with_tables(&mut results, page);
    let new = with_figures(&mut results, &new);
    if new == page {
        return Vec::new();
    }
    if update {
        return match std::fs::write(repository.root.join(PAGE), &new) {
            Ok(()) => Vec::new(),
            Err(error) => vec![format!("{PAGE}: {error}")],
        };
    }
    vec![format!(
        "{PAGE}: its figures differ from results/: run `cargo xtask tidy --update`"
    )]
}

#[cfg(test)]
mod tests {
    use super::{Results, rankings, with_figures, with_tables};
    use std::path::Path;

    #[test]
    fn a_table_takes_its_cells_from_reports() {
        let report = "## hello · closed loop\n\ntext\n\n| rank | service | version | goodput, /s | p99, ms |\n|---:|---|---|---:|---:|\n\
                      | 1 | axum ⚠ | 0.8 | 2,000 ± 3 % | 5.76 ± 25 % |\n| – | C | 1 | ≥ 500 ± 1 % | 1.0 ± >100 % |\n\nmore\n";
        let mut results = Results::new(Path::new(""));
        results.rankings.insert("x".to_owned(), rankings(report));
        let page = "a\n\n<!-- table\nfrom = \"x\"\nlabel = \"service\"\ncolumns = [\n  { head = \"per s\", group = \"hello\", figure = \"goodput\" },\n  \
                    { head = \"p99\", group = \"hello\", figure = \"p99\", bare = true },\n]\n-->\n\n| old |\n\n<!--= x | hello | axum | goodput / x | hello | C | goodput -->9<!----> times.\n";
        let new = with_tables(&mut results, page);
        let new = with_figures(&mut results, &new);
        assert!(
            new.contains("| service | per s | p99 |\n|---|---:|---:|\n| axum | 2,000 ± 3 % | 5.76 ms |\n| C | ≥ 500 ± 1 % | 1.0 ms |\n\n"),
            "{new}"
        );
        assert!(new.ends_with("goodput -->4.0<!----> times.\n"), "{new}");
        // A second pass changes nothing.
        let again = with_tables(&mut results, &new);
        assert_eq!(with_figures(&mut results, &again), new);
    }
}
