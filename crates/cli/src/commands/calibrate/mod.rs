//! `prony calibrate`: proves the instrument on this machine, in about two minutes.

mod instrument;
mod text;
pub(crate) mod toy;
mod twice;

use crate::checkout::{Checkout, StoreArgs};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use anyhow::Context as _;
use instrument::Instrument;
use prony_plan::Catalogue;
use prony_statistics::{Calibration, Options, machine_name, same_twice};
use prony_store::Store;
use std::time::{Instant, SystemTime};

/// Version of the stored record.
const SCHEMA: u32 = 1;

/// Prove on this machine that prony tells the truth, and how small a difference it can show
#[derive(Debug, clap::Args)]
#[command(after_help = "\
One service entered twice must tie; a server that freezes in a known way must show the known percentiles; rates must be
held. The result is stored, and reports of runs on this machine cite it. Exit code 3 when a check fails.")]
pub(crate) struct Args {
    /// Rounds of the service that is entered twice
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..))]
    rounds: u32,
    /// Shorten every stage to a few seconds: a look at how it works, too short to be trusted
    #[arg(long)]
    short: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Show the last calibration of this machine instead of making one
    #[arg(long)]
    last: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let store = Store::open(&args.store.path()?)?;
    let instrument = Instrument::new(args.short)?;
    let environment = instrument.environment();
    let machine = machine_name(&environment);
    if args.last {
        let last = store.calibration::<Calibration>(&machine)?;
        let last = last.with_context(|| "this machine was never calibrated: `prony calibrate` does it");
        return show(args, &last.map_err(bad_input)?.value);
    }
    let began = Instant::now();
    let calibrated_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let checkout = Checkout::find()?;
    let mut catalogue = Catalogue::read(&checkout.root).map_err(bad_input)?;
    let truth = instrument.truth(&catalogue)?;
    let trials = twice::measure(&checkout, &mut catalogue, &store, args.rounds)?;
    let (same_twice, noise) = same_twice(&trials, &Options::default())?;
    let passed = same_twice.ties && truth.checks.iter().all(|check| check.passed);
    let calibration = Calibration {
        schema: SCHEMA,
        prony: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine.clone(),
        calibrated_at: calibrated_at.clone(),
        took_s: began.elapsed().as_secs_f64(),
        short: args.short,
        checks: truth.checks,
        same_twice,
        noise,
        generator_cpu_ns_per_request: truth.generator_cpu_ns_per_request,
        watching_cpu_share: truth.watching_cpu_share,
        passed,
    };
    store.append_calibration(&machine, &calibrated_at, &calibration)?;
    show(args, &calibration)
}

fn show(args: &Args, calibration: &Calibration) -> anyhow::Result<Exit> {
    if args.json {
        print(&serde_json::to_string_pretty(calibration)?)?;
    } else {
        print(&text::table(calibration))?;
    }
    Ok(if calibration.passed {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    })
}
