//! `prony supervise`: runs between prony and each process that it starts.

use crate::exit::Exit;

/// Start a process, and end it when the parent of this one ends; speaks JSON lines (started by prony itself)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<Exit> {
    prony_host::supervise()?;
    Ok(Exit::Fine)
}
