//! `prony validate`: finds the errors of files, without a server and without toolchains.

use crate::exit::{self, Exit, bad_input};
use crate::file_args::{Catalogues, FileArgs, relative};
use crate::output::print;
use crate::text::plural;
use prony_config::format::{Diagnostics, SourceFile};
use prony_runner::{CommandError, verify_file};
use serde_json::json;

/// Find errors in the files of a project
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0, every file is valid; 2, at least one is not.

Examples:
  prony validate                   every file, and what they refer to
  prony validate contracts/shop/contract.toml
  prony validate steps.toml --kind sequence
  prony validate --format github   annotations, for GitHub Actions")]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// Format of the errors
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Print one JSON object
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Each error with its line
    Text,
    /// Annotations of GitHub Actions
    Github,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let files = args.files.files()?;
    let mut catalogues = Catalogues::default();
    let mut found = Vec::new();
    for file in &files {
        let catalogue = catalogues.around(&file.path)?;
        let read = SourceFile::read(&file.path);
        if let Err(error) = read.and_then(|source| verify_file(file.kind, &source, catalogue)) {
            for one in error.into_diagnostics(&file.path).0 {
                if !found.contains(&one) {
                    found.push(one);
                }
            }
        }
    }
    if !found.is_empty() {
        let found = Diagnostics(found);
        if args.format == Format::Github {
            print(exit::relative(found).github().trim_end())?;
            return Ok(Exit::Invalid);
        }
        return Err(bad_input(CommandError::Files(found)));
    }
    if args.json {
        let files = files
            .iter()
            .map(|file| json!({ "path": relative(&file.path), "kind": file.kind.name() }));
        let valid = json!({ "schema": prony_records::SCHEMA, "exit": 0, "files": files.collect::<Vec<_>>() });
        print(&valid.to_string())?;
    } else {
        let verb = if files.len() == 1 { "is" } else { "are" };
        print(&format!("{} {verb} valid", plural(files.len() as u64, "file")))?;
    }
    Ok(Exit::Fine)
}
