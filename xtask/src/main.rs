//! Checks of this repository that need more than a command. They drive the built `prony` from outside, by its commands.

mod bench_drafts;
mod bench_engine;
mod bench_store;
mod checkout;
mod dist;
mod keep_store;
mod kubernetes;
mod median;
mod release;
mod run;
mod services;
mod study;
mod suites;
mod test;
mod tidy;
mod toml_files;
mod versions;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Checks of this repository that need more than a command")]
struct Arguments {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand)]
enum Step {
    /// The checks of CI for every change: lints, tests, and the services that it may have broken.
    Test(test::Arguments),
    /// Everything, nightly and before a release: hours.
    TestAll(test::Arguments),
    /// Install the tools of the tests, each at its pinned version.
    Tools,
    Services(services::Arguments),
    Suites(suites::Arguments),
    BenchDrafts(bench_drafts::Arguments),
    BenchEngine(bench_engine::Arguments),
    BenchStore(bench_store::Arguments),
    KeepStore(keep_store::Arguments),
    Kubernetes(kubernetes::Arguments),
    Study(study::Arguments),
    Dist(dist::Arguments),
    /// Pack every crate as for publishing, and check the packages
    Packages,
    Release(release::Arguments),
    Tidy(tidy::Arguments),
    /// Check the TOML files that users write, with taplo: syntax, and the schemas of `.taplo.toml`
    Toml,
    Versions(versions::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().step {
        Step::Test(arguments) => test::run(&arguments),
        Step::TestAll(arguments) => test::run_all(&arguments),
        Step::Tools => test::install_tools(),
        Step::Services(arguments) => services::run(&arguments),
        Step::Suites(arguments) => suites::run(&arguments),
        Step::BenchDrafts(arguments) => bench_drafts::run(&arguments),
        Step::BenchEngine(arguments) => bench_engine::run(&arguments),
        Step::BenchStore(arguments) => bench_store::run(&arguments),
        Step::KeepStore(arguments) => keep_store::run(&arguments),
        Step::Kubernetes(arguments) => kubernetes::run(&arguments),
        Step::Study(arguments) => study::run(&arguments),
        Step::Dist(arguments) => dist::run(&arguments),
        Step::Packages => release::check_packages(),
        Step::Release(arguments) => release::run(&arguments),
        Step::Tidy(arguments) => tidy::run(&arguments),
        Step::Toml => toml_files::run(),
        Step::Versions(arguments) => versions::run(&arguments),
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

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}
