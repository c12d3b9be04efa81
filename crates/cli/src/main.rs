//! The binary `prony`: reads the command line, runs one command, and turns its result into an exit code.
//!
//! Commands are in `commands/`. They connect the other crates and hold no logic that could be in one of those.
//! Only this file may end the process. Start with `args`, which lists the commands.

#[macro_use]
mod output;

mod args;
mod checkout;
mod colour;
mod commands;
mod exit;
mod file_args;
mod former_names;
mod http_server;
mod option_values;
mod pair_args;
mod reporting;
mod signals;
mod telemetry;
mod text;
mod variance_text;

use anyhow::Context as _;
use clap::FromArgMatches as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    prony_host::set_sources(env!("PRONY_SOURCES"));
    commands::load::remember_key();
    colour::choose(std::env::args_os());
    let wants_json = exit::wants_json(std::env::args_os());
    let parsed = args::command().try_get_matches();
    let arguments = match parsed.and_then(|found| args::Arguments::from_arg_matches(&found)) {
        Ok(arguments) => arguments,
        Err(error) => return exit::usage(&error, wants_json),
    };
    for hint in former_names::hints(std::env::args_os(), |name| std::env::var_os(name)) {
        eprintln!("prony: {hint}");
    }
    let moved = match &arguments.directory {
        Some(folder) => std::env::set_current_dir(folder)
            .with_context(|| format!("cannot change to the folder {} (-C)", folder.display()))
            .map_err(exit::bad_input),
        None => Ok(()),
    };
    match moved.and_then(|()| arguments.command.run()) {
        Ok(exit) => {
            if let Some(warning) = prony_runner::catalogue_warning() {
                eprintln!("prony: {warning}");
            }
            exit.into()
        }
        Err(error) => exit::explain(&error, wants_json),
    }
}
