//! Runs the suites of a study in `quick` (or another profile) and exports the measurements into results/.

use crate::root;
use anyhow::{Context as _, Result, bail, ensure};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// Run the suites of a study and export the measurements into results/
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Its number, such as `002`, or the name of a suite, such as `efficiency`
    #[arg(required_unless_present = "export")]
    study: Option<String>,
    /// Profile of its suites
    #[arg(default_value = "quick")]
    profile: String,
    /// Export this run of the store without measuring
    #[arg(long, value_name = "RUN", conflicts_with = "study")]
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
        let report = cmd!(shell, "{prony} report {run} --format json").read()?;
        export(&shell, &prony, &report)?;
        return Ok(true);
    }
    let study = arguments.study.as_deref().unwrap_or_default();
    let suites = suites_of(study)?;
    ensure!(!suites.is_empty(), "no suite {study} or {study}-…: see suites/");
    let profile = &arguments.profile;
    for suite in suites {
        // A missing toolchain becomes a row with its reason.
        let _ = cmd!(shell, "{prony} doctor {suite} --install --yes").run();
        let report = cmd!(shell, "{prony} run {suite} --profile {profile} --json").read()?;
        export(&shell, &prony, &report)?;
    }
    Ok(true)
}

fn suites_of(study: &str) -> Result<Vec<String>> {
    let mut suites = Vec::new();
    for entry in fs::read_dir(root().join("suites"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some(suite) = name.strip_suffix(".toml")
            && (suite == study || suite.starts_with(&format!("{study}-")))
        {
            suites.push(suite.to_owned());
        }
    }
    suites.sort();
    Ok(suites)
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

    #[test]
    fn a_suite_goes_to_the_folder_of_its_study() {
        for (suite, folder) in [
            ("000-sequence", "000"),
            ("001-person-4", "001-4"),
            ("efficiency", "efficiency"),
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
    fn every_study_has_its_suites() {
        assert_eq!(suites_of("001").expect("read"), ["001-person", "001-person-4"]);
        assert_eq!(suites_of("efficiency").expect("read"), ["efficiency"]);
    }
}
