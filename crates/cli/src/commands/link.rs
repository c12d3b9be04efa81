//! `prony link`: one end of a measurement of the network between two hosts of a testbed.

use crate::exit::Exit;
use crate::output::print;
use std::net::IpAddr;

/// Measure the network between two hosts (started by prony itself)
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen on this address for the other end, and print the port
    #[arg(long, value_name = "ADDRESS", required_unless_present = "to")]
    listen: Option<IpAddr>,
    /// The other end: ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match (&args.listen, &args.to) {
        (Some(address), _) => prony_runner::testbed::serve_link(*address, |port| print(&port.to_string()))?,
        (None, Some(to)) => print(&serde_json::to_string(&prony_runner::testbed::measure_link(to)?)?)?,
        (None, None) => {}
    }
    Ok(Exit::Fine)
}
