//! `prony schema`: the JSON Schemas of the files that people write, for editors.

use crate::exit::Exit;
use crate::file_args::{kind_parser, relative};
use crate::output::{print, print_verbatim};
use anyhow::Context as _;
use prony_config::format::{FORMAT, FileKind};
use prony_runner::schema_of;
use std::path::{Path, PathBuf};

/// Print the JSON Schema of a kind of file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony schema contract > contract.schema.json
  prony schema --write               every schema: schemas/1/KIND.json

A file names its schema in its first line, relative to its own folder: `#:schema ../../schemas/1/contract.json`.")]
pub(crate) struct Args {
    /// Kind of file
    #[arg(value_name = "KIND", value_parser = kind_parser(), required_unless_present = "write")]
    kind: Option<FileKind>,
    /// Write every schema to FOLDER/VERSION/KIND.json [default: schemas]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "schemas", conflicts_with = "kind")]
    write: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(kind) = args.kind {
        print_verbatim(text(kind)?.trim_end())?;
    }
    if let Some(folder) = &args.write {
        write(&folder.join(FORMAT.to_string()))?;
    }
    Ok(Exit::Fine)
}

fn text(kind: FileKind) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&schema_of(kind))? + "\n")
}

/// Writes the schemas that differ from their files.
fn write(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut changed = 0;
    for kind in FileKind::ALL {
        let path = folder.join(format!("{kind}.json"));
        let text = text(kind)?;
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        print(&format!("{}: written", relative(&path).display()))?;
        changed += 1;
    }
    if changed == 0 {
        print(&format!(
            "all {} schemas in {} are current",
            FileKind::ALL.len(),
            relative(folder).display()
        ))?;
    }
    Ok(())
}
