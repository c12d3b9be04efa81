//! `prony upgrade-files`: rewrites files of former formats.

use crate::exit::{self, Exit, bad_input};
use crate::file_args::{Catalogues, FileArgs, relative};
use crate::output::print;
use crate::text::plural;
use anyhow::Context as _;
use prony_config::ConfigError;
use prony_config::format::{Diagnostics, SourceFile};
use prony_runner::{CommandError, ProjectFile, upgraded_file};
use serde_json::json;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Rewrite project files in the current format
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Files that cannot be read are left alone, and their errors are shown. Version control shows what has changed.

Exit codes: 0, all files are current now; 2, a file has errors; 3 with --check, a file is not current.

Examples:
  prony upgrade-files           every file of the project
  prony upgrade-files --check   only list the files that are not current
  prony upgrade-files contracts/shop/contract.toml")]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// List files that are not current; change none
    #[arg(long)]
    check: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let files = args.files.files()?;
    let mut catalogues = Catalogues::default();
    let mut upgraded = Vec::new();
    let mut found = Vec::new();
    // All texts are made before the first file changes, so that every file is judged by the same project.
    for file in &files {
        let text = current_text(file, &mut catalogues)?;
        match text {
            Ok(text) => upgraded.extend(text.map(|text| (&file.path, text))),
            Err(error) => found.extend(error.into_diagnostics(&file.path).0),
        }
    }
    for (path, text) in &upgraded {
        if !args.check {
            replace(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if !args.json {
            let what = if args.check { "not current" } else { "upgraded" };
            print(&format!("{}: {what}", relative(path).display()))?;
        }
    }
    let end = match (found.is_empty(), args.check && !upgraded.is_empty()) {
        (false, _) => Exit::Invalid,
        (true, true) => Exit::ObjectiveFailed,
        (true, false) => Exit::Fine,
    };
    let found = exit::relative(Diagnostics(found));
    if args.json {
        let paths: Vec<PathBuf> = upgraded.iter().map(|(path, _)| relative(path)).collect();
        let mut all = json!({
            "schema": prony_records::SCHEMA,
            "exit": end.code(),
            "files": files.len(),
            "upgraded": paths,
        });
        if !found.0.is_empty() {
            exit::show_files(&found);
            all["error"] = exit::files_json(&found);
        }
        print(&all.to_string())?;
        return Ok(end);
    }
    if !found.0.is_empty() {
        return Err(bad_input(CommandError::Files(found)));
    }
    if upgraded.is_empty() {
        let verb = if files.len() == 1 { "is" } else { "are" };
        print(&format!("{} {verb} current", plural(files.len() as u64, "file")))?;
    }
    Ok(end)
}

/// The text of a file in the current format; `None` if it is current.
fn current_text(
    file: &ProjectFile,
    catalogues: &mut Catalogues,
) -> anyhow::Result<Result<Option<String>, ConfigError>> {
    let catalogue = catalogues.around(&file.path)?;
    let read = SourceFile::read(&file.path);
    Ok(read.and_then(|source| upgraded_file(file.kind, &source, catalogue)))
}

/// Replaces the text of a file at once, and keeps its permissions. Links to it stay links.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let path = path.canonicalize()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = File::create(&aside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(std::fs::metadata(&path)?.permissions())?;
        file.sync_all()?;
        std::fs::rename(&aside, &path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    written
}
