//! The executor performs the steps of a design. [`run_block`] is the course of every trial.

use crate::backing::SeededContracts;
use crate::history::{Attempt, History};
use crate::limits;
use crate::schedule::{Block, Design, Step, StepResult};
use crate::services::RunningServices;
use crate::{Journal, JournalError, NextRound, Progress, Run, RunEnd};
use prony_config::Plan;
use prony_host::CpuDemand;
use std::time::Instant;

/// Runs all pending trials of a design.
pub fn execute(
    design: &dyn Design,
    run: &Run<'_>,
    journal: &mut dyn Journal,
) -> Result<RunEnd, JournalError> {
    let context = &run.context;
    let watch = &mut |progress| journal.progress(progress);
    let Some(contracts) = SeededContracts::prepare(run.plan, context, watch) else {
        return Ok(RunEnd::Interrupted);
    };
    let testbed = context.testbed;
    if !testbed.is_one_host() {
        return all_rounds(design, run, &contracts, journal);
    }
    // This thread must not use the CPUs of the service during a measurement. If pinning is not permitted, the noise shows it.
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
    history.count_failed_builds(|planned| run.build_of(planned).is_some_and(Result::is_ok));
    let spent = journal.time_spent();
    let mut round = None;
    loop {
        history.set_elapsed(spent + began.elapsed());
        let Some(block) = design.next_block(&history) else {
            if let Some(round) = round {
                journal.progress(Progress::Round { round });
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
        show_retry(&block, &history, journal);
        let attempts = run_block(design, &block, (run, contracts, &history), journal)?;
        if attempts.is_empty() && !context.cancel.is_asked() {
            let text = format!(
                "a block of round {} has no record: this is a bug in prony",
                block.round
            );
            return Err(JournalError(text));
        }
        for mut attempt in attempts {
            // Stored before anything else starts.
            history.add_repeat_warnings(&mut attempt);
            journal.append(&attempt.record)?;
            if !attempt.is_shown {
                journal.progress(Progress::Ended(Box::new(attempt.record.clone())));
            }
            history.add(attempt);
            if let Some(warning) = history.take_warning() {
                journal.progress(Progress::Warning(warning));
            }
        }
        if let Some(end) = limits::lost_host(context, &history) {
            return Ok(end);
        }
    }
}

/// Performs the steps of a block. Returns an attempt for each of its trials.
fn run_block(
    design: &dyn Design,
    block: &Block,
    (run, contracts, history): (&Run<'_>, &SeededContracts<'_>, &History<'_>),
    journal: &mut dyn Journal,
) -> Result<Vec<Attempt>, JournalError> {
    // Dropped on every path, which ends all processes.
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
            Step::AwaitIdle(slot) => services.await_idle(*slot),
            Step::Evict(slot) => services.evict(*slot),
            Step::FindFiles(slot) => services.find_files(*slot),
            Step::Rest(slot, length, point) => services.rest(*slot, (*length, *point)),
            Step::RecordStart(slot) => services.record_start(*slot),
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

/// Shows why trials are repeated.
fn show_retry(block: &Block, history: &History<'_>, journal: &mut dyn Journal) {
    let mut trials = block.slots.iter().flat_map(|start| &start.trials);
    let reason = trials.find_map(|planned| history.retry_reason(planned.number));
    if let Some(reason) = reason {
        journal.progress(Progress::Repeats { reason });
    }
}

/// Ends a round and begins the next one. Returns the end of the run if there is none.
fn next_round(
    round: &mut Option<u32>,
    plan: &Plan,
    history: &mut History<'_>,
    journal: &mut dyn Journal,
) -> Option<RunEnd> {
    let next = round.map_or(0, |round| round + 1);
    if let Some(done) = *round {
        journal.progress(Progress::Round { round: done });
        let only = match journal.next_round(done) {
            NextRound::End(end) => return Some(end),
            NextRound::All => None,
            NextRound::Only(entries) => Some(entries),
        };
        if history.restrict_to(only) {
            let all = 0..plan.entries.len();
            let entries = all.filter(|entry| !history.takes_part(*entry)).collect();
            journal.progress(Progress::LeavesOut { round: next, entries });
        }
    }
    *round = Some(next);
    history.begin_round(next);
    limits::before_round(plan, history)
}
