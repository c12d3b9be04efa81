//! The tables that list all results.

use super::reports::Reports;
use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Pages by path.
pub(super) type Pages = BTreeMap<String, String>;

/// The description of the table of studies.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Studies {
    /// All folders of `results/`, in the order of the table.
    folders: Vec<String>,
}

/// A row per study, for docs/STUDIES.md. Question and answer are those of the study's own page.
pub(super) fn studies(reports: &mut Reports<'_>, description: &str, pages: &Pages) -> Result<String> {
    let Studies { folders } = toml::from_str(description)?;
    for folder in reports.folders() {
        ensure!(folders.contains(&folder), "results/{folder} is not in the list");
    }
    let mut lines =
        "| study | question | answer | machine | prony | date |\n|---|---|---|---|---|---|".to_owned();
    for folder in &folders {
        let path = format!("results/{folder}/README.md");
        let page = pages
            .get(&path)
            .with_context(|| format!("{path} has no figures"))?;
        let paragraph = |word| paragraph(page, word).with_context(|| path.clone());
        let (question, answer) = (paragraph("Question")?, paragraph("Answer")?);
        let run = reports.run(folder)?;
        let (machine, version, date) = (run.machine(), run.version(), &run.date);
        let _ = write!(
            lines,
            "\n| [{folder}](../{path}) | {question} | {answer} | {machine} | {version} | {date} |"
        );
    }
    Ok(lines)
}

/// A row per folder, for results/README.md.
pub(super) fn runs(reports: &mut Reports<'_>) -> Result<String> {
    let mut lines =
        "| folder | suite | machine | prony | commit | date |\n|---|---|---|---|---|---|".to_owned();
    for folder in reports.folders() {
        let run = reports.run(&folder)?;
        let (suite, machine, version, date) = (&run.suite, run.machine(), run.version(), &run.date);
        let commit = run.commit("`");
        let _ = write!(
            lines,
            "\n| [{folder}]({folder}/README.md) | [{suite}](../suites/{suite}.toml) | {machine} | {version} | {commit} | {date} |"
        );
    }
    Ok(lines)
}

/// The paragraph after a bold word, without the marks of its figures.
fn paragraph(page: &str, word: &str) -> Result<String> {
    let start = format!("**{word}.** ");
    let (_, rest) = page
        .split_once(&start)
        .with_context(|| format!("no paragraph that starts with `{start}`"))?;
    let text = rest.split("\n\n").next().unwrap_or_default();
    let mut parts = text.split("<!--");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    plain.extend(
        parts
            .filter_map(|part| part.split_once("-->"))
            .map(|(_, text)| text),
    );
    // Links are relative to the folder of the study, and a bar would end the cell.
    ensure!(
        !plain.contains("](") && !plain.contains('|'),
        "`{start}` must have no links and no `|`: the list of studies quotes it"
    );
    Ok(plain.split_whitespace().collect::<Vec<_>>().join(" "))
}
