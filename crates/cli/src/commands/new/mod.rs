//! `prony new`: creates a service that passes a contract as it is, or drafts a contract.

mod contract;
mod service;

pub(crate) use service::Language;

use crate::exit::Exit;
use std::fmt::Write as _;

/// Create a service or a contract
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

/// The commands to run next, each with its purpose.
pub(crate) fn next_commands(commands: &[(&str, &str)]) -> String {
    let width = commands
        .iter()
        .map(|(command, _)| command.len())
        .max()
        .unwrap_or_default();
    commands
        .iter()
        .fold("Next:".to_owned(), |mut text, (command, purpose)| {
            let _ = write!(text, "\n  {command:width$}   {purpose}");
            text
        })
}
