//! `prony toy`: the server that calibration measures.

use crate::exit::Exit;
use crate::output::print;
use prony_runner::calibration::toy::{Faults, serve};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Serve the contract hello and streams of events, freezing for a known part of every period
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address to listen on
    #[arg(long, env = "HOST", value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 takes a free one
    #[arg(long, env = "PORT", value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// How long it freezes in each period, ms
    #[arg(long, value_name = "MS", default_value_t = 0)]
    stall_ms: u64,
    /// Length of a period, ms
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    period_ms: u64,
    /// Lose one event of a stream in so many; 0 loses none
    #[arg(long, value_name = "N", default_value_t = 0)]
    lose_every: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let faults = Faults {
        stall: Duration::from_millis(args.stall_ms),
        period: Duration::from_millis(args.period_ms),
        lose_every: args.lose_every,
    };
    serve(SocketAddr::new(args.host, args.port), faults, &|address| {
        // Who started it reads where it listens; who does not read need not.
        let _ = print(&format!("http://{address}"));
    })?;
    Ok(Exit::Fine)
}
