//! `prony calibrate`: checks the accuracy of measurements on this machine or testbed, in about two minutes.

mod text;

use super::run::view_of;
use crate::checkout::{Checkout, ClaimArgs, StoreArgs, TestbedArgs};
use crate::exit::Exit;
use crate::output::print;
use crate::signals;
use prony_runner::LocalTestbed;
use prony_runner::calibration::{self, CalibrationOptions};
use prony_statistics::Calibration;

/// Verify accuracy and the smallest detectable difference
#[derive(Debug, clap::Args)]
#[command(after_help = "\
One service is compared with itself and must tie; a server with known pauses must show the known percentiles of replies and \
streams, and the known number of lost events; offered rates must be held. The result is stored, and reports of later runs on \
this machine, or on an equal testbed, cite it. Exit code 3 if a check fails.")]
pub(crate) struct Args {
    /// Rounds of the service that is compared with itself
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..))]
    rounds: u32,
    /// Shorten every stage; the result is not reliable
    #[arg(long)]
    short: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Show the last calibration of this machine or testbed
    #[arg(long)]
    last: bool,
    #[command(flatten)]
    testbed: TestbedArgs,
    #[command(flatten)]
    claim: ClaimArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let testbed = args.testbed.read(Checkout::find().ok().as_ref())?;
    let tell = |text: &str| eprintln!("{text}");
    if args.last {
        let store = args.store.open_existing()?;
        let logs = std::env::temp_dir().join(format!("prony-calibrate-{}", std::process::id()));
        let environment = match &testbed {
            None => calibration::here(),
            Some(file) => LocalTestbed::new(logs, &signals::listen()?)?
                .in_testbed(Some(file), &tell)?
                .environment(),
        };
        return show(args, &calibration::last(&store, &environment)?);
    }
    let workbench = LocalTestbed::of(&Checkout::find()?, &signals::listen()?)?
        .repeating(true)
        .claiming(args.claim.claim())
        .in_testbed(testbed.as_ref(), &tell)?;
    let store = args.store.open()?;
    let options = CalibrationOptions {
        rounds: args.rounds,
        short: args.short,
    };
    let calibration = calibration::calibrate(options, &store, &workbench, &tell, &mut view_of)?;
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
