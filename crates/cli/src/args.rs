//! The command line.

use crate::commands;
use crate::exit::Exit;
use clap::{CommandFactory as _, Parser, Subcommand};
use std::path::PathBuf;

/// Which API server is faster, by how much, at what cost, and can the answer be trusted?
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    help_expected = true,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    /// Run as if started in this folder
    #[arg(short = 'C', long, value_name = "FOLDER", global = true)]
    pub(crate) directory: Option<PathBuf>,
    /// The command to run
    #[command(subcommand)]
    pub(crate) command: Command,
}

// One line per command: its arguments and its code are in its own file.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(hide = true)]
    Agent(commands::agent::Args),
    Backend(commands::backend::Args),
    Build(commands::build::Args),
    Check(Box<commands::check::Args>),
    Calibrate(commands::calibrate::Args),
    Call(Box<commands::call::Args>),
    Capacity(Box<commands::capacity::Args>),
    Clean(commands::clean::Args),
    Compare(Box<commands::compare::Args>),
    Completions(commands::completions::Args),
    Doctor(commands::doctor::Args),
    Duet(Box<commands::duet::Args>),
    #[command(hide = true)]
    Granted(commands::cpu_grant::Args),
    Init(commands::init::Args),
    #[command(alias = "lab")]
    Testbed(commands::testbed::Args),
    #[command(hide = true)]
    Link(commands::link::Args),
    List(commands::list::Args),
    Load(Box<commands::load::Args>),
    Man(commands::man::Args),
    New(commands::new::Args),
    Report(commands::report::Args),
    Serve(commands::serve::Args),
    Run(Box<commands::run::Args>),
    Store(commands::store::Args),
    #[command(hide = true)]
    Toy(commands::toy::Args),
    #[command(hide = true)]
    Supervise(commands::supervise::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Agent(args) => commands::agent::run(args),
            Self::Backend(args) => commands::backend::run(&args),
            Self::Build(args) => commands::build::run(&args),
            Self::Check(args) => commands::check::run(&args),
            Self::Calibrate(args) => commands::calibrate::run(&args),
            Self::Call(args) => commands::call::run(&args),
            Self::Capacity(args) => commands::capacity::run(&args),
            Self::Clean(args) => commands::clean::run(&args),
            Self::Compare(args) => commands::compare::run(&args),
            Self::Completions(args) => commands::completions::run(&args, Arguments::command()),
            Self::Doctor(args) => commands::doctor::run(&args),
            Self::Duet(args) => commands::duet::run(&args),
            Self::Granted(args) => commands::cpu_grant::run(&args),
            Self::Init(args) => commands::init::run(&args),
            Self::Testbed(args) => commands::testbed::run(&args),
            Self::Link(args) => commands::link::run(&args),
            Self::List(args) => commands::list::run(&args),
            Self::Load(args) => commands::load::run(&args),
            Self::Man(args) => commands::man::run(&args, Arguments::command()),
            Self::New(args) => commands::new::run(&args),
            Self::Report(args) => commands::report::run(&args),
            Self::Serve(args) => commands::serve::run(&args),
            Self::Run(args) => commands::run::run(&args),
            Self::Store(args) => commands::store::run(&args),
            Self::Toy(args) => commands::toy::run(&args),
            Self::Supervise(args) => commands::supervise::run(&args),
        }
    }
}
