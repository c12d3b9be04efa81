//! Data of backing services, made once and kept.

use super::lock;
use super::recipe::{self, Recipe};
use crate::Failure;
use crate::{RunContext, TrialPlacement};
use prony_config::contract::Contract;
use prony_host::ProcessSpec;
use prony_records::TrialStage;
use std::collections::BTreeMap;
use std::time::Duration;

/// Longest that data may take to be made.
const LONGEST: Duration = Duration::from_mins(5);
/// Data that is kept: that of the newest runs.
const KEPT: u32 = 4;

/// Makes the data of a backing service, unless it is there.
pub(super) fn make(
    bench: &RunContext<'_>,
    contract: &Contract,
    wanted: &prony_config::contract::BackingRequirement,
    seed: u64,
    seat: &TrialPlacement,
) -> Result<(), Failure> {
    let recipe = Recipe::new(bench, contract, wanted, seed, seat)?;
    let Some(key) = &recipe.key else {
        return Ok(());
    };
    if lock(&bench.seeds.made).contains(key) {
        return Ok(());
    }
    again(&recipe)?;
    lock(&bench.seeds.made).insert(key.clone());
    Ok(())
}

/// The same where it was there once: other runs on this host may have kept newer data in its place.
pub(super) fn again(recipe: &Recipe) -> Result<(), Failure> {
    let Some(key) = &recipe.key else {
        return Ok(());
    };
    let spec = spec(recipe, key)?;
    let made = recipe::run(recipe, &spec, LONGEST)?;
    made.map_err(|log| Failure {
        stage: TrialStage::Build,
        ..recipe.failed(&format!("cannot be seeded: {}", why(recipe, &log)))
    })
}

fn spec(recipe: &Recipe, key: &str) -> Result<ProcessSpec, Failure> {
    let environment = BTreeMap::from([
        ("KEY".to_owned(), key.to_owned()),
        ("KEEP".to_owned(), KEPT.to_string()),
        ("SEED".to_owned(), recipe.number.to_string()),
        (
            "FILES".to_owned(),
            recipe.folder_there()?.to_string_lossy().into_owned(),
        ),
        (
            "SEEDING".to_owned(),
            recipe.definition.seed.clone().unwrap_or_default(),
        ),
    ]);
    let files = recipe.files().iter();
    let files = files.map(|file| file.to_string_lossy().into_owned());
    let log = format!("seed-{}", recipe.name);
    Ok(recipe.script((&log, include_str!("seed.sh")), files.collect(), environment))
}

/// The first line that names a seed file and a line of it, with the path that a person finds it by; else the last lines.
fn why(recipe: &Recipe, log: &[String]) -> String {
    let at = |line: &String| {
        recipe.files().iter().find_map(|file| {
            let name = file.to_string_lossy();
            let (_, rest) = line.split_once(&*name)?;
            let rest = rest.strip_prefix(':')?;
            let number = rest.split(':').next()?;
            number
                .bytes()
                .all(|digit| digit.is_ascii_digit())
                .then(|| format!("{}:{rest}", recipe.told(file)))
        })
    };
    let last = || {
        log.iter()
            .rev()
            .take(3)
            .rev()
            .cloned()
            .collect::<Vec<_>>()
            .join(" | ")
    };
    log.iter().find_map(at).unwrap_or_else(last)
}
