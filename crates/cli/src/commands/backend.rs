//! `prony backend`: the backend that services of the relay contract call.

use crate::exit::Exit;
use crate::output::{address_said, print};
use anyhow::Context as _;
use prony_load::DurationText;
use std::net::{IpAddr, SocketAddr};

/// Run the backend of the relay contract: it answers 204 after a delay, with a digest of what it received
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Delay of each reply; the delays of concurrent requests overlap
    #[arg(long, value_name = "TIME", default_value = "30ms")]
    delay: DurationText,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    workers: usize,
    /// Print the listening address as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let address = SocketAddr::new(args.host, args.port);
    prony_servers::run(address, args.delay.0, args.workers, &|address| {
        // The process that started the backend may read its address from here. If it does not, printing may fail.
        let _ = print(&address_said(&format!("http://{address}"), args.json));
    })
    .with_context(|| format!("the backend cannot listen on {address}: choose another --host or --port"))?;
    Ok(Exit::Fine)
}
