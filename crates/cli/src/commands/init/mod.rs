//! `prony init`: makes this folder a project. In a repository with a server, it describes that server; elsewhere it creates one.

mod ci;
mod repository;
mod template;

use crate::commands::new::Language;
use crate::exit::{Exit, bad_input};
use anyhow::{Context as _, anyhow};
use ci::CiSystem;
use prony_config::guess::guess;
use prony_config::project::SERVICE_FILE;
use prony_runner::{Checkout, PROJECT_FILE};

/// Create a project in this folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony init                        describe the server of this repository
  prony init --ci github            and write a workflow for pull requests
  prony init --language go          create a server, in an empty folder

In a repository with package.json, go.mod, Cargo.toml, pom.xml, build.gradle, pyproject.toml, Gemfile, a .csproj or a Dockerfile, prony \
guesses how the server is built and started, starts it, drafts a contract from its replies, and checks it. Guesses are in service.toml: \
correct them and repeat `prony init`, which keeps that file.")]
pub(crate) struct Args {
    /// Create a service in this language instead
    #[arg(long, value_enum)]
    language: Option<Language>,
    /// Write a workflow that compares pull requests
    #[arg(long, value_enum, value_name = "SYSTEM")]
    ci: Option<CiSystem>,
    /// Also draft and send requests that may change data
    #[arg(long, conflicts_with = "language")]
    allow_writes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let root = std::env::current_dir().context("cannot determine the working directory")?;
    if let Some(system) = args.ci.filter(|_| is_set_up(&root)) {
        return ci::write(system, &Checkout { root }, args.json);
    }
    if root.join(PROJECT_FILE).exists() {
        return Err(bad_input(anyhow!(
            "{} already exists: this folder is a project, and nothing was changed",
            root.join(PROJECT_FILE).display()
        )));
    }
    let guess = if args.language.is_none() {
        guess(&root)
    } else {
        None
    };
    let is_described = args.language.is_none() && root.join(SERVICE_FILE).is_file();
    let exit = if guess.is_some() || is_described {
        repository::describe(&root, guess.as_ref(), args)?
    } else {
        template::create(&root, args.language, args.json)?
    };
    match args.ci {
        Some(system) if exit == Exit::Fine => ci::write(system, &Checkout { root }, args.json),
        _ => Ok(exit),
    }
}

/// Whether a folder is a project whose services can be compared.
fn is_set_up(root: &std::path::Path) -> bool {
    root.join(PROJECT_FILE).exists() || repository::is_set_up(root)
}
