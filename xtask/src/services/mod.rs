//! `cargo xtask services`: verifies services, and keeps the record of them in `services/verified`.
//!
//! To verify a service is to build it, check it against its contracts and load it briefly. If it passes, the digests of everything
//! that decides the result are recorded; as long as they stay the same, the entry is valid.

mod budget;
mod changes;
mod ledger;
mod report;
mod select;
pub(crate) mod verify;

use crate::checkout::{Checkout, git, test_deadline};
use crate::run::print_line;
use anyhow::{Result, anyhow};
use budget::{Budget, earlier};
use ledger::{Entry, FOLDER, Ledger};
use report::Outcome;
use select::{Id, SelectedVariants, SelectionInput, Variant};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use verify::{Verdict, Verification};

/// The suite for the verification.
const SMOKE: &str = "smoke";

/// Verify services: those without a valid entry, those whose entry is touched by the change under test, those of `quick`, and a tenth
/// of the rest
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only these services or variants: go-nethttp, rust-axum/current
    #[arg(value_name = "SERVICE")]
    names: Vec<String>,
    /// Every variant of every service; one that passes only on the second attempt fails
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Verify the named variants, or those without a valid entry, and record those that pass in services/verified
    #[arg(long)]
    update: bool,
    /// The base of the change under test [default: where HEAD left the default branch; its parent if it is on it]
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["names", "all", "update"])]
    base: Option<String>,
    /// Minutes for variants that the change under test has invalidated
    #[arg(long, value_name = "MINUTES", default_value_t = 15)]
    budget: u64,
    /// Print what would be verified and why, and stop
    #[arg(long)]
    dry_run: bool,
}

#[derive(Deserialize)]
struct ServiceList {
    services: Vec<Variant>,
}

#[derive(Deserialize)]
struct DryRun {
    plan: Plan,
}

#[derive(Deserialize)]
struct Plan {
    entries: Vec<PlanEntry>,
}

#[derive(Deserialize)]
struct PlanEntry {
    service: String,
    variant: String,
}

/// Returns whether all selected variants passed.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let checkout = Checkout::find()?;
    let mut state = State::read(arguments, checkout)?;
    let selected = state.selected(arguments)?;
    let budget = arguments.is_change().then(|| {
        let allowed = Duration::from_secs(arguments.budget * 60);
        Budget::of(&state.selection_input(), &selected, allowed)
    });
    for (id, why) in &selected {
        print_line(&format!("{id}: {why}"));
    }
    if let Some(budget) = &budget {
        print_line(&budget.to_string());
    }
    let fits = budget.as_ref().is_none_or(Budget::fits);
    if arguments.dry_run {
        return Ok(fits);
    }
    let verification = Verification {
        checkout: &state.checkout,
        suite: SMOKE,
        deadline: earlier(test_deadline(), budget.as_ref().map(Budget::deadline)),
    };
    let is_verified_now = |variant: &&Variant| {
        let id = variant.id();
        let why = selected.get(&id);
        why.is_some_and(|why| fits || !state.selection_input().is_change(&id, why))
    };
    let to_verify: Vec<&Variant> = state.variants.iter().filter(is_verified_now).collect();
    let mut verdicts = verification.verify(&to_verify)?;
    for id in selected.keys() {
        verdicts.entry(id.clone()).or_insert(Verdict::NotTried);
    }
    let mut outcome = Outcome::new(verdicts);
    // An entry that cannot be verified here must not be accepted.
    outcome.refuse_entries(&state.edited);
    if arguments.update {
        state.record(&outcome.verdicts)?;
    }
    outcome.print(state.valid(), state.variants.len());
    Ok(outcome.is_good(arguments.all))
}

impl Arguments {
    /// Whether a change is tested, and not named variants.
    const fn is_change(&self) -> bool {
        self.names.is_empty() && !self.all && !self.update
    }
}

/// The services, and the ledger.
struct State {
    checkout: Checkout,
    variants: Vec<Variant>,
    ledger: Ledger,
    edited: BTreeSet<Id>,
    quick: BTreeSet<Id>,
    commit: String,
}

impl State {
    fn read(arguments: &Arguments, checkout: Checkout) -> Result<Self> {
        let list: ServiceList = checkout.json(&["list", "services", "--json", "--fingerprints", SMOKE])?;
        let (edited, quick) = if arguments.is_change() {
            (edited_entries(arguments, &checkout)?, quick_variants(&checkout)?)
        } else {
            (BTreeSet::new(), BTreeSet::new())
        };
        Ok(Self {
            variants: list.services,
            ledger: Ledger::read(&checkout.path(FOLDER))?,
            edited,
            quick,
            commit: git(&checkout.root, &["rev-parse", "HEAD"]).unwrap_or_default(),
            checkout,
        })
    }

    fn selection_input(&self) -> SelectionInput<'_> {
        SelectionInput {
            variants: &self.variants,
            ledger: &self.ledger,
            edited: &self.edited,
            quick: &self.quick,
            commit: &self.commit,
        }
    }

    fn selected(&self, arguments: &Arguments) -> Result<SelectedVariants> {
        let selection_input = self.selection_input();
        if arguments.all {
            return Ok(selection_input.all());
        }
        if !arguments.names.is_empty() {
            return selection_input
                .named(&arguments.names)
                .map_err(|reason| anyhow!(reason));
        }
        Ok(if arguments.update {
            selection_input.unverified()
        } else {
            selection_input.of_change()
        })
    }

    /// The number of variants with a valid entry.
    fn valid(&self) -> usize {
        let selection_input = self.selection_input();
        let variants = self.variants.iter();
        variants
            .filter(|variant| selection_input.invalid(variant).is_none())
            .count()
    }

    /// Records the variants that passed, and removes entries that no longer exist. Flaky variants are not recorded.
    fn record(&mut self, verdicts: &BTreeMap<Id, Verdict>) -> Result<()> {
        let prony = self.checkout.version();
        for variant in &self.variants {
            let id = variant.id();
            let Some(&Verdict::Passed { seconds, cached }) = verdicts.get(&id) else {
                continue;
            };
            let known = self.ledger.entry(&id.service, &id.variant);
            let known = known.map_or(0, |entry| entry.seconds);
            let seconds = (seconds.ceil() as u64).max(1);
            let entry = Entry {
                prony: prony.clone(),
                // A cached build takes less time than usual.
                seconds: if cached { seconds.max(known) } else { seconds },
                parts: variant.fingerprint.clone(),
            };
            self.ledger.record(&id.service, &id.variant, entry);
        }
        let known: BTreeSet<Id> = self.variants.iter().map(Variant::id).collect();
        let is_known = |service: &str, variant: &str| known.contains(&Id::new(service, variant));
        self.ledger.write(&self.checkout.path(FOLDER), is_known)
    }
}

/// Entries that the change under test adds or edits.
fn edited_entries(arguments: &Arguments, checkout: &Checkout) -> Result<BTreeSet<Id>> {
    let base = match &arguments.base {
        Some(base) => Some(base.clone()),
        None => changes::base(checkout)?,
    };
    let Some(base) = base else {
        print_line("no git repository, so the change is unknown");
        return Ok(BTreeSet::new());
    };
    print_line(&format!("compared with {base}"));
    changes::edited(checkout, &base)
}

/// The services that are verified every time: those of `quick`, if the checkout has that suite.
fn quick_variants(checkout: &Checkout) -> Result<BTreeSet<Id>> {
    if !checkout.path("suites/quick.toml").is_file() {
        return Ok(BTreeSet::new());
    }
    let dry_run: DryRun = checkout.json(&["run", "quick", "--dry-run", "--json"])?;
    let entries = dry_run.plan.entries.iter();
    Ok(entries
        .map(|entry| Id::new(&entry.service, &entry.variant))
        .collect())
}
