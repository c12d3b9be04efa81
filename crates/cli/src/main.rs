//! The binary `prony`: reads the command line, runs one command, and turns its result into an exit code.
//!
//! Commands live in `commands/`, one file each; they glue the other crates together and hold no logic that one of those
//! could hold. Nothing but this file ends the process.

mod args;
mod checkout;
mod commands;
mod exit;
mod format_value;
mod output;
mod parse_share;
mod reporting;
mod signals;
mod telemetry;
mod text;
mod variance_text;

use text::table;

use anyhow::Context as _;
use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let wants_json = exit::wants_json(std::env::args_os());
    let arguments = match args::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit::usage(&error, wants_json),
    };
    let moved = match &arguments.directory {
        Some(folder) => std::env::set_current_dir(folder)
            .with_context(|| format!("cannot go to the folder {} (-C)", folder.display()))
            .map_err(exit::bad_input),
        None => Ok(()),
    };
    match moved.and_then(|()| arguments.command.run()) {
        Ok(exit) => exit.into(),
        Err(error) => exit::explain(&error, wants_json),
    }
}
