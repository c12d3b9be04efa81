//! `prony new`: creates a service that passes a contract as it is, or drafts a contract.

mod contract;
mod service;

pub(crate) use service::Language;

use crate::exit::Exit;

/// Create a service, or draft a contract
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: NewCommand,
}

#[derive(Debug, clap::Subcommand)]
enum NewCommand {
    Service(service::Args),
    Contract(Box<contract::Args>),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        NewCommand::Service(args) => service::run(args),
        NewCommand::Contract(args) => contract::run(args),
    }
}
