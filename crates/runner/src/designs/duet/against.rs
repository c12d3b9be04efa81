//! Two versions loaded at the same time, one of them against itself as well, and a verdict: for machines that others use too.

use super::{AGAIN, Tell, Wish, play};
use crate::error::Told as _;
use crate::project::{choose, common};
use crate::{BenchError, Checkout, Pair, Workbench};
use prony_load::Load;
use prony_records::{ServiceId, TrialRecord};
use prony_statistics::{ChangeOptions, Metric, RunChange, Smallest, compare_in_run};
use prony_store::Store;
use std::time::{Duration, Instant};

/// When the first look and that of a version against itself are to be over, as shares of the budget.
const FIRST_ENDS: f64 = 0.3;
const ITSELF_ENDS: f64 = 0.5;

/// Under what, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct AtOnce<'a> {
    /// Load before each measurement.
    pub warm_up: Duration,
    /// Connections of a closed load to each; `None`: the workload's own load.
    pub connections: Option<u32>,
    /// The time that all of it may take, builds included.
    pub budget: Option<Duration>,
    /// How to judge.
    pub options: &'a ChangeOptions,
}

/// What was found.
#[derive(Debug)]
pub struct Against {
    /// What changed.
    pub change: RunChange,
    /// What the base showed against itself, in the same way on the same machine.
    pub itself: RunChange,
    /// The smallest change that this comparison could have found.
    pub smallest: Vec<Smallest>,
    /// Rounds of the comparison.
    pub rounds: u32,
    /// How many of them came from further looks, which only the suspicious get.
    pub again: u32,
    /// The runs that they are stored as.
    pub runs: Vec<String>,
}

/// Loads both at the same time, round by round; then the base against itself; then both again, look by look, as long as the new
/// seems slower and it is not proven. All rounds so far are judged together. The first look can end the matter but never decide
/// against the new, so it adds no false alarm; of the further ones each may err by its share alone (Bonferroni).
pub fn compare_at_once(
    pair: &Pair<'_>,
    how: AtOnce<'_>,
    store: &Store,
    workbench: &Workbench,
    tell: Tell<'_>,
) -> Result<Against, BenchError> {
    let asked = ChangeOptions {
        gate: with_cost(&how.options.gate),
        ..how.options.clone()
    };
    let mut options = asked.clone();
    let mut game = Game {
        sides: Sides::of(pair, how.connections)?,
        how,
        began: Instant::now(),
        store,
        workbench,
        tell,
        runs: Vec::new(),
        round: Duration::ZERO,
    };
    let mut trials = game.play(pair, "both versions", FIRST_ENDS)?;
    let same = Pair {
        second: pair.first,
        ..*pair
    };
    let itself = game.play(&same, "the base against itself", ITSELF_ENDS)?;
    let itself = game.judge(&itself, &game.sides.again(), &options)?;
    let judged = |game: &Game<'_>, trials: &[TrialRecord], options: &ChangeOptions| {
        let change = game.judge(trials, &game.sides.new, options)?;
        Ok::<_, BenchError>(change.beyond(&itself))
    };
    let mut change = judged(&game, &trials, &options)?;
    let before = rounds_of(&trials);
    let mut further = 0;
    while change.needs_a_look(further, &options) && (further == 0 || !game.is_over()) {
        let more = game.play(pair, "both again, since the new looks slower", 1.0)?;
        append(&mut trials, more);
        options = asked.of_further_looks();
        change = judged(&game, &trials, &options)?;
        further += 1;
    }
    let rounds = rounds_of(&trials);
    Ok(Against {
        smallest: change.smallest_differences(rounds, options.confidence),
        change,
        itself,
        rounds,
        again: rounds - before,
        runs: game.runs,
    })
}

/// What a request costs tells versions apart where others use the machine: it may fail, too.
fn with_cost(gate: &[Metric]) -> Vec<Metric> {
    let mut gate = gate.to_vec();
    if !gate.contains(&Metric::CpuNsPerRequest) {
        gate.push(Metric::CpuNsPerRequest);
    }
    gate
}

/// Who plays.
struct Sides {
    base: ServiceId,
    new: ServiceId,
    load: Load,
}

impl Sides {
    fn of(pair: &Pair<'_>, connections: Option<u32>) -> Result<Self, BenchError> {
        let checkout = Checkout::find()?;
        let mut catalogue = checkout.catalogue()?;
        let base = choose(pair.first, &checkout, &mut catalogue)?;
        let new = choose(pair.second, &checkout, &mut catalogue)?;
        if base.id == new.id {
            return Err(BenchError::Input(format!(
                "both are {}: name another variant or revision",
                base.id
            )));
        }
        let (contract, _) = common(&catalogue, &base, &new, pair.contract)?;
        let (_, own) = catalogue.contract(&contract)?.load_of(pair.workload).input()?;
        let load = connections.map_or(own, |connections| Load::closed(connections, 1));
        Ok(Self {
            base: base.id,
            new: new.id,
            load,
        })
    }

    /// The base as it is called where it plays against itself.
    fn again(&self) -> ServiceId {
        ServiceId {
            service: self.base.service.clone(),
            variant: format!("{}{AGAIN}", self.base.variant),
        }
    }
}

struct Game<'a> {
    sides: Sides,
    how: AtOnce<'a>,
    began: Instant,
    store: &'a Store,
    workbench: &'a Workbench,
    tell: Tell<'a>,
    runs: Vec<String>,
    /// What a round took where the last were played.
    round: Duration,
}

impl Game<'_> {
    /// Plays so many rounds, or those that are over by this share of the budget.
    fn play(&mut self, pair: &Pair<'_>, what: &str, share: f64) -> Result<Vec<TrialRecord>, BenchError> {
        (self.tell)(what);
        let wish = Wish {
            pair: *pair,
            warm_up: self.how.warm_up,
            load: self.sides.load.clone(),
            confidence: self.how.options.confidence,
            tie: self.how.options.tie_band,
            until: self.how.budget.map(|time| self.began + time.mul_f64(share)),
        };
        let since = Instant::now();
        let outcome = play(&wish, self.store, self.workbench, self.tell)?;
        if outcome.interrupted {
            return Err(BenchError::Interrupted(format!(
                "ended early, so nothing is compared: `prony report {}` shows what was measured",
                outcome.run
            )));
        }
        let trials = self.store.trials(&outcome.run)?;
        self.runs.push(outcome.run);
        self.round = since.elapsed() / rounds_of(&trials).max(1);
        Ok(trials)
    }

    /// Whether two rounds more would end after the budget.
    fn is_over(&self) -> bool {
        let needed = self.began.elapsed() + 2 * self.round;
        self.how.budget.is_some_and(|budget| needed > budget)
    }

    fn judge(
        &self,
        trials: &[TrialRecord],
        new: &ServiceId,
        options: &ChangeOptions,
    ) -> Result<RunChange, BenchError> {
        Ok(compare_in_run(trials, &self.sides.base, new, options)?)
    }
}

fn rounds_of(trials: &[TrialRecord]) -> u32 {
    trials.iter().map(|trial| trial.round + 1).max().unwrap_or(0)
}

/// Further rounds of the same two, after those that there are.
fn append(trials: &mut Vec<TrialRecord>, more: Vec<TrialRecord>) {
    let rounds = rounds_of(trials);
    let places = trials.iter().map(|trial| trial.place + 1).max().unwrap_or(0);
    trials.extend(more.into_iter().map(|trial| TrialRecord {
        round: trial.round + rounds,
        place: trial.place + places,
        ..trial
    }));
}
