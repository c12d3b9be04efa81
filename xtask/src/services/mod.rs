//! `cargo xtask services`: verifies services, and keeps the record of them in `services/verified`.
//!
//! To verify a service is to build it, to check it against its contracts and to load it briefly. What passed is recorded with the
//! digests of what decides that; as long as they are the same, the entry vouches for it.

mod changes;
mod ledger;
mod report;
mod select;
pub(crate) mod verify;

use crate::checkout::{Checkout, git, time_is_over};
use crate::run::say;
use anyhow::{Result, anyhow, bail};
use ledger::{Entry, FOLDER, Ledger};
use select::{Chosen, Circumstances, Id, Variant};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};
use verify::{Bench, Verdict, lanes};

/// The suite that verifies.
const SMOKE: &str = "smoke";

/// Verifies services: what has no valid entry, what the change under test touches the entry of, those of `quick`, and a tenth of the
/// rest
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// These services or variants alone: go-nethttp, rust-axum/current
    #[arg(value_name = "SERVICE")]
    names: Vec<String>,
    /// Every variant of every service; one that passes on the second attempt alone fails
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Verify what is named, or what has no valid entry, and record what passed in services/verified
    #[arg(long)]
    update: bool,
    /// What the change under test is compared with [default: where HEAD left the default branch; its parent where it is on it]
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["names", "all", "update"])]
    base: Option<String>,
    /// Minutes for what the change under test has invalidated
    #[arg(long, value_name = "MINUTES", default_value_t = 15)]
    budget: u64,
    /// Say what would be verified and why, and stop
    #[arg(long)]
    dry_run: bool,
}

#[derive(Deserialize)]
struct Listed {
    services: Vec<Variant>,
}

#[derive(Deserialize)]
struct Planned {
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

/// Whether all that had to be verified passed.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let checkout = Checkout::find()?;
    let folder = checkout.path(FOLDER);
    let mut ledger = Ledger::read(&folder)?;
    let listed: Listed = checkout.json(&["list", "services", "--json", "--fingerprints", SMOKE])?;
    let variants = listed.services;
    let is_change = arguments.names.is_empty() && !arguments.all && !arguments.update;
    let edited = if is_change {
        edited(arguments, &checkout)?
    } else {
        BTreeSet::new()
    };
    let quick = if is_change {
        quick(&checkout)?
    } else {
        BTreeSet::new()
    };
    let commit = git(&checkout.root, &["rev-parse", "HEAD"]).unwrap_or_default();
    let circumstances = Circumstances {
        variants: &variants,
        ledger: &ledger,
        edited: &edited,
        quick: &quick,
        commit: &commit,
    };
    let chosen = if arguments.all {
        circumstances.all()
    } else if !arguments.names.is_empty() {
        circumstances
            .named(&arguments.names)
            .map_err(|reason| anyhow!(reason))?
    } else if arguments.update {
        circumstances.unverified()
    } else {
        circumstances.of_change()
    };
    let budget = is_change.then(|| {
        Budget::of(
            &circumstances,
            &chosen,
            Duration::from_secs(arguments.budget * 60),
        )
    });
    for (id, why) in &chosen {
        say(&format!("{id}: {why}"));
    }
    if let Some(budget) = &budget {
        say(&budget.to_string());
    }
    if arguments.dry_run {
        return Ok(budget.is_none_or(|budget| budget.fits()));
    }
    let now: Vec<&Variant> = variants
        .iter()
        .filter(|variant| {
            chosen.get(&variant.id()).is_some_and(|why| {
                budget
                    .as_ref()
                    .is_none_or(|budget| budget.fits() || !why.is_change())
            })
        })
        .collect();
    let bench = Bench {
        checkout: &checkout,
        suite: SMOKE,
        until: earlier(time_is_over(), budget.as_ref().map(Budget::ends)),
    };
    let mut verdicts = bench.verify(&now)?;
    for id in chosen.keys() {
        verdicts.entry(id.clone()).or_insert(Verdict::NotTried);
    }
    let mut outcome = report::Outcome::new(verdicts);
    // Nobody vouches for what cannot be verified here.
    outcome.refuse_entries(&edited);
    if arguments.update {
        record(&mut ledger, &variants, &outcome.verdicts, &checkout.version());
        let known: BTreeSet<Id> = variants.iter().map(Variant::id).collect();
        ledger.write(&folder, |service, variant| {
            known.contains(&Id::new(service, variant))
        })?;
    }
    let circumstances = Circumstances {
        variants: &variants,
        ledger: &ledger,
        edited: &edited,
        quick: &quick,
        commit: &commit,
    };
    let valid = variants
        .iter()
        .filter(|variant| circumstances.invalid(variant).is_none())
        .count();
    outcome.tell(valid, variants.len());
    Ok(outcome.is_good(arguments.all))
}

/// Entries that the change under test adds or edits.
fn edited(arguments: &Arguments, checkout: &Checkout) -> Result<BTreeSet<Id>> {
    let base = match &arguments.base {
        Some(base) => Some(base.clone()),
        None => changes::base(checkout)?,
    };
    match base {
        Some(base) => {
            say(&format!("compared with {base}"));
            changes::edited(checkout, &base)
        }
        None => {
            say("no git repository: nothing is known of a change");
            Ok(BTreeSet::new())
        }
    }
}

/// The services that are verified every time: those of `quick`, where the checkout has that suite.
fn quick(checkout: &Checkout) -> Result<BTreeSet<Id>> {
    if !checkout.path("suites/quick.toml").is_file() {
        return Ok(BTreeSet::new());
    }
    let planned: Planned = checkout.json(&["run", "quick", "--dry-run", "--json"])?;
    let entries = planned.plan.entries.iter();
    Ok(entries
        .map(|entry| Id::new(&entry.service, &entry.variant))
        .collect())
}

/// Enters what passed. What passed on the second attempt alone is not vouched for.
fn record(ledger: &mut Ledger, variants: &[Variant], verdicts: &BTreeMap<Id, Verdict>, prony: &str) {
    for variant in variants {
        let id = variant.id();
        if let Some(&Verdict::Passed { seconds, cached }) = verdicts.get(&id) {
            let known = ledger
                .entry(&id.service, &id.variant)
                .map_or(0, |entry| entry.seconds);
            let seconds = (seconds.ceil() as u64).max(1);
            let entry = Entry {
                prony: prony.to_owned(),
                // What was there already takes longer where it is not.
                seconds: if cached { seconds.max(known) } else { seconds },
                parts: variant.fingerprint.clone(),
            };
            ledger.record(&id.service, &id.variant, entry);
        }
    }
}

/// Time for what the change under test has invalidated.
struct Budget {
    allowed: Duration,
    /// What it takes, about.
    change: Duration,
    /// What everything else takes, about.
    other: Duration,
    names: Vec<String>,
}

impl Budget {
    fn of(circumstances: &Circumstances<'_>, chosen: &Chosen, allowed: Duration) -> Self {
        let estimate = |is_change: bool| {
            let ids = chosen.iter().filter(|(_, why)| why.is_change() == is_change);
            circumstances.estimate(ids.map(|(id, _)| id), lanes())
        };
        let changed = chosen.iter().filter(|(_, why)| why.is_change());
        Self {
            allowed,
            change: estimate(true),
            other: estimate(false),
            names: changed.map(|(id, _)| id.to_string()).collect(),
        }
    }

    fn fits(&self) -> bool {
        self.change <= self.allowed
    }

    /// When the time is over. What is verified every time has twice what it takes, and some minutes for a machine that is cold.
    fn ends(&self) -> SystemTime {
        let change = if self.fits() { self.allowed } else { Duration::ZERO };
        SystemTime::now() + change + self.other * 2 + Duration::from_mins(5)
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let minutes = |time: Duration| time.as_secs_f64() / 60.0;
        write!(
            formatter,
            "{} variants to verify because of the change, about {:.0} minutes; the others about {:.0} minutes",
            self.names.len(),
            minutes(self.change).ceil(),
            minutes(self.other).ceil()
        )?;
        if self.fits() {
            return Ok(());
        }
        write!(
            formatter,
            "\nmore than the {:.0} minutes that there are: none of them is verified now",
            minutes(self.allowed)
        )
    }
}

fn earlier(one: Option<SystemTime>, other: Option<SystemTime>) -> Option<SystemTime> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
