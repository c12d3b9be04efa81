//! Workflows that compare the services of a pull request with its base.

use super::template::put;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use anyhow::anyhow;
use prony_runner::Checkout;

/// A system that runs workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CiSystem {
    /// GitHub Actions
    Github,
    /// GitLab CI
    Gitlab,
}

const MEASURE: &str = include_str!("../../../templates/ci/github.yml");
const COMMENT: &str = include_str!("../../../templates/ci/github-comment.yml");
const GITLAB: &str = include_str!("../../../templates/ci/gitlab.yml");

/// Writes the workflows, and says what to replace in them.
pub(super) fn write(system: CiSystem, checkout: &Checkout, json: bool) -> anyhow::Result<Exit> {
    let own = checkout.root.join(".gitlab-ci.yml").exists();
    let gitlab = if own {
        ".gitlab/prony.yml"
    } else {
        ".gitlab-ci.yml"
    };
    let files = match system {
        CiSystem::Github => vec![
            (".github/workflows/speed.yml", MEASURE),
            (".github/workflows/speed-comment.yml", COMMENT),
        ],
        CiSystem::Gitlab => vec![(gitlab, GITLAB)],
    };
    if let Some((there, _)) = files.iter().find(|(file, _)| checkout.root.join(file).exists()) {
        return Err(bad_input(anyhow!(
            "{there} already exists and is not overwritten: nothing was written"
        )));
    }
    for (file, text) in &files {
        put(&checkout.root.join(file), text)?;
    }
    let names: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
    if json {
        print(&serde_json::json!({ "schema": prony_records::SCHEMA, "files": names }).to_string())?;
        return Ok(Exit::Fine);
    }
    let next = match system {
        CiSystem::Github => {
            "Replace OWNER/prony@COMMIT by the repository and commit of prony that you trust."
        }
        CiSystem::Gitlab if own => {
            "Add `include: { local: .gitlab/prony.yml }` to .gitlab-ci.yml, and name an image with prony in it."
        }
        CiSystem::Gitlab => "Name an image with prony in it.",
    };
    print(&format!("{}\n→ {next}", names.join(", ")))?;
    Ok(Exit::Fine)
}
