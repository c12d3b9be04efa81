//! `prony toy`: the server that calibration measures.

use crate::exit::Exit;
use crate::output::print;
use prony_runner::calibration::toy::{Faults, serve};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Serve the contract hello and streams of events, and freeze for a known part of every period
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address to listen on
    #[arg(long, env = "HOST", value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, env = "PORT", value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// How long the server freezes in each period, ms
    #[arg(long, value_name = "MS", default_value_t = 0)]
    stall_ms: u64,
    /// Length of a period, ms
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    period_ms: u64,
    /// Lose one of every N events of a stream; 0 loses none
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
        // The process that started the server may read its address from here. If it does not, printing may fail.
        let _ = print(&format!("http://{address}"));
    })?;
    Ok(Exit::Fine)
}
