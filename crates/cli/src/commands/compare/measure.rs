//! Two services or revisions, measured now: in the same rounds, or at the same time.

use super::super::run::view_of;
use super::{Args, Comparison, comparison};
use crate::checkout::Checkout;
use crate::exit::bad_input;
use crate::option_values::time;
use crate::pair_args::PairArgs;
use crate::signals;
use anyhow::anyhow;
use prony_load::DurationText;
use prony_runner::comparisons::regression::{RegressionOptions, compare_at_once};
use prony_runner::{LocalTestbed, ServiceSelector, compare_side_by_side, is_uncommitted};
use prony_statistics::{ChangeOptions, DetectableChange, RunChange};
use serde::Serialize;
use std::time::Duration;

/// Default number of rounds: one after the other, and of the first look with `--at-once`.
const ROUNDS: u32 = 10;
const ROUNDS_AT_ONCE: u32 = 6;
/// Default length of each measurement, likewise.
const DURATION: Duration = Duration::from_secs(3);
const DURATION_AT_ONCE: Duration = Duration::from_secs(2);

/// How services and revisions are measured
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "For services and revisions")]
pub(super) struct CompareArgs {
    /// Load both at the same time, against noise
    #[arg(long)]
    at_once: bool,
    /// Time limit with --at-once
    #[arg(long, value_name = "TIME", requires = "at_once", value_parser = time)]
    budget: Option<DurationText>,
    /// Fresh starts of both [default: 10; with --at-once 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    rounds: Option<u32>,
    /// Time of each measurement [default: 3s; with --at-once 2s]
    #[arg(long, short, value_name = "TIME", value_parser = time)]
    duration: Option<DurationText>,
    /// Connections to each service (--at-once)
    #[arg(long, short, value_name = "N", requires = "at_once", value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,
    #[command(flatten)]
    pair: PairArgs,
}

/// How two services or revisions were measured.
#[derive(Debug, Serialize)]
pub(super) struct CompareMode {
    /// `rounds`: one after the other in the same rounds; `at_once`: at the same time.
    pub(super) design: &'static str,
    /// The base, as the user wrote it.
    pub(super) base: String,
    pub(super) new: String,
    /// Whether the sources of the base had changes that were not committed.
    pub(super) base_uncommitted: bool,
    pub(super) new_uncommitted: bool,
    /// The names of the runs in the store.
    pub(super) runs: Vec<String>,
    pub(super) rounds: u32,
    /// How many of the rounds were added because the new side looked slower.
    pub(super) rounds_again: u32,
    /// The base compared with itself; `None` where this was not measured.
    pub(super) base_against_itself: Option<RunChange>,
    /// For each gated metric the smallest change that this comparison detects in four of five cases.
    pub(super) smallest_differences: Vec<DetectableChange>,
}

pub(super) fn measured(
    args: &Args,
    (base, new): (&ServiceSelector, &ServiceSelector),
    options: &ChangeOptions,
) -> anyhow::Result<Comparison> {
    let measuring = &args.measuring;
    let (rounds, duration) = if measuring.at_once {
        (ROUNDS_AT_ONCE, DURATION_AT_ONCE)
    } else {
        (ROUNDS, DURATION)
    };
    let pair = measuring.pair.pair(
        [base, new],
        measuring.rounds.unwrap_or(rounds),
        measuring.duration.map_or(duration, |given| given.0),
    );
    if measuring.at_once && !pair.rounds.is_multiple_of(2) {
        let text = "--at-once needs an even number of --rounds: each round is followed by one with the two services swapped";
        return Err(bad_input(anyhow!(text)));
    }
    let checkout = Checkout::find()?;
    let testbed = args.testbed.read(Some(&checkout))?;
    let workbench = LocalTestbed::of(&checkout, &signals::listen()?)?
        .repeating(!measuring.at_once)
        .claiming(args.claim.claim())
        .in_testbed(testbed.as_ref(), &|text| eprintln!("{text}"))?;
    let store = args.store.open()?;
    let catalogue = checkout.catalogue()?;
    let (base_uncommitted, new_uncommitted) = (
        is_uncommitted(base, &catalogue)?,
        is_uncommitted(new, &catalogue)?,
    );
    let (change, sides) = if measuring.at_once {
        let how = RegressionOptions {
            connections: measuring.connections,
            budget: measuring.budget.map(|given| given.0),
            options,
        };
        let tell = |text: &str| eprintln!("{text}");
        let found = compare_at_once(&pair, how, &store, &workbench, &tell)?;
        let sides = CompareMode {
            design: "at_once",
            base: base.to_string(),
            new: new.to_string(),
            base_uncommitted,
            new_uncommitted,
            runs: vec![found.run],
            rounds: found.rounds,
            rounds_again: found.again,
            base_against_itself: Some(found.itself),
            smallest_differences: found.smallest,
        };
        (found.change, sides)
    } else {
        let (change, run) = compare_side_by_side(&pair, &store, &workbench, options, &mut view_of)?;
        let sides = CompareMode {
            design: "rounds",
            base: base.to_string(),
            new: new.to_string(),
            base_uncommitted,
            new_uncommitted,
            runs: vec![run],
            rounds: pair.rounds,
            rounds_again: 0,
            base_against_itself: None,
            smallest_differences: change.smallest_differences(pair.rounds, options.confidence),
        };
        (change, sides)
    };
    let runs = sides.runs.join(", ");
    let names = (format!("{base} in {runs}"), format!("{new} in {runs}"));
    let mut comparison = comparison(args, names, Vec::new(), change);
    comparison.paired = true;
    comparison.measured = Some(sides);
    Ok(comparison)
}
