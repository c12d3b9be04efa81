//! `prony backend`: the backend that services of the relay contract need.

use crate::exit::Exit;
use crate::output::{address_said, print};
use anyhow::Context as _;
use prony_load::WrittenDuration;
use std::net::{IpAddr, SocketAddr};

/// Run the backend of the relay contract: it answers 204 after a delay, with a digest of what it received
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Time that a reply takes; delays of several requests overlap
    #[arg(long, value_name = "TIME", default_value = "30ms")]
    delay: WrittenDuration,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    workers: usize,
    /// Print where it listens as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let address = SocketAddr::new(args.host, args.port);
    prony_servers::run(address, args.delay.0, args.workers, &|address| {
        // Who started it reads where it listens; who does not read need not.
        let _ = print(&address_said(&format!("http://{address}"), args.json));
    })
    .with_context(|| format!("the backend cannot listen on {address}: choose another --host or --port"))?;
    Ok(Exit::Fine)
}
