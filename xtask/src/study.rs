//! Runs the suites of studies in `quick` (or another profile) and exports the measurements into results/.

use crate::root;
use crate::suites::{ELSEWHERE, suite_names};
use anyhow::{Context as _, Result, bail, ensure};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// Run the suites of studies and export the measurements into results/
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Their numbers, such as `002`, or names of suites, such as `efficiency`; default: all
    studies: Vec<String>,
    /// Profile of their suites
    #[arg(long, default_value = "quick")]
    profile: String,
    /// Measure only suites of which the store has no complete run of this commit in this profile, and continue interrupted runs
    #[arg(long)]
    resume: bool,
    /// Export this run of the store without measuring
    #[arg(long, value_name = "RUN", conflicts_with = "studies")]
    export: Option<String>,
    /// The prony to measure with
    #[arg(long, env = "PRONY", default_value = "target/release/prony")]
    prony: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    let prony = root().join(&arguments.prony);
    if let Some(run) = &arguments.export {
        export(&shell, &prony, &report(&shell, &prony, run)?)?;
        return Ok(true);
    }
    let suites = suites_of(&arguments.studies)?;
    let changes = cmd!(shell, "git status --porcelain").read()?;
    ensure!(
        changes.is_empty(),
        "results name the commit that was measured, and these files differ from it: commit them first\n{changes}"
    );
    let commit = cmd!(shell, "git rev-parse --short=12 HEAD").read()?;
    let mut reports = Vec::new();
    for suite in suites {
        let study = SuiteAtCommit {
            suite: &suite,
            profile: &arguments.profile,
            commit: &commit,
        };
        let earlier = if arguments.resume {
            study.runs(&shell, &prony)?
        } else {
            Vec::new()
        };
        reports.push(study.completed(&shell, &prony, earlier)?);
    }
    // All at the end: an export changes files, and runs after it would no longer be those of the commit.
    for report in &reports {
        export(&shell, &prony, report)?;
    }
    Ok(true)
}

fn report(shell: &Shell, prony: &Path, run: &str) -> Result<String> {
    Ok(cmd!(shell, "{prony} report {run} --format json").quiet().read()?)
}

/// A suite, its profile, and the commit to measure.
struct SuiteAtCommit<'a> {
    suite: &'a str,
    profile: &'a str,
    commit: &'a str,
}

impl SuiteAtCommit<'_> {
    /// Its runs in the store, the latest first.
    fn runs(&self, shell: &Shell, prony: &Path) -> Result<Vec<MeasuredRun>> {
        let listed = cmd!(shell, "{prony} list runs --json").quiet().read()?;
        let listed: RunList = serde_json::from_str(&listed).context("the list of runs is JSON")?;
        let runs = listed.runs.iter().filter(|run| run.suite == self.suite);
        let runs = runs.map(|run| MeasuredRun::of(report(shell, prony, &run.run)?));
        let is_same =
            |run: &Result<MeasuredRun>| run.as_ref().map_or(true, |run| self.is_measured_by(&run.summary));
        runs.filter(is_same).collect()
    }

    fn is_measured_by(&self, run: &RunSummary) -> bool {
        run.environment.commit.as_deref() == Some(self.commit)
            && run.plan.profile.as_deref() == Some(self.profile)
    }

    /// The report of the first complete run; otherwise the first run is continued, or the suite is measured.
    fn completed(&self, shell: &Shell, prony: &Path, runs: Vec<MeasuredRun>) -> Result<String> {
        let interrupted = runs.first().map(|run| run.summary.run.clone());
        if let Some(complete) = runs.into_iter().find(|run| run.summary.is_complete()) {
            return Ok(complete.report);
        }
        if let Some(run) = interrupted {
            return Ok(cmd!(shell, "{prony} run --resume {run} --json").read()?);
        }
        let Self { suite, profile, .. } = self;
        // A missing toolchain becomes a row with its reason.
        let _ = cmd!(shell, "{prony} doctor {suite} --install --yes").run();
        Ok(cmd!(shell, "{prony} run {suite} --profile {profile} --json").read()?)
    }
}

/// A run of the store.
struct MeasuredRun {
    /// As JSON.
    report: String,
    summary: RunSummary,
}

impl MeasuredRun {
    fn of(report: String) -> Result<Self> {
        let summary = serde_json::from_str(&report).context("a report is JSON")?;
        Ok(Self { report, summary })
    }
}

#[derive(Deserialize)]
struct RunList {
    runs: Vec<RunListEntry>,
}

#[derive(Deserialize)]
struct RunListEntry {
    run: String,
    suite: String,
}

/// What a report says about its run.
#[derive(Deserialize)]
struct RunSummary {
    run: String,
    state: String,
    environment: Environment,
    plan: MeasuredPlan,
    warnings: Vec<RunWarning>,
}

impl RunSummary {
    fn is_complete(&self) -> bool {
        self.state == "ended" && self.warnings.iter().all(|warning| warning.kind != "interrupted")
    }
}

#[derive(Deserialize)]
struct Environment {
    commit: Option<String>,
}

#[derive(Deserialize)]
struct MeasuredPlan {
    profile: Option<String>,
}

#[derive(Deserialize)]
struct RunWarning {
    kind: String,
}

/// The suites of these studies, or of all: `001` has 001-person, 001-person-4 and 001-person-published.
fn suites_of(studies: &[String]) -> Result<Vec<String>> {
    let mut suites = suite_names(&root().join("suites"))?;
    suites.retain(|suite| !ELSEWHERE.contains(&suite.as_str()));
    let is_of = |suite: &String, study: &String| suite == study || suite.starts_with(&format!("{study}-"));
    if let Some(unknown) = studies
        .iter()
        .find(|study| !suites.iter().any(|suite| is_of(suite, study)))
    {
        bail!(
            "no suite {unknown} or {unknown}-…: choose from {}",
            Vec::from_iter(suites).join(" ")
        );
    }
    suites.retain(|suite| studies.is_empty() || studies.iter().any(|study| is_of(suite, study)));
    Ok(suites.into_iter().collect())
}

/// JSON whose objects keep their key order, so that a new export differs only where values changed.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Json {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    Array(Vec<Self>),
    Object(IndexMap<String, Self>),
}

impl Json {
    fn get(&self, key: &str) -> Result<&Self> {
        let found = match self {
            Self::Object(fields) => fields.get(key),
            _ => None,
        };
        found.with_context(|| format!("a report has no {key}"))
    }

    fn text(&self, key: &str) -> Result<&str> {
        match self.get(key)? {
            Self::Text(text) => Ok(text),
            other => bail!("{key} of a report is {other:?}"),
        }
    }
}

fn export(shell: &Shell, prony: &Path, report: &str) -> Result<()> {
    let mut report: Json = serde_json::from_str(report).context("a report is JSON")?;
    without_logs(&mut report);
    let (run, name) = (report.text("run")?, folder_of(report.text("suite")?));
    let folder = root().join("results").join(&name);
    clear(&folder)?;
    write(&folder.join("report.json"), &report)?;
    // The report contains the environment, too; a separate file is easier to compare between machines.
    write(&folder.join("environment.json"), report.get("environment")?)?;
    for (format, name) in [("md", "report.md"), ("csv", "report.csv"), ("svg", "charts")] {
        let out = folder.join(name);
        cmd!(shell, "{prony} report {run} --format {format} --out {out}")
            .quiet()
            .run()?;
    }
    println!("{run}: results/{name}; `cargo xtask tidy --update` writes its figures into the documents");
    Ok(())
}

/// Deletes an earlier export. The text of the study is written by hand, and stays.
fn clear(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        } else if !path.ends_with("README.md") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// 000-sequence goes to results/000, 001-person-4 to results/001-4, efficiency to results/efficiency.
fn folder_of(suite: &str) -> String {
    let digits = suite.chars().take_while(char::is_ascii_digit).count();
    let word = suite.get(digits..).and_then(|rest| rest.strip_prefix('-'));
    match word {
        Some(word) if digits > 0 => {
            let rest = word.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
            format!("{}{rest}", &suite[..digits])
        }
        _ => suite.to_owned(),
    }
}

/// The log of a failed build contains folders and registries of one machine. The reason is kept.
fn without_logs(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            for (key, field) in fields {
                if key == "log_tail" {
                    *field = Json::Array(Vec::new());
                } else {
                    without_logs(field);
                }
            }
        }
        Json::Array(values) => values.iter_mut().for_each(without_logs),
        _ => {}
    }
}

/// Indented by one space per level: these files are large, and are compared line by line.
fn write(path: &Path, value: &Json) -> Result<()> {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))?;
    bytes.push(b'\n');
    Ok(fs::write(path, bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_suite_goes_to_the_folder_of_its_study() {
        for (suite, folder) in [
            ("000-sequence", "000"),
            ("000-sequence-container", "000-container"),
            ("001-person-4", "001-4"),
            ("efficiency-7500", "efficiency-7500"),
            ("grpc-streams", "grpc-streams"),
        ] {
            assert_eq!(folder_of(suite), folder);
        }
    }

    #[test]
    fn a_new_export_keeps_the_text_of_the_study() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("000");
        clear(&folder).expect("created");
        fs::create_dir(folder.join("charts")).expect("created");
        for name in ["README.md", "report.md", "charts/1.svg"] {
            fs::write(folder.join(name), name).expect("written");
        }
        clear(&folder).expect("cleared");
        let left: Vec<_> = fs::read_dir(&folder).expect("a folder").flatten().collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].file_name(), "README.md");
    }

    #[test]
    fn logs_are_left_out_at_every_depth_and_keys_keep_their_order() {
        let text = r#"{"rows":[{"excluded":{"reason":"r","log_tail":["/home/x"]}}],"log_tail":["y"],"ended":null,"share":0.25,"a":1}"#;
        let mut report: Json = serde_json::from_str(text).expect("JSON");
        without_logs(&mut report);
        assert_eq!(
            serde_json::to_string(&report).expect("JSON"),
            text.replace(r#"["/home/x"]"#, "[]").replace(r#"["y"]"#, "[]")
        );
    }

    #[test]
    fn only_a_complete_run_of_the_same_commit_and_profile_is_not_measured_again() {
        let study = SuiteAtCommit {
            suite: "002-relay",
            profile: "quick",
            commit: "0123456789ab",
        };
        let complete = r#"{"run":"R","state":"ended","environment":{"commit":"0123456789ab"},"plan":{"profile":"quick"},"warnings":[{"kind":"budget_spent"}]}"#;
        let others = [
            ("0123456789ab", "0123456789ab+dirty"),
            ("\"0123456789ab\"", "null"),
            ("quick", "full"),
        ];
        let interrupted = [("ended", "unfinished"), ("budget_spent", "interrupted")];
        let summary = |report: &str| serde_json::from_str::<RunSummary>(report).expect("a report");
        assert!(study.is_measured_by(&summary(complete)) && summary(complete).is_complete());
        for (part, other) in others {
            let other = summary(&complete.replace(part, other));
            assert!(!study.is_measured_by(&other), "{part}");
        }
        for (part, other) in interrupted {
            let other = summary(&complete.replace(part, other));
            assert!(study.is_measured_by(&other) && !other.is_complete(), "{part}");
        }
    }

    #[test]
    fn every_study_has_its_suites_and_a_folder_of_its_own() {
        let suites = |studies: &[&str]| {
            let studies: Vec<String> = studies.iter().map(|&study| study.to_owned()).collect();
            suites_of(&studies)
        };
        assert_eq!(
            suites(&["001"]).expect("read"),
            ["001-person", "001-person-4", "001-person-published"]
        );
        assert_eq!(suites(&["account"]).expect("read"), ["account"]);
        let error = suites(&["005"]).expect_err("no such study");
        assert!(error.to_string().contains("choose from 000-sequence"), "{error}");
        let all = suites(&[]).expect("read");
        let folders: BTreeSet<String> = all.iter().map(|suite| folder_of(suite)).collect();
        assert_eq!(folders.len(), all.len(), "{folders:?}");
        assert!(!all.contains(&"smoke".to_owned()), "{all:?}");
    }
}
