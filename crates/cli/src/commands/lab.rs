//! `prony lab`: the hosts of a lab.

use crate::checkout::{Checkout, LabArgs};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::signals;
use anyhow::anyhow;
use prony_bench::Workbench;
use prony_lab::{Finding, Preflight, Severity};
use std::fmt::Write as _;

/// The hosts of a lab: whether they are fit for a run
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Reach every host of a lab, look at it, and measure the network between the roles
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    #[command(flatten)]
    lab: LabArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Command::Check(args) = &args.command;
    let checkout = Checkout::find().ok();
    let Some(file) = args.lab.read(checkout.as_ref())? else {
        return Err(bad_input(anyhow!(
            "which lab? give its file with --lab, or `lab = \"lab.toml\"` in prony.toml"
        )));
    };
    let logs = std::env::temp_dir().join(format!("prony-lab-{}", std::process::id()));
    let cancel = signals::listen()?;
    let workbench = Workbench::new(logs, &cancel)?.in_lab(Some(&file), &|text| eprintln!("{text}"))?;
    let preflight = Preflight::of(&workbench.lab)?;
    if args.json {
        print(&serde_json::to_string(&preflight)?)?;
    } else {
        print(text(&preflight).trim_end())?;
    }
    let worst = preflight.findings.iter().map(|finding| finding.severity).max();
    Ok(if worst == Some(Severity::Blocks) {
        Exit::ObjectiveFailed
    } else {
        Exit::Fine
    })
}

fn text(preflight: &Preflight) -> String {
    let mut text = String::new();
    for (name, host) in &preflight.hosts {
        let machine = &host.host.environment;
        let cpu = machine.cpu.model.as_deref().unwrap_or("CPU not known");
        let _ = writeln!(
            text,
            "{name}: {} at {}, {} CPUs of {} ({cpu}), Linux {}, clock known to {:.0} µs",
            host.host.roles.join(" and "),
            host.host.address,
            host.host.cpus.len(),
            machine.cpu.online,
            machine.kernel.as_deref().unwrap_or("not known"),
            host.clock_error_ns as f64 / 1e3,
        );
    }
    for link in &preflight.links {
        let _ = writeln!(
            text,
            "{} → {}: round trip {:.0} µs, {:.2} Gbit/s",
            link.from,
            link.to,
            link.round_trip_ns as f64 / 1e3,
            link.bits_per_s / 1e9
        );
    }
    if preflight.findings.is_empty() {
        text.push_str("nothing stands against a run\n");
    }
    for Finding {
        host,
        text: what,
        remedy,
        severity,
    } in &preflight.findings
    {
        let mark = if *severity == Severity::Blocks {
            "✗"
        } else {
            "⚠"
        };
        let _ = writeln!(text, "{mark} {host}: {what}: {remedy}");
    }
    text
}
