//! The command line.

use crate::commands;
use crate::exit::Exit;
use clap::{Parser, Subcommand};

/// Which API server is faster, by how much, at what cost, and can the answer be trusted?
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    help_expected = true,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

// One line a command: its arguments and what it does stand in its own file.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Backend(commands::backend::Args),
    Check(Box<commands::check::Args>),
    Calibrate(commands::calibrate::Args),
    Call(Box<commands::call::Args>),
    Capacity(Box<commands::capacity::Args>),
    Compare(Box<commands::compare::Args>),
    Doctor(commands::doctor::Args),
    Duet(Box<commands::duet::Args>),
    List(commands::list::Args),
    Load(Box<commands::load::Args>),
    New(commands::new::Args),
    Report(commands::report::Args),
    Serve(commands::serve::Args),
    Run(Box<commands::run::Args>),
    #[command(hide = true)]
    Toy(commands::calibrate::toy::Args),
    #[command(hide = true)]
    Supervise(commands::supervise::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Backend(args) => commands::backend::run(&args),
            Self::Check(args) => commands::check::run(&args),
            Self::Calibrate(args) => commands::calibrate::run(&args),
            Self::Call(args) => commands::call::run(&args),
            Self::Capacity(args) => commands::capacity::run(&args),
            Self::Compare(args) => commands::compare::run(&args),
            Self::Doctor(args) => commands::doctor::run(&args),
            Self::Duet(args) => commands::duet::run(&args),
            Self::List(args) => commands::list::run(&args),
            Self::Load(args) => commands::load::run(&args),
            Self::New(args) => commands::new::run(&args),
            Self::Report(args) => commands::report::run(&args),
            Self::Serve(args) => commands::serve::run(&args),
            Self::Run(args) => commands::run::run(&args),
            Self::Toy(args) => commands::calibrate::toy::run(&args),
            Self::Supervise(args) => commands::supervise::run(&args),
        }
    }
}
