//! `prony agent`: serves one host of a testbed to the prony that controls it.

use crate::exit::Exit;
use anyhow::Context as _;
use std::time::Duration;

/// Serve this host to a prony on another host, over standard input and output (started by prony itself)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Expected SHA-256 of this binary
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Sleep for this number of seconds: keeps a pod alive while no controller uses it
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
