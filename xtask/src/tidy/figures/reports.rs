//! The reports of `results/`: their rankings and their runs.

use super::run::Run;
use crate::tidy::repository::Repository;
use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeMap;

/// The table of a group in a report.
pub(super) struct Ranking {
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Ranking {
    pub(super) fn services(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| name_of(row))
    }

    /// The place of a figure and its unit. A figure that is not the only one of its name is written with what follows its comma
    /// (`CPU, TLS ÷ clear`), which then is no unit.
    fn column(&self, figure: &str) -> Option<(usize, String)> {
        if let Some(whole) = self.head.iter().position(|head| head == figure) {
            return Some((whole, String::new()));
        }
        let column = self.head.iter().position(|head| named(head).0 == figure)?;
        Some((column, named(&self.head[column]).1.to_owned()))
    }
}

/// The folders of `results/`, and what was read of them so far.
pub(super) struct Reports<'a> {
    repository: &'a Repository,
    rankings: BTreeMap<String, Vec<Ranking>>,
    runs: BTreeMap<String, Run>,
}

impl<'a> Reports<'a> {
    pub(super) const fn new(repository: &'a Repository) -> Self {
        Self {
            repository,
            rankings: BTreeMap::new(),
            runs: BTreeMap::new(),
        }
    }

    pub(super) const fn repository(&self) -> &'a Repository {
        self.repository
    }

    /// The names of all folders.
    pub(super) fn folders(&self) -> Vec<String> {
        let reports = self.repository.files().filter_map(|(path, _)| {
            let folder = path.strip_prefix("results/")?.strip_suffix("/report.json")?;
            Some(folder.to_owned())
        });
        let mut folders: Vec<String> = reports.collect();
        // By path, `001-4/` precedes `001/`.
        folders.sort();
        folders
    }

    fn text(&self, from: &str, file: &str) -> Result<&'a str> {
        let path = format!("results/{from}/{file}");
        ensure!(self.repository.exists(&path), "{path} does not exist");
        Ok(self.repository.text(&path))
    }

    pub(super) fn run(&mut self, from: &str) -> Result<&Run> {
        if !self.runs.contains_key(from) {
            let texts = (
                self.text(from, "report.json")?,
                self.text(from, "environment.json")?,
            );
            let run = Run::read(texts.0, texts.1).with_context(|| format!("results/{from}"))?;
            self.runs.insert(from.to_owned(), run);
        }
        Ok(&self.runs[from])
    }

    pub(super) fn ranking(&mut self, from: &str, group: &str) -> Result<&Ranking> {
        if !self.rankings.contains_key(from) {
            let found = rankings(self.text(from, "report.md")?);
            self.rankings.insert(from.to_owned(), found);
        }
        let ranking = self.rankings[from]
            .iter()
            .find(|ranking| ranking.title.contains(group));
        ranking.with_context(|| format!("results/{from} has no group with `{group}` in its heading"))
    }

    /// A figure as in the report, with its unit; `None` if the service has no such figure there.
    pub(super) fn figure(
        &mut self,
        from: &str,
        group: &str,
        service: &str,
        figure: &str,
    ) -> Result<Option<String>> {
        let ranking = self.ranking(from, group)?;
        let (column, unit) = ranking
            .column(figure)
            .with_context(|| format!("results/{from}, {group}: no column `{figure}`"))?;
        let row = ranking.rows.iter().find(|row| name_of(row) == service);
        let text = row.and_then(|row| row.get(column).cloned());
        if row.is_none() {
            // It may be excluded from one group; a service that is in none is a mistake.
            let mut services = self.rankings[from].iter().flat_map(Ranking::services);
            ensure!(
                services.any(|other| other == service),
                "results/{from} has no service called `{service}`"
            );
        }
        Ok(text.map(|text| with_unit(&text, &unit)))
    }

    /// The first figure divided by the second one.
    pub(super) fn ratio(&mut self, above: [&str; 4], below: [&str; 4]) -> Result<Option<String>> {
        if above[0] != below[0] {
            let machines = (self.run(above[0])?.machine(), self.run(below[0])?.machine());
            ensure!(
                machines.0 == machines.1,
                "{} was measured on {}, {} on {}",
                above[0],
                machines.0,
                below[0],
                machines.1
            );
        }
        let mut value = |[from, group, service, figure]: [&str; 4]| -> Result<Option<f64>> {
            let figure = self.figure(from, group, service, figure)?;
            Ok(figure.and_then(|figure| number(&figure)))
        };
        let (Some(above), Some(below)) = (value(above)?, value(below)?) else {
            return Ok(None);
        };
        let ratio = above / below;
        Ok(Some(if ratio < 10.0 {
            format!("{ratio:.1}")
        } else {
            format!("{ratio:.0}")
        }))
    }
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

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_matches('|');
    inner.split(" | ").map(|cell| cell.trim().to_owned()).collect()
}

/// A cell and its unit, which follows the value; a word, such as `not known`, has none.
fn with_unit(cell: &str, unit: &str) -> String {
    let is_value = cell
        .trim_start_matches("≥ ")
        .starts_with(|first: char| first.is_ascii_digit());
    if !is_value || matches!(unit, "" | "/s" | "%") {
        return cell.to_owned();
    }
    let end = [" ± ", " ("].iter().filter_map(|after| cell.find(after)).min();
    let (value, rest) = cell.split_at(end.unwrap_or(cell.len()));
    format!("{value} {unit}{rest}")
}

/// Name and unit of a heading.
fn named(head: &str) -> (&str, &str) {
    head.rsplit_once(", ").unwrap_or((head, ""))
}

fn name_of(row: &[String]) -> &str {
    row.get(1).map_or("", |name| name.trim_end_matches(" ⚠"))
}

fn number(figure: &str) -> Option<f64> {
    let figure = figure.trim_start_matches("≥ ");
    let first = figure.split(' ').next()?;
    first.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_one_name_are_told_apart_by_what_follows_the_comma() {
        let report = "## hello\n\n| rank | service | CPU, TLS ÷ clear | p99, ms | CPU, % |\n|---:|---|---:|---:|---:|\n";
        let column = |figure| rankings(report)[0].column(figure);
        assert_eq!(column("CPU, TLS ÷ clear"), Some((2, String::new())));
        assert_eq!(column("CPU, %"), Some((4, String::new())));
        assert_eq!(column("p99"), Some((3, "ms".to_owned())));
        assert_eq!(column("p90"), None);
    }

    #[test]
    fn a_unit_follows_its_value() {
        let shown = |cell| with_unit(cell, "MiB");
        assert_eq!(shown("199 (1 trial)"), "199 MiB (1 trial)");
        assert_eq!(shown("2,144 ± 3 %"), "2,144 MiB ± 3 %");
        assert_eq!(shown("≥ 154–279"), "≥ 154–279 MiB");
        assert_eq!(shown("not known"), "not known");
        assert_eq!(shown("–"), "–");
        assert_eq!(with_unit("7.2 ± 3 %", "%"), "7.2 ± 3 %");
    }
}
