//! `prony agent`: prony in its other role, on a host of a lab.

use crate::exit::Exit;
use anyhow::Context as _;
use std::time::Duration;

/// Serve this host to a prony on another one, over standard input and output (prony starts it by itself)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// SHA-256 of this binary, which whoever started it knows
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Do nothing for so many seconds: what a pod does while no controller asks it for anything
    #[arg(long, value_name = "SECONDS", conflicts_with = "hash")]
    idle: Option<u64>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    if let Some(seconds) = args.idle {
        std::thread::sleep(Duration::from_secs(seconds));
        return Ok(Exit::Fine);
    }
    let own = std::env::current_exe().context("cannot find prony's own binary")?;
    prony_host::agent(vec![own.into(), "supervise".into()], args.hash)?;
    Ok(Exit::Fine)
}
