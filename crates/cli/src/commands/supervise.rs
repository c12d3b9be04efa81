//! `prony supervise`: prony in its other role, between itself and each process that it starts.

use crate::exit::Exit;

/// Start a process and end it with whoever started this; speaks JSON lines (prony starts it by itself)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<Exit> {
    prony_host::supervise()?;
    Ok(Exit::Fine)
}
