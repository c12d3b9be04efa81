//! `prony testbed`: checks the hosts of a testbed, and manages what a testbed of pods needs.

mod check;
mod pods;

use crate::checkout::{Checkout, TestbedArgs};
use crate::exit::{Exit, bad_input};
use anyhow::anyhow;
use prony_kubernetes::Cluster;
use prony_runner::testbed::TestbedFile;

/// Check the hosts of a testbed; clean up pods
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

// One line per command: its arguments and its code are in its own file.
#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::Args),
    Clean(pods::CleanArgs),
    Rbac(pods::RbacArgs),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Check(args) => check::run(args),
        Command::Clean(args) => pods::clean(args),
        Command::Rbac(args) => pods::print_role(args),
    }
}

/// Reads the testbed file, which these commands require.
fn required_testbed(args: &TestbedArgs) -> anyhow::Result<TestbedFile> {
    let checkout = Checkout::find().ok();
    let file = args.read(checkout.as_ref())?;
    file.ok_or_else(|| {
        bad_input(anyhow!(
            "no testbed is given → Name its file with --testbed, or with `testbed = \"testbed.toml\"` in prony.toml."
        ))
    })
}

/// The Kubernetes cluster of a testbed file.
fn cluster(file: &TestbedFile) -> anyhow::Result<&Cluster> {
    file.kubernetes.as_ref().ok_or_else(|| {
        bad_input(anyhow!(
            "{}: its hosts are not pods: a testbed in a cluster has a section [kubernetes]",
            file.path.display()
        ))
    })
}
