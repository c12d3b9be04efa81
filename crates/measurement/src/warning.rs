//! Reasons to doubt a number, which travel with it.

use serde::{Deserialize, Serialize};

/// A reason to doubt a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The kind, for machines.
    pub kind: WarningKind,
    /// What was seen and what it means, for people.
    pub text: String,
}

impl Warning {
    /// A warning.
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}

/// The kinds of warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// The generator, not the service, was the limit.
    GeneratorSaturated,
    /// The network between the hosts, not the service, was the limit.
    NetworkBound,
    /// A companion, not the service, was the limit.
    CompanionBound,
    /// Requests were sent too long after they were due.
    ScheduleLag,
    /// The offered rate was not reached.
    RateNotHeld,
    /// Fewer connections than asked for.
    ConnectionsNotEstablished,
    /// The service allows fewer requests under way on one connection than were asked for.
    StreamsLimited,
    /// The clock of the machine was stepped.
    ClockStep,
    /// Too few replies for the percentile.
    FewSamples,
    /// The time that requests, connects and pauses took contradicts the slots of the load (Little's law).
    LittlesLaw,
    /// CPU time per request, throughput and busy CPUs contradict each other.
    CpuContradiction,
    /// Response times cover complete replies only: an older version recorded them.
    SurvivorsOnly,
    /// Replies that were not valid.
    Errors,
    /// The service closes connections that should be kept alive, or speaks HTTP/1.0.
    ConnectionClosed,
    /// Many requests were sent twice, because idle connections ended as they came.
    Retried,
    /// A header that a good reply carries is missing.
    MissingHeader,
    /// Warm-up ended at its limit without a steady state.
    NotSteady,
    /// The service got slower while it was measured.
    SlowingDown,
    /// CPU, memory or network isolation that was asked for is not in force.
    NotIsolated,
    /// Generator and service share CPUs.
    SharedCpus,
    /// Something else used the machine meanwhile.
    Noise,
    /// The machine's settings cost accuracy.
    Environment,
    /// Too few trials for an interval.
    FewTrials,
    /// Methods of estimation disagree.
    EstimatesDisagree,
    /// The service cannot use all CPUs that it was given.
    OneCpu,
    /// The trial was repeated because the first one was disturbed.
    Repeated,
    /// Workers that made a load together did not fare alike.
    WorkersDisagree,
    /// Workers that made a load together may have begun too far apart.
    StartSpread,
    /// A reply changed between the check and the end.
    Degraded,
    /// The budget of time ended the run before the wished precision.
    BudgetSpent,
    /// The run was ended early.
    Interrupted,
    /// Anything else worth saying.
    Note,
}
