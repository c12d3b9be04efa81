//! `cargo xtask toml`: the TOML files that users write are TOML 1.0, which every editor reads, and follow their schemas.
//!
//! taplo checks them, by the rules of `.taplo.toml`.

use crate::test::path_with_tools;
use anyhow::{Context as _, Result, ensure};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The configuration of taplo: the parts that say which files there are.
#[derive(Deserialize)]
struct Configuration {
    rule: Vec<Rule>,
}

/// One kind of file.
#[derive(Deserialize)]
struct Rule {
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    schema: Option<Schema>,
}

#[derive(Deserialize)]
struct Schema {
    path: String,
}

const CONFIGURATION: &str = ".taplo.toml";

const ADVICE: &str = "\
Files are TOML 1.0, so that every editor reads them: an inline table is on one line and has no comma at its end; a longer one is a
section like [operation.x.expect]. `prony upgrade-files FILE` rewrites a file. `taplo lint FILE` checks it again.";

pub(crate) fn run() -> Result<bool> {
    let root = crate::root();
    let kinds = Kind::read_all(&root)?;
    let mut invalid = Vec::new();
    let mut count = 0;
    for path in files(&root)? {
        let Some(kind) = kinds.iter().find(|kind| kind.has(&path)) else {
            continue;
        };
        count += 1;
        if let Some(faults) = faults(&root, kind, &path)? {
            println!("{faults}");
            invalid.push(path);
        }
    }
    println!(
        "toml files: {} passed, {} failed",
        count - invalid.len(),
        invalid.len()
    );
    if !invalid.is_empty() {
        println!("error: taplo rejects\n  {}\n{ADVICE}", invalid.join("\n  "));
    }
    Ok(invalid.is_empty())
}

/// The files of a rule.
struct Kind {
    included: GlobSet,
    excluded: GlobSet,
    /// Its address.
    schema: Option<String>,
}

impl Kind {
    fn read_all(root: &Path) -> Result<Vec<Self>> {
        let text = fs::read_to_string(root.join(CONFIGURATION))
            .with_context(|| format!("cannot read {CONFIGURATION}"))?;
        let configuration: Configuration =
            toml::from_str(&text).with_context(|| format!("cannot parse {CONFIGURATION}"))?;
        let kind = |rule: Rule| {
            Ok(Self {
                included: globs(&rule.include)?,
                excluded: globs(&rule.exclude)?,
                schema: rule
                    .schema
                    .map(|schema| format!("file://{}", root.join(schema.path).display())),
            })
        };
        configuration.rule.into_iter().map(kind).collect()
    }

    fn has(&self, path: &str) -> bool {
        self.included.is_match(path) && !self.excluded.is_match(path)
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
    }
    Ok(set.build()?)
}

/// The TOML files that are or will be tracked, from the root.
fn files(root: &Path) -> Result<Vec<String>> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.toml",
        ])
        .current_dir(root)
        .output()
        .context("cannot run git ls-files")?;
    ensure!(
        listed.status.success(),
        "git ls-files failed: {}",
        String::from_utf8_lossy(&listed.stderr).trim()
    );
    let paths = String::from_utf8(listed.stdout).context("git ls-files: a path is not UTF-8")?;
    let exists = |path: &&str| !path.is_empty() && root.join(path).is_file();
    Ok(paths.split('\0').filter(exists).map(str::to_owned).collect())
}

/// What taplo reports about a file. Each file has its own process: taplo may end before it has written which file is invalid.
/// The schema is named, since a `#:schema` line comes before the configuration, and its address may not be reachable.
/// Without a schema, only the syntax is checked.
fn faults(root: &Path, kind: &Kind, path: &str) -> Result<Option<String>> {
    let schema = match &kind.schema {
        Some(schema) => vec!["--schema", schema.as_str()],
        None => vec!["--no-schema"],
    };
    let output = Command::new("taplo")
        .args(["lint", "--colors", "never", "--no-auto-config"])
        .args(schema)
        .arg(path)
        .env("PATH", path_with_tools())
        .current_dir(root)
        .output()
        .context("cannot start taplo: `cargo xtask tools` installs it")?;
    if output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_of_file = |line: &&str| !line.trim_start().starts_with("INFO ");
    let lines: Vec<&str> = text.lines().filter(is_of_file).collect();
    Ok(Some(format!("{path}: {}\n{}", output.status, lines.join("\n"))))
}

#[cfg(test)]
mod tests {
    use super::{Kind, files};

    #[test]
    fn every_file_that_is_shipped_has_one_rule() {
        let root = crate::root();
        let kinds = Kind::read_all(&root).expect("rules");
        let is_shipped = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            let is_named = [
                "contract.toml",
                "service.toml",
                "toolchains.toml",
                "backing.toml",
                "prony.toml",
            ]
            .contains(&name);
            is_named || path.starts_with("suites/")
        };
        let files = files(&root).expect("files");
        let shipped: Vec<&String> = files.iter().filter(|path| is_shipped(path)).collect();
        assert!(shipped.len() > 120, "only {} files", shipped.len());
        for path in shipped {
            let count = kinds.iter().filter(|kind| kind.has(path)).count();
            assert_eq!(count, 1, "{path}");
        }
    }
}
