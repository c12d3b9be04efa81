//! The figures in documents are those of `results/`. `cargo xtask tidy --update` writes them.
//!
//! mark | what follows it
//! ---|---
//! `<!-- table … -->` | a table of figures; the description is TOML ([`table::Table`])
//! `<!-- studies … -->` | a table of the studies: question, answer, machine, version and date
//! `<!-- runs … -->` | a table of the folders of `results/`: suite, machine, version, commit and date
//! `<!-- precision … -->` | a table of the folders of one commit: duration, half-widths, rows in doubt ([`precision::Precision`])
//! `<!--= RESULT \| GROUP \| SERVICE \| FIGURE -->` | a figure, up to `<!---->`; two with ` / ` between them are a ratio
//! `<!--= RESULT \| run -->` | date, version, commit and machine of a run, up to `<!---->`
//!
//! Cells are taken from `results/*/report.md`, so that a document shows a figure as the report does.

mod index;
pub(crate) mod precision;
mod reports;
mod run;
mod table;

use super::repository::{Repository, has_extension};
use anyhow::{Context as _, Result, bail};
use index::Pages;
use reports::Reports;

/// The start of a figure within a sentence, and the mark after it.
const FIGURE: &str = "<!--= ";
const FIGURE_END: &str = "<!---->";
const TABLE: &str = "<!-- table\n";
const STUDIES: &str = "<!-- studies\n";
const RUNS: &str = "<!-- runs\n";
pub(crate) const PRECISION: &str = "<!-- precision\n";

/// The figures of all pages match the results; `update` writes them.
pub(crate) fn figures_match_results(repository: &Repository, update: bool) -> Vec<String> {
    let has_marks = |text: &str| {
        [FIGURE, TABLE, STUDIES, RUNS]
            .iter()
            .any(|mark| text.contains(mark))
    };
    let pages = repository
        .files()
        .filter(|(path, text)| has_extension(path, "md") && is_page(path) && has_marks(text));
    // The lists of studies and runs come last: they quote the other pages.
    let (lists, others): (Vec<_>, Vec<_>) =
        pages.partition(|(_, text)| text.contains(STUDIES) || text.contains(RUNS));
    let mut reports = Reports::new(repository);
    let mut current = Pages::new();
    let mut faults = Vec::new();
    for (path, page) in others.into_iter().chain(lists) {
        match filled(page, &mut reports, &current) {
            Ok(new) => {
                if new != page {
                    faults.extend(difference(repository, path, &new, update));
                }
                current.insert(path.to_owned(), new);
            }
            Err(error) => faults.push(format!("{path}: {error:#}")),
        }
    }
    faults
}

fn is_page(path: &str) -> bool {
    path == "README.md"
        || path.starts_with("docs/")
        || (path.starts_with("results/") && path.ends_with("README.md"))
}

/// Writes a page that differs, or reports it.
fn difference(repository: &Repository, path: &str, new: &str, update: bool) -> Option<String> {
    if !update {
        return Some(format!(
            "{path}: its figures differ from results/: run `cargo xtask tidy --update`"
        ));
    }
    let error = std::fs::write(repository.root.join(path), new).err()?;
    Some(format!("{path}: {error}"))
}

/// A page with its current figures and tables.
fn filled(page: &str, reports: &mut Reports<'_>, pages: &Pages) -> Result<String> {
    let page = with_blocks(page, TABLE, |description| table::lines(reports, description))?;
    let page = with_blocks(&page, STUDIES, |description| {
        index::studies(reports, description, pages)
    })?;
    let page = with_blocks(&page, RUNS, |_| index::runs(reports))?;
    let page = with_blocks(&page, PRECISION, |description| {
        precision::lines(reports.repository(), description)
    })?;
    with_figures(reports, &page)
}

/// A page with new lines in the table after each mark.
fn with_blocks(page: &str, mark: &str, mut lines: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut parts = page.split(mark);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (description, rest) = part
            .split_once("-->\n")
            .context("the description of a table does not end")?;
        let table =
            lines(description).with_context(|| description.lines().next().unwrap_or_default().to_owned())?;
        let rest = rest.trim_start_matches('\n');
        // A new table has no lines yet.
        let after = if rest.starts_with('|') {
            rest.find("\n\n").map_or("\n", |end| &rest[end..])
        } else {
            &format!("\n\n{rest}")
        };
        new.extend([mark, description, "-->\n\n", &table, after]);
    }
    Ok(new)
}

/// A page with the current figures of its sentences.
fn with_figures(reports: &mut Reports<'_>, page: &str) -> Result<String> {
    let mut parts = page.split(FIGURE);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (description, rest) = part
            .split_once(" -->")
            .context("the description of a figure does not end")?;
        let (_, rest) = rest
            .split_once(FIGURE_END)
            .with_context(|| format!("`{description}`: no {FIGURE_END}"))?;
        let text = figure(reports, description).with_context(|| format!("`{description}`"))?;
        new.extend([FIGURE, description, " -->", &text, FIGURE_END, rest]);
    }
    Ok(new)
}

fn figure(reports: &mut Reports<'_>, description: &str) -> Result<String> {
    if let Some(from) = description.strip_suffix(" | run") {
        return Ok(reports.run(from)?.to_string());
    }
    let mut places = Vec::new();
    for place in description.split(" / ") {
        let parts: Vec<&str> = place.split(" | ").collect();
        let place = <[&str; 4]>::try_from(parts).ok();
        places.push(place.context("a figure has four parts: RESULT | GROUP | SERVICE | FIGURE")?);
    }
    let found = match places.as_slice() {
        [[from, group, service, figure]] => reports.figure(from, group, service, figure)?,
        [above, below] => reports.ratio(*above, *below)?,
        _ => bail!("it is neither a figure nor a ratio"),
    };
    found.context("the report has no such figure")
}

#[cfg(test)]
mod tests {
    use super::{Pages, Reports, figures_match_results, filled};
    use crate::tidy::repository::Repository;

    const REPORT: &str = "## hello · closed loop\n\ntext\n\n| rank | service | version | goodput, /s | p99, ms |\n|---:|---|---|---:|---:|\n\
                          | 1 | axum ⚠ | 0.8 | 2,000 ± 3 % | 5.76 ± 25 % |\n| – | C | 1 | ≥ 500 ± 1 % | 1.0 ± >100 % |\n\nmore\n";
    const ENVIRONMENT: &str =
        r#"{"prony":"0.2.0","commit":"abc+dirty","cpu":{"model":"Made-up","online":2}}"#;
    const JSON: &str = r#"{"suite":"x-suite","started_at":"2026-11-23T04:04:23Z","groups":[],"environment":{"prony":"0.2.0","commit":"abc+dirty","cpu":{"model":"Made-up","online":2}}}"#;
    const STUDY: &str = "# X\n\n**Question.** Which is\nfastest?\n\n**Answer.** axum, <!--= x | hello | axum | goodput -->2,000 ± 3 %<!---->.\n\n\
                         Run: <!--= x | run -->2026-11-23, prony 0.2.0, commit abc with changes, Made-up, 2 CPUs<!---->.\n";

    fn repository<'a>(pages: &[(&'a str, &'a str)]) -> Repository {
        let files = [
            ("results/x/report.md", REPORT),
            ("results/x/report.json", JSON),
            ("results/x/environment.json", ENVIRONMENT),
        ];
        let files: Vec<(&str, &str)> = files.iter().chain(pages).copied().collect();
        Repository::of(&files)
    }

    fn page_of(repository: &Repository, page: &str) -> String {
        filled(page, &mut Reports::new(repository), &Pages::new()).expect("valid marks")
    }

    #[test]
    fn a_table_takes_its_cells_from_reports() {
        let repository = repository(&[]);
        let page = "a\n\n<!-- table\nfrom = \"x\"\nlabel = \"service\"\ncolumns = [\n  { head = \"per s\", group = \"hello\", figure = \"goodput\" },\n  \
                    { head = \"p99\", group = \"hello\", figure = \"p99\", bare = true },\n]\n-->\n\n| old |\n\n<!--= x | hello | axum | goodput / x | hello | C | goodput -->9<!----> times.\n";
        let new = page_of(&repository, page);
        assert!(
            new.contains("| service | per s | p99 |\n|---|---:|---:|\n| axum | 2,000 ± 3 % | 5.76 ms |\n| C | ≥ 500 ± 1 % | 1.0 ms |\n\n"),
            "{new}"
        );
        assert!(new.ends_with("goodput -->4.0<!----> times.\n"), "{new}");
        // A second pass changes nothing.
        assert_eq!(page_of(&repository, &new), new);
    }

    #[test]
    fn the_list_of_studies_quotes_their_pages_and_has_machine_version_and_date() {
        let list = "<!-- studies\nfolders = [\"x\"]\n-->\n\n| study | question | answer | machine | prony | date |\n|---|---|---|---|---|---|\n\
                    | [x](../results/x/README.md) | Which is fastest? | axum, 2,000 ± 3 %. | Made-up, 2 CPUs | 0.2.0 | 2026-11-23 |\n";
        let runs = "<!-- runs\n-->\n\n| folder | suite | machine | prony | commit | date |\n|---|---|---|---|---|---|\n\
                    | [x](x/README.md) | [x-suite](../suites/x-suite.toml) | Made-up, 2 CPUs | 0.2.0 | `abc` with changes | 2026-11-23 |\n";
        let faults = |study: &str, list: &str| {
            let pages = [
                ("results/x/README.md", study),
                ("results/README.md", runs),
                ("docs/STUDIES.md", list),
            ];
            figures_match_results(&repository(&pages), false)
        };
        assert_eq!(faults(STUDY, list), [""; 0]);
        assert_eq!(
            faults(STUDY, &list.replace("0.2.0", "0.3.0")),
            ["docs/STUDIES.md: its figures differ from results/: run `cargo xtask tidy --update`"]
        );
        let other = faults(&STUDY.replace("2,000", "3,000"), list);
        assert_eq!(other.len(), 1, "{other:?}");
        let missing = faults(&STUDY.replace("**Answer.**", "Answer:"), list);
        assert_eq!(
            missing,
            [
                "docs/STUDIES.md: folders = [\"x\"]: results/x/README.md: no paragraph that starts with `**Answer.** `"
            ]
        );
        let unlisted = faults(STUDY, &list.replace("[\"x\"]", "[]"));
        assert_eq!(
            unlisted,
            ["docs/STUDIES.md: folders = []: results/x is not in the list"]
        );
    }

    #[test]
    fn the_table_of_precision_has_a_row_for_each_folder_of_the_commit() {
        let row = |low: f64, warning: &str, ratio: &str| {
            format!(
                r#"{{"service":"a","cpu_ns_per_request":{{"point":1.0,"low":{low},"high":1.21}},"warnings":[{warning}],{ratio}}}"#
            )
        };
        // The ratio of the first service to itself has no interval.
        let first = r#""ratio_to_first":{"point":1.0,"low":1.0,"high":1.0}"#;
        let other = r#""ratio_to_first":{"point":1.1,"low":1.0,"high":1.44}"#;
        let doubt = r#"{"kind":"warming","level":"warning","affects":["cpu"]}"#;
        let rows = [row(1.0, doubt, first), row(1.21, "", other), row(1.0, "", other)].join(",");
        let pairs = r#"{"verdict":"faster"},{"verdict":"cannot_tell","ratio":{"point":1.0,"low":0.96,"high":1.04}},{"verdict":"cannot_tell"}"#;
        let report = format!(
            r#"{{"started_at":"2026-11-28T23:10:00Z","ended_at":"2026-11-29T00:20:30Z","environment":{{"prony":"0.2.0","commit":"abc"}},
            "groups":[{{"ranked_by":"cpu_ns_per_request","services":[{rows}],"pairs":[{pairs}]}}]}}"#
        );
        let page = "<!-- precision\ncommit = \"abc\"\nolder = [\"x\"]\n-->\n\n| study | took | half-width | of CPU/request | of ratios | in doubt | decided | warming |\n\
                    |---|---:|---:|---:|---:|---:|---:|---:|\n| [y](y/README.md) | 1 h 10 min | 10.0 % | 10.0 % | 20.0 % | 1 of 3 | 2 of 3 | 1 |\n";
        let repository = repository(&[("results/y/report.json", &report)]);
        assert_eq!(page_of(&repository, page), page);
        // Of two rows, the median is between them.
        let two = report.replace(&format!(",{}", row(1.0, "", other)), "");
        let between = page.replace(
            "10.0 % | 10.0 % | 20.0 % | 1 of 3",
            "5.0 % | 5.0 % | 20.0 % | 1 of 2",
        );
        assert_eq!(
            page_of(&self::repository(&[("results/y/report.json", &two)]), page),
            between
        );
        // The pause before a run was resumed is no part of it.
        let resumed = report.replace("\"environment\"", "\"spent_s\":3665.4,\"environment\"");
        let shorter = page.replace("1 h 10 min", "1 h 1 min");
        assert_eq!(
            page_of(&self::repository(&[("results/y/report.json", &resumed)]), page),
            shorter
        );
    }

    #[test]
    fn a_figure_that_no_report_has_is_reported_with_its_description() {
        let page = "<!--= x | hello | axum | speed -->1<!---->\n";
        let faults = figures_match_results(&repository(&[("README.md", page)]), false);
        assert_eq!(
            faults,
            ["README.md: `x | hello | axum | speed`: results/x, hello: no column `speed`"]
        );
    }

    #[test]
    fn results_of_different_machines_are_not_compared() {
        let other = JSON.replace("Made-up", "Other");
        let environment = ENVIRONMENT.replace("Made-up", "Other");
        let page = "<!--= x | hello | axum | goodput / y | hello | C | goodput -->4.0<!---->\n";
        let files = [
            ("README.md", page),
            ("results/y/report.md", REPORT),
            ("results/y/report.json", &other),
            ("results/y/environment.json", &environment),
        ];
        assert_eq!(
            figures_match_results(&repository(&files), false),
            [
                "README.md: `x | hello | axum | goodput / y | hello | C | goodput`: x was measured on Made-up, 2 CPUs, y on Other, 2 CPUs"
            ]
        );
    }
}
