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
use prony_runner::{
    ComparisonPair, LocalTestbed, ResumeFrom, ServiceSelector, compare_side_by_side, is_uncommitted,
};
use prony_statistics::{ChangeOptions, DetectableChange, RunChange};
use prony_store::Store;
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
    /// Load both at the same time, against noise [always for git revisions]
    #[arg(long)]
    pub(super) at_once: bool,
    /// Time limit with --at-once, of all comparisons together, builds included
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) budget: Option<DurationText>,
    /// For git revisions: a service to compare, repeatable [default: those that differ]
    #[arg(long = "service", value_name = "SERVICE")]
    pub(super) services: Vec<String>,
    /// Fresh starts of both [default: 10; with --at-once 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    rounds: Option<u32>,
    /// Time of each measurement [default: 3s; with --at-once 2s]
    #[arg(long, short, value_name = "TIME", value_parser = time)]
    duration: Option<DurationText>,
    /// Connections to each service (--at-once)
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,
    #[command(flatten)]
    pub(super) pair: PairArgs,
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
    /// The share by which both may differ because they are different builds of a compiled service: code layout.
    pub(super) code_layout: Option<f64>,
    /// For each gated metric the smallest change that this comparison detects in four of five cases.
    pub(super) smallest_differences: Vec<DetectableChange>,
}

/// What measures pairs of services: a project, its hosts and its store.
pub(super) struct PairMeasurement<'a> {
    args: &'a Args,
    options: &'a ChangeOptions,
    pub(super) checkout: Checkout,
    pub(super) workbench: LocalTestbed,
    store: Store,
}

impl<'a> PairMeasurement<'a> {
    /// `at_once`: whether services are loaded at the same time.
    pub(super) fn new(args: &'a Args, options: &'a ChangeOptions, at_once: bool) -> anyhow::Result<Self> {
        let checkout = Checkout::find()?;
        let testbed = args.testbed.read(Some(&checkout))?;
        let workbench = LocalTestbed::of(&checkout, &signals::listen()?)?
            .repeating(!at_once)
            .claiming(args.claim.claim())
            .in_testbed(testbed.as_ref(), &|text| eprintln!("{text}"))?;
        Ok(Self {
            store: args.store.open()?,
            args,
            options,
            checkout,
            workbench,
        })
    }

    /// Loads both at the same time, within a time limit. `resume`: the run to continue instead of the one of the command line.
    pub(super) fn at_once(
        &self,
        [base, new]: [&ServiceSelector; 2],
        budget: Option<Duration>,
        resume: Option<ResumeFrom<'_>>,
    ) -> anyhow::Result<Comparison> {
        let measuring = &self.args.measuring;
        let pair = measuring.pair.pair(
            [base, new],
            measuring.rounds.unwrap_or(ROUNDS_AT_ONCE),
            measuring.duration.map_or(DURATION_AT_ONCE, |given| given.0),
        );
        let pair = ComparisonPair {
            resume: resume.or(pair.resume),
            ..pair
        };
        if !pair.rounds.is_multiple_of(2) {
            let text = "an even number of --rounds is needed: each round is followed by one with the two services swapped";
            return Err(bad_input(anyhow!(text)));
        }
        let how = RegressionOptions {
            connections: measuring.connections,
            budget,
            options: self.options,
        };
        let tell = |text: &str| eprintln!("{text}");
        let found = compare_at_once(&pair, how, &self.store, &self.workbench, &tell)?;
        let sides = CompareMode {
            design: "at_once",
            rounds: found.rounds,
            rounds_again: found.again,
            base_against_itself: Some(found.itself),
            code_layout: found.code_layout,
            smallest_differences: found.smallest,
            ..self.sides([base, new], found.run)?
        };
        Ok(self.comparison(sides, found.change))
    }

    fn in_rounds(&self, [base, new]: [&ServiceSelector; 2]) -> anyhow::Result<Comparison> {
        let measuring = &self.args.measuring;
        let pair = measuring.pair.pair(
            [base, new],
            measuring.rounds.unwrap_or(ROUNDS),
            measuring.duration.map_or(DURATION, |given| given.0),
        );
        let found = compare_side_by_side(&pair, &self.store, &self.workbench, self.options, &mut view_of)?;
        let change = found.change;
        let sides = CompareMode {
            rounds: pair.rounds,
            code_layout: found.code_layout,
            smallest_differences: change.smallest_differences(pair.rounds, self.options.confidence),
            ..self.sides([base, new], found.run)?
        };
        Ok(self.comparison(sides, change))
    }

    fn sides(&self, [base, new]: [&ServiceSelector; 2], run: String) -> anyhow::Result<CompareMode> {
        let catalogue = self.checkout.catalogue()?;
        Ok(CompareMode {
            design: "rounds",
            base: base.to_string(),
            new: new.to_string(),
            base_uncommitted: is_uncommitted(base, &catalogue)?,
            new_uncommitted: is_uncommitted(new, &catalogue)?,
            runs: vec![run],
            rounds: 0,
            rounds_again: 0,
            base_against_itself: None,
            code_layout: None,
            smallest_differences: Vec::new(),
        })
    }

    fn comparison(&self, sides: CompareMode, change: RunChange) -> Comparison {
        let runs = sides.runs.join(", ");
        let names = (
            format!("{} in {runs}", sides.base),
            format!("{} in {runs}", sides.new),
        );
        Comparison {
            paired: true,
            measured: Some(sides),
            ..comparison(self.args, self.options.max_slowdown, names, (Vec::new(), change))
        }
    }
}

/// Measures two services or revisions of one.
pub(super) fn measured(
    args: &Args,
    sides: [&ServiceSelector; 2],
    options: &ChangeOptions,
) -> anyhow::Result<Comparison> {
    let measuring = &args.measuring;
    if !measuring.at_once && (measuring.budget.is_some() || measuring.connections.is_some()) {
        return Err(bad_input(anyhow!(
            "--budget and --connections need --at-once, which loads both services at the same time"
        )));
    }
    let measurement = PairMeasurement::new(args, options, measuring.at_once)?;
    if measuring.at_once {
        measurement.at_once(sides, measuring.budget.map(|given| given.0), None)
    } else {
        measurement.in_rounds(sides)
    }
}
