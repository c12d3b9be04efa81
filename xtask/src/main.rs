//! Checks of this repository that are more than a command. They drive the built `prony` from outside, by its commands.

mod services;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Checks of this repository that are more than a command")]
struct Arguments {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// Build, check and load services, and record those that passed in services/verified.
    Services(services::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().step {
        Step::Services(arguments) => services::run(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
