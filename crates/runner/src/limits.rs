//! When a run ends before its plan is complete.

use crate::history::History;
use crate::{RunContext, RunEnd};
use prony_config::Plan;
use std::time::Duration;

/// Whether the run ends before its next block.
pub(crate) fn reached(context: &RunContext<'_>, history: &History<'_>) -> Option<RunEnd> {
    lost_host(context, history).or_else(|| context.cancel.is_asked().then_some(RunEnd::Interrupted))
}

/// Whether the run ends because a host is lost and could not be reconnected for the retries.
pub(crate) fn lost_host(context: &RunContext<'_>, history: &History<'_>) -> Option<RunEnd> {
    let reason = history
        .final_infrastructure_failure()
        .filter(|_| context.testbed.lost().is_some())?;
    Some(RunEnd::HostLost(reason.to_owned()))
}

/// Whether the run ends before its next round.
pub(crate) fn before_round(plan: &Plan, history: &History<'_>) -> Option<RunEnd> {
    let budget = plan.budget_ns.map(Duration::from_nanos);
    let is_spent = budget.is_some_and(|budget| history.elapsed() >= budget);
    is_spent.then_some(RunEnd::BudgetSpent)
}
