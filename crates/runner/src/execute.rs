//! The executor: performs what a design asks for. The story of every trial is [`run_block`].

use crate::backing::SeededContracts;
use crate::history::{Attempt, History};
use crate::limits;
use crate::schedule::{Block, Design, Step, StepResult};
use crate::services::RunningServices;
use crate::{Journal, JournalError, NextRound, Progress, Run, RunEnd};
use prony_config::Plan;
use prony_host::CpuDemand;
use std::time::Instant;

/// Does all trials that a design asks for and that are not done yet.
pub fn execute(
    design: &dyn Design,
    run: &Run<'_>,
    journal: &mut dyn Journal,
) -> Result<RunEnd, JournalError> {
    let context = &run.context;
    let watch = &mut |progress| journal.saw(progress);
    let Some(contracts) = SeededContracts::prepare(run.plan, context, watch) else {
        return Ok(RunEnd::Interrupted);
    };
    let testbed = context.testbed;
    if !testbed.is_one_host() {
        return all_rounds(design, run, &contracts, journal);
    }
    // What this thread does while a service is measured must not be done on the service's CPUs. Where pinning is not
    // allowed it may be, and the noise shows.
    let _ = context
        .host()
        .pin_self(&testbed.place(CpuDemand::default()).generator().cpus);
    let end = all_rounds(design, run, &contracts, journal);
    let _ = context.host().pin_self(&context.host().topology().cpus());
    end
}

fn all_rounds(
    design: &dyn Design,
    run: &Run<'_>,
    contracts: &SeededContracts<'_>,
    journal: &mut dyn Journal,
) -> Result<RunEnd, JournalError> {
    let context = &run.context;
    let began = Instant::now();
    let cpus = context.host().topology().cpus().len();
    let mut history = History::new(run.plan, journal.history()?, context.options.noise, cpus);
    let mut round = None;
    loop {
        history.set_elapsed(began.elapsed());
        let Some(block) = design.next_block(&history) else {
            if let Some(round) = round {
                journal.saw(Progress::Round { round });
            }
            return Ok(RunEnd::Complete);
        };
        if round.is_none_or(|round| round < block.round) {
            match next_round(&mut round, run.plan, &mut history, journal) {
                Some(end) => return Ok(end),
                None => continue,
            }
        }
        if let Some(end) = limits::reached(context, &history) {
            return Ok(end);
        }
        announce_repeats(&block, &history, journal);
        let attempts = run_block(design, &block, (run, contracts, &history), journal)?;
        if attempts.is_empty() && !context.cancel.is_asked() {
            let text = format!(
                "a block of round {} gave no record: this is an error of prony",
                block.round
            );
            return Err(JournalError(text));
        }
        for mut attempt in attempts {
            // Stored before anything else starts.
            history.mark(&mut attempt);
            journal.append(&attempt.record)?;
            if !attempt.is_told {
                journal.saw(Progress::Ended(Box::new(attempt.record.clone())));
            }
            history.add(attempt);
            if let Some(warning) = history.take_warning() {
                journal.saw(Progress::Warning(warning));
            }
        }
        if let Some(end) = limits::lost_host(context, &history) {
            return Ok(end);
        }
    }
}

/// The steps of a block, and a record for each of its trials.
fn run_block(
    design: &dyn Design,
    block: &Block,
    (run, contracts, history): (&Run<'_>, &SeededContracts<'_>, &History<'_>),
    journal: &mut dyn Journal,
) -> Result<Vec<Attempt>, JournalError> {
    // Whatever happens, every process has ended when this returns.
    let mut services = RunningServices::new(block, (run, contracts, history), journal);
    let mut results = Vec::new();
    while let Some(step) = design.next_step(block, &results).filter(|_| !services.is_over()) {
        let outcome = match &step {
            Step::Start(slot) => services.start(*slot),
            Step::Check(slot) => services.check(*slot),
            Step::WarmUp(runs, until) => services.warm_up(runs, *until),
            Step::Measure(runs) => services.measure(runs)?,
            Step::Pause(slot) => services.pause(*slot),
            Step::Resume(slot) => services.resume(*slot),
            Step::Recheck(slot) => services.recheck(*slot),
            Step::Warn(slot, warnings) => services.warn(*slot, warnings),
            Step::GiveUp(slot, fault, reason) => services.give_up(*slot, *fault, reason),
            Step::Stop(slot) => services.stop(*slot),
        };
        let is_ending = run.context.cancel.is_asked();
        results.push(StepResult {
            step,
            outcome,
            is_ending,
        });
    }
    Ok(services.into_attempts())
}

/// Says why trials are tried again.
fn announce_repeats(block: &Block, history: &History<'_>, journal: &mut dyn Journal) {
    let mut trials = block.slots.iter().flat_map(|start| &start.trials);
    let reason = trials.find_map(|planned| history.again(planned.place));
    if let Some(reason) = reason {
        journal.saw(Progress::Repeats { reason });
    }
}

/// Ends a round and begins the next one; returns why there is none.
fn next_round(
    round: &mut Option<u32>,
    plan: &Plan,
    history: &mut History<'_>,
    journal: &mut dyn Journal,
) -> Option<RunEnd> {
    let next = round.map_or(0, |round| round + 1);
    if let Some(done) = *round {
        journal.saw(Progress::Round { round: done });
        let only = match journal.next_round(done) {
            NextRound::End(end) => return Some(end),
            NextRound::All => None,
            NextRound::Only(entries) => Some(entries),
        };
        if history.hold_only(only) {
            let all = 0..plan.entries.len();
            let entries = all.filter(|entry| !history.takes_part(*entry)).collect();
            journal.saw(Progress::LeavesOut { round: next, entries });
        }
    }
    *round = Some(next);
    history.begin_round(next);
    limits::before_round(plan, history)
}
