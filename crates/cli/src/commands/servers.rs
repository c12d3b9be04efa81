//! The servers of prony: `prony backend` and `prony model`, which services call, and `prony toy`, whose behaviour is known.

use crate::exit::Exit;
use crate::output::{address_said, print};
use anyhow::Context as _;
use prony_load::DurationText;
use prony_runner::calibration::toy::{Faults, serve};
use prony_servers::model::ModelSettings;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Run the relay contract's backend
#[derive(Debug, clap::Args)]
pub(crate) struct BackendArgs {
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

pub(crate) fn backend(args: &BackendArgs) -> anyhow::Result<Exit> {
    let address = SocketAddr::new(args.host, args.port);
    prony_servers::run(address, args.delay.0, args.workers, &|address| {
        // The process that started the backend may read its address from here. If it does not, printing may fail.
        let _ = print(&address_said(&format!("http://{address}"), args.json));
    })
    .with_context(|| format!("the backend cannot listen on {address} → Choose another --host or --port."))?;
    Ok(Exit::Fine)
}

/// Write the files of known bytes that services of the contract files serve
#[derive(Debug, clap::Args)]
pub(crate) struct FilesArgs {
    /// Folder to write to
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Number that decides the bytes
    #[arg(long, value_name = "N")]
    seed: u64,
    /// Write only this version of the file that changes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    change: Option<u32>,
}

pub(crate) fn files(args: &FilesArgs) -> anyhow::Result<Exit> {
    let written = match args.change {
        None => prony_servers::files::write(&args.folder, args.seed),
        Some(version) => prony_servers::files::change(&args.folder, args.seed, version),
    };
    let folder = args.folder.display();
    written.with_context(|| format!("{folder} cannot be written → Choose another folder."))?;
    Ok(Exit::Fine)
}

/// Run the language model of the gateway contract
#[derive(Debug, clap::Args)]
pub(crate) struct ModelArgs {
    /// From the last byte of a request to its first event
    #[arg(long, value_name = "TIME", default_value = "20ms")]
    first: DurationText,
    /// From one event to the next
    #[arg(long, value_name = "TIME", default_value = "5ms")]
    gap: DurationText,
    /// The key of its clients; default: any
    #[arg(long, env = "MODEL_KEY", value_name = "KEY", hide_env_values = true)]
    key: Option<String>,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Print the listening address as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn model(args: &ModelArgs) -> anyhow::Result<Exit> {
    let address = SocketAddr::new(args.host, args.port);
    let settings = ModelSettings {
        first: args.first.0,
        gap: args.gap.0,
        key: args.key.clone(),
    };
    prony_servers::model::run(address, settings, &|address| {
        // The process that started the model may read its address from here. If it does not, printing may fail.
        let _ = print(&address_said(&format!("http://{address}"), args.json));
    })
    .with_context(|| format!("the model cannot listen on {address} → Choose another --host or --port."))?;
    Ok(Exit::Fine)
}

/// Serve the contract hello and streams of events, and freeze for a known part of every period
#[derive(Debug, clap::Args)]
pub(crate) struct ToyArgs {
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

pub(crate) fn toy(args: &ToyArgs) -> anyhow::Result<Exit> {
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
