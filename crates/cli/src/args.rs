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

// One line per command. Its arguments and its code are in `commands/`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(hide = true)]
    Agent(commands::helpers::AgentArgs),
    Backend(commands::servers::BackendArgs),
    Build(commands::build::Args),
    Check(Box<commands::check::Args>),
    Calibrate(commands::calibrate::Args),
    Call(Box<commands::call::Args>),
    Capacity(Box<commands::capacity::Args>),
    Clean(commands::clean::Args),
    Compare(Box<commands::compare::Args>),
    Completions(commands::generated::CompletionsArgs),
    Doctor(commands::doctor::Args),
    Duet(Box<commands::duet::Args>),
    #[command(hide = true)]
    Granted(commands::helpers::GrantedArgs),
    Init(commands::init::Args),
    #[command(alias = "lab")]
    Testbed(commands::testbed::Args),
    #[command(hide = true)]
    Link(commands::helpers::LinkArgs),
    List(commands::list::Args),
    Load(Box<commands::load::Args>),
    Man(commands::generated::ManArgs),
    New(commands::new::Args),
    Report(commands::report::Args),
    Schema(commands::schema::Args),
    Serve(commands::serve::Args),
    Run(Box<commands::run::Args>),
    Store(commands::store::Args),
    #[command(hide = true)]
    Toy(commands::servers::ToyArgs),
    #[command(hide = true)]
    Supervise(commands::helpers::SuperviseArgs),
    UpgradeFiles(commands::upgrade_files::Args),
    Validate(commands::validate::Args),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Agent(args) => commands::helpers::agent(args),
            Self::Backend(args) => commands::servers::backend(&args),
            Self::Build(args) => commands::build::run(&args),
            Self::Check(args) => commands::check::run(&args),
            Self::Calibrate(args) => commands::calibrate::run(&args),
            Self::Call(args) => commands::call::run(&args),
            Self::Capacity(args) => commands::capacity::run(&args),
            Self::Clean(args) => commands::clean::run(&args),
            Self::Compare(args) => commands::compare::run(&args),
            Self::Completions(args) => commands::generated::completions(&args, Arguments::command()),
            Self::Doctor(args) => commands::doctor::run(&args),
            Self::Duet(args) => commands::duet::run(&args),
            Self::Granted(args) => commands::helpers::granted(&args),
            Self::Init(args) => commands::init::run(&args),
            Self::Testbed(args) => commands::testbed::run(&args),
            Self::Link(args) => commands::helpers::link(&args),
            Self::List(args) => commands::list::run(&args),
            Self::Load(args) => commands::load::run(&args),
            Self::Man(args) => commands::generated::man(&args, Arguments::command()),
            Self::New(args) => commands::new::run(&args),
            Self::Report(args) => commands::report::run(&args),
            Self::Schema(args) => commands::schema::run(&args),
            Self::Serve(args) => commands::serve::run(&args),
            Self::Run(args) => commands::run::run(&args),
            Self::Store(args) => commands::store::run(&args),
            Self::Toy(args) => commands::servers::toy(&args),
            Self::Supervise(args) => commands::helpers::supervise(&args),
            Self::UpgradeFiles(args) => commands::upgrade_files::run(&args),
            Self::Validate(args) => commands::validate::run(&args),
        }
    }
}
