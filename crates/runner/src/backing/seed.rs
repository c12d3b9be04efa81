//! Generated data of backing services, which is cached.

use super::recipe::Recipe;
use super::{lock, recipe};
use crate::{Failure, RunContext, TrialPlacement};
use prony_config::contract::Contract;
use prony_host::ProcessSpec;
use prony_records::TrialStage;
use std::collections::BTreeMap;
use std::time::Duration;

/// Timeout of generating data.
const LONGEST: Duration = Duration::from_mins(5);
/// Number of data sets that stay in the cache, the newest ones.
const KEPT: u32 = 4;

/// Generates the data of a backing service, unless it exists.
pub(super) fn make(
    bench: &RunContext<'_>,
    contract: &Contract,
    requirement: &prony_config::contract::BackingRequirement,
    seed: u64,
    placement: &TrialPlacement,
) -> Result<(), Failure> {
    let recipe = Recipe::new(bench, contract, requirement, seed, placement)?;
    let Some(key) = &recipe.key else {
        return Ok(());
    };
    if lock(&bench.seeds.made).contains(key) {
        return Ok(());
    }
    restore(&recipe)?;
    lock(&bench.seeds.made).insert(key.clone());
    Ok(())
}

/// Generates the data again if other runs on this host have removed it from the cache.
pub(super) fn restore(recipe: &Recipe) -> Result<(), Failure> {
    let Some(key) = &recipe.key else {
        return Ok(());
    };
    let spec = spec(recipe, key)?;
    let made = recipe::run(recipe, &spec, LONGEST)?;
    made.map_err(|log| Failure {
        stage: TrialStage::Build,
        ..recipe.failed(&format!("cannot be seeded: {}", error_lines(recipe, &log)))
    })
}

fn spec(recipe: &Recipe, key: &str) -> Result<ProcessSpec, Failure> {
    let environment = BTreeMap::from([
        ("KEY".to_owned(), key.to_owned()),
        ("KEEP".to_owned(), KEPT.to_string()),
        ("SEED".to_owned(), recipe.number.to_string()),
        (
            "FILES".to_owned(),
            recipe.seed_folder()?.to_string_lossy().into_owned(),
        ),
        (
            "SEEDING".to_owned(),
            recipe.filled(recipe.definition.seed.as_deref().unwrap_or_default(), 0),
        ),
    ]);
    let files = recipe.files().iter();
    let files = files.map(|file| file.to_string_lossy().into_owned());
    let log = format!("seed-{}", recipe.name);
    Ok(recipe.script((&log, include_str!("seed.sh")), files.collect(), environment))
}

/// The first log line with a position in a seed file, with the path of the file in the project; else the last lines.
fn error_lines(recipe: &Recipe, log: &[String]) -> String {
    let at = |line: &String| {
        recipe.files().iter().find_map(|file| {
            let name = file.to_string_lossy();
            let (_, rest) = line.split_once(&*name)?;
            let rest = rest.strip_prefix(':')?;
            let number = rest.split(':').next()?;
            number
                .bytes()
                .all(|digit| digit.is_ascii_digit())
                .then(|| format!("{}:{rest}", recipe.shown_path(file)))
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
