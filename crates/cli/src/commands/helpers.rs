//! The commands that prony itself starts: `agent` serves one host of a testbed to the prony that controls it, `link` is one end of a
//! measurement of the network between two hosts, `granted` reports the CPUs of a process, and `supervise` runs between prony and each
//! process that it starts.

use crate::exit::Exit;
use crate::output::print;
use anyhow::Context as _;
use prony_host::CpuGrant;
use std::net::IpAddr;
use std::time::Duration;

/// Serve this host to a prony on another host, over standard input and output (started by prony itself)
#[derive(Debug, clap::Args)]
pub(crate) struct AgentArgs {
    /// Expected SHA-256 of this binary
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Sleep for this number of seconds: keeps a pod alive while no controller uses it
    #[arg(long, value_name = "SECONDS", conflicts_with = "hash")]
    idle: Option<u64>,
}

pub(crate) fn agent(args: AgentArgs) -> anyhow::Result<Exit> {
    if let Some(seconds) = args.idle {
        std::thread::sleep(Duration::from_secs(seconds));
        return Ok(Exit::Fine);
    }
    let own = std::env::current_exe().context("cannot find prony's own binary")?;
    prony_host::agent(vec![own.into(), "supervise".into()], args.hash)?;
    Ok(Exit::Fine)
}

/// Measure the network between two hosts (started by prony itself)
#[derive(Debug, clap::Args)]
pub(crate) struct LinkArgs {
    /// Listen on this address for the other end, and print the port
    #[arg(long, value_name = "ADDRESS", required_unless_present = "to")]
    listen: Option<IpAddr>,
    /// The other end: ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
}

pub(crate) fn link(args: &LinkArgs) -> anyhow::Result<Exit> {
    match (&args.listen, &args.to) {
        (Some(address), _) => prony_runner::testbed::serve_link(*address, |port| print(&port.to_string()))?,
        (None, Some(to)) => print(&serde_json::to_string(&prony_runner::testbed::measure_link(to)?)?)?,
        (None, None) => {}
    }
    Ok(Exit::Fine)
}

/// Report which CPUs this process may use, and how long it was throttled (started by prony itself, in pods)
#[derive(Debug, clap::Args)]
pub(crate) struct GrantedArgs {}

pub(crate) fn granted(_: &GrantedArgs) -> anyhow::Result<Exit> {
    print(&serde_json::to_string(&CpuGrant::to_this_process())?)?;
    Ok(Exit::Fine)
}

/// Start a process, and end it when the parent of this one ends; speaks JSON lines (started by prony itself)
#[derive(Debug, clap::Args)]
pub(crate) struct SuperviseArgs {}

pub(crate) fn supervise(_: &SuperviseArgs) -> anyhow::Result<Exit> {
    prony_host::supervise()?;
    Ok(Exit::Fine)
}
