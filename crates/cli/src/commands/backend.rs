//! `prony backend`: the backend that services of the relay contract need.

use crate::exit::Exit;
use crate::output::print;
use anyhow::Context as _;
use prony_load::WrittenDuration;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Run the backend of the relay contract: it answers 204 after a delay, with a digest of what it received
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Time that a reply takes; delays of several requests overlap
    #[arg(long, value_name = "TIME", default_value = "30ms")]
    delay: WrittenDuration,
    /// The same in milliseconds, for those who start it from a program
    #[arg(
        long,
        env = "DELAY_MS",
        value_name = "MS",
        conflicts_with = "delay",
        hide = true
    )]
    delay_ms: Option<u64>,
    /// Address to listen on
    #[arg(long, env = "HOST", value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 takes a free one
    #[arg(long, env = "PORT", value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Threads
    #[arg(long, env = "WORKERS", value_name = "N", default_value_t = 1)]
    workers: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let delay = args.delay_ms.map_or(args.delay.0, Duration::from_millis);
    let address = SocketAddr::new(args.host, args.port);
    prony_trial::backend::run(address, delay, args.workers, |address| {
        // Who started it reads where it listens; who does not read need not.
        let _ = print(&format!("http://{address}"));
    })
    .with_context(|| format!("the backend cannot listen on {address}: choose another --host or --port"))?;
    Ok(Exit::Fine)
}
