//! Invariants in the backing services: numbers that are queried before and after a load, and the connections counted in between.

use super::process::BackingProcesses;
use crate::{Cancel, Failure};
use prony_config::contract::{Contract, FinalInvariant, ReplyCounter};
use prony_records::{AfterLoad, Answers, BackingUsage, TrialStage};
use std::thread;
use std::time::Duration;

/// Queries of a value that violates an invariant, and the pause between them: a service may still be processing requests.
const QUERIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(300);

/// The `[[after]]` values of a contract, in its order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Invariants {
    /// Values before the load.
    before: Vec<i64>,
    /// Values after the load, which fulfil the invariants.
    pub(crate) found: Vec<AfterLoad>,
}

impl Invariants {
    /// Queries all values before the load.
    pub(crate) fn before(
        backing_services: &mut BackingProcesses,
        contract: &Contract,
    ) -> Result<Self, Failure> {
        let rules = contract.after().iter();
        let values = rules.map(|after| number(backing_services, after, TrialStage::WarmUp));
        Ok(Self {
            before: values.collect::<Result<_, _>>()?,
            found: Vec::new(),
        })
    }

    /// Queries all values after a load with these `answers`, and judges them. The error names the violated invariant.
    pub(crate) fn judge(
        &mut self,
        backing_services: &mut BackingProcesses,
        contract: &Contract,
        answers: Option<&Answers>,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let rules = contract.after();
        if rules.is_empty() {
            return Ok(());
        }
        let uncounted = "the generator did not count the replies that `[[after]]` needs";
        let answers = answers.ok_or_else(|| Failure::infrastructure(TrialStage::Recheck, uncounted))?;
        let results = rules
            .iter()
            .zip(&self.before)
            .map(|(after, &before)| check_invariant(backing_services, after, before, answers, cancel));
        self.found = results.collect::<Result<_, _>>()?;
        Ok(())
    }
}

/// Judges the number of connections during the load. The error names the violated limit.
pub(crate) fn judge_during(
    backing_services: &BackingProcesses,
    contract: &Contract,
    used: &[BackingUsage],
) -> Result<(), Failure> {
    for during in contract.during() {
        let failed = |reason| {
            Failure::infrastructure(
                TrialStage::Measure,
                format!("`during` `{}`: {reason}", during.name()),
            )
        };
        let most = backing_services.limit(during.backing_service(), during.connections());
        let most = most.map_err(failed)?;
        let one = used.iter().find(|one| one.name == during.backing_service());
        let peak = one.and_then(|one| Some((one, one.watched.as_ref()?.connections_most)));
        if let Some((one, peak)) = peak.filter(|(_, peak)| *peak > most) {
            let text = format!(
                "under the load it breaks its contract: `{}`: {peak} connections to backing service `{}` ({}) at one time, where {most} are allowed",
                during.name(),
                one.name,
                one.title
            );
            return Err(Failure::new(TrialStage::Measure, text));
        }
    }
    Ok(())
}

/// The replies of a load: the input of the invariants.
struct ReplyCounts<'a>(&'a Answers);

impl ReplyCounter for ReplyCounts<'_> {
    fn replies(&self, operation: &str, status: u16) -> u64 {
        self.0.replies(operation, status)
    }

    fn unknown(&self, operation: &str) -> u64 {
        self.0.unknown(operation)
    }
}

fn check_invariant(
    backing_services: &mut BackingProcesses,
    after: &FinalInvariant,
    before: i64,
    answers: &Answers,
    cancel: &Cancel,
) -> Result<AfterLoad, Failure> {
    let expected = after.expected(before, &ReplyCounts(answers));
    let mut queries = 0;
    let found = loop {
        let found = number(backing_services, after, TrialStage::Recheck)?;
        queries += 1;
        if (expected.low..=expected.high).contains(&found) || queries == QUERIES {
            break found;
        }
        if cancel.is_now() {
            return Err(Failure::interrupted(TrialStage::Recheck));
        }
        thread::sleep(PAUSE);
    };
    let result = AfterLoad {
        name: after.name().to_owned(),
        backing_service: after.backing_service().to_owned(),
        equals: after.equals().to_owned(),
        before,
        low: expected.low,
        high: expected.high,
        found,
        uncertain: expected.uncertain,
    };
    if (expected.low..=expected.high).contains(&found) {
        return Ok(result);
    }
    Err(Failure::new(
        TrialStage::Recheck,
        violation(&result, &expected.numbers),
    ))
}

fn violation(result: &AfterLoad, numbers: &str) -> String {
    let AfterLoad {
        name,
        backing_service,
        equals,
        low,
        high,
        found,
        uncertain,
        ..
    } = result;
    let wanted = if low == high {
        format!("`{equals}`: {numbers} = {low}")
    } else {
        format!(
            "`{equals}`: {numbers}, from {low} to {high} because the outcome of {uncertain} requests is unknown"
        )
    };
    format!(
        "after the load it breaks its contract: `{name}`: {found} in backing service `{backing_service}`, where it must be {wanted}"
    )
}

/// The single integer that a query returns. Anything else is an infrastructure failure.
fn number(
    backing_services: &mut BackingProcesses,
    after: &FinalInvariant,
    stage: TrialStage,
) -> Result<i64, Failure> {
    let failed =
        |reason: String| Failure::infrastructure(stage, format!("`after` `{}`: {reason}", after.name()));
    let (_, rows) = backing_services
        .query(after.backing_service(), after.query())
        .map_err(failed)?;
    let one = match rows.as_slice() {
        [row] => match row.as_slice() {
            [serde_json::Value::String(text)] => text.parse().ok(),
            [value] => value.as_i64(),
            _ => None,
        },
        _ => None,
    };
    one.ok_or_else(|| failed(format!("`{}` does not return a single integer", after.query())))
}
