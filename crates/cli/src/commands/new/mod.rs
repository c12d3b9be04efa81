//! `prony new`: creates a service that passes a contract as it is, or drafts a contract.

mod contract;
mod service;

pub(crate) use service::Language;

use crate::exit::Exit;

/// Create a service, or draft a contract
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Service(service::Args),
    Contract(Box<contract::Args>),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        What::Service(args) => service::run(args),
        What::Contract(args) => contract::run(args),
    }
}
