//! `prony lab`: the hosts of a lab.

mod check;
mod clean;
mod rbac;

use crate::checkout::{Checkout, LabArgs};
use crate::exit::{Exit, bad_input};
use anyhow::anyhow;
use prony_kubernetes::Cluster;
use prony_runner::testbed::LabFile;

/// The hosts of a lab: whether they are fit for a run, and what pods need and leave
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

// One line a command: its arguments and what it does stand in its own file.
#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::Args),
    Clean(clean::Args),
    Rbac(rbac::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Check(args) => check::run(args),
        Command::Clean(args) => clean::run(args),
        Command::Rbac(args) => rbac::run(args),
    }
}

/// The lab file, which these commands cannot do without.
fn needed(args: &LabArgs) -> anyhow::Result<LabFile> {
    let checkout = Checkout::find().ok();
    let file = args.read(checkout.as_ref())?;
    file.ok_or_else(|| {
        bad_input(anyhow!(
            "which lab? give its file with --lab, or `lab = \"lab.toml\"` in prony.toml"
        ))
    })
}

/// The cluster of a lab file.
fn cluster(file: &LabFile) -> anyhow::Result<&Cluster> {
    file.kubernetes.as_ref().ok_or_else(|| {
        bad_input(anyhow!(
            "{}: its hosts are no pods: a lab in a cluster has [kubernetes]",
            file.path.display()
        ))
    })
}
