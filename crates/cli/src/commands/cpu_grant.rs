//! `prony granted`: reports which CPUs this process may use.

use crate::exit::Exit;
use crate::output::print;
use prony_host::CpuGrant;

/// Report which CPUs this process may use, and how long it was throttled (started by prony itself, in pods)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<Exit> {
    print(&serde_json::to_string(&CpuGrant::to_this_process())?)?;
    Ok(Exit::Fine)
}
