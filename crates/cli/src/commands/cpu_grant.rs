//! `prony granted`: which CPUs this process was given.

use crate::exit::Exit;
use crate::output::print;
use prony_host::Granted;

/// Say which CPUs this process was given, and how long it was kept from them (prony starts it by itself, in pods)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<Exit> {
    print(&serde_json::to_string(&Granted::to_this_process())?)?;
    Ok(Exit::Fine)
}
