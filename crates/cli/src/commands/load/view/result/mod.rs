//! Renders the result of a load as text and as JSON, the verdict first. Pure functions of a recording.

mod errors;
mod headline;
mod kind;
mod llm;
mod rows;
mod stages;
mod times;

use crate::exit::Exit;
use crate::text;
use prony_load::Objective;
use prony_records::{Figures, Level, Recording, Verdict, Warning, verdict};
use prony_runner::{ConditionResult, judge};
use serde_json::{Value, json};

/// The verdict of a load. If several apply, the first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadVerdict {
    /// The load was stopped early.
    Interrupted,
    /// There is no result.
    Failed,
    /// An objective was missed.
    ObjectiveMissed,
    /// Some requests had no valid reply.
    Errors,
    /// Something other than the service was the limit.
    LowerBound,
    /// None of these.
    Ok,
}

impl LoadVerdict {
    const fn shown(self) -> &'static str {
        match self {
            Self::Interrupted => "INTERRUPTED",
            Self::Failed => "FAILED",
            Self::ObjectiveMissed => "OBJECTIVE MISSED",
            Self::Errors => "ERRORS",
            Self::LowerBound => "LOWER BOUND",
            Self::Ok => "OK",
        }
    }

    /// The verdict in JSON.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::ObjectiveMissed => "objective_missed",
            Self::Errors => "errors",
            Self::LowerBound => "lower_bound",
            Self::Ok => "ok",
        }
    }

    const fn exit(self) -> Exit {
        match self {
            Self::Interrupted => Exit::Interrupted,
            Self::Failed | Self::ObjectiveMissed => Exit::ObjectiveFailed,
            Self::Errors | Self::LowerBound | Self::Ok => Exit::Fine,
        }
    }
}

/// A finished load.
pub(in super::super) struct LoadResult<'a> {
    recording: &'a Recording,
    objective: Vec<ConditionResult>,
    word: LoadVerdict,
    /// Size of a sent WebSocket message, if it is known.
    message_bytes: Option<u64>,
    /// When it was certain that the objective is missed, if that ended the load, s.
    decided_s: Option<f64>,
}

impl<'a> LoadResult<'a> {
    pub(in super::super) fn new(
        recording: &'a Recording,
        objective: Option<&Objective>,
        decided_s: Option<f64>,
    ) -> Self {
        // A measurement that the user stopped early is not judged.
        let is_interrupted = recording.interrupted && decided_s.is_none();
        let judged = objective.filter(|_| !is_interrupted);
        let objective = judged.map_or_else(Vec::new, |objective| judge(objective, recording));
        let is_missed = objective.iter().any(|one| one.missed.is_some());
        let word = match verdict(recording) {
            _ if is_interrupted => LoadVerdict::Interrupted,
            Verdict::Invalid(_) => LoadVerdict::Failed,
            _ if is_missed || decided_s.is_some() => LoadVerdict::ObjectiveMissed,
            _ if recording.outcomes.valid < recording.due() => LoadVerdict::Errors,
            Verdict::LowerBound(_) => LoadVerdict::LowerBound,
            Verdict::Doubtful(_) | Verdict::Valid => LoadVerdict::Ok,
        };
        Self {
            recording,
            objective,
            word,
            message_bytes: None,
            decided_s,
        }
    }

    /// The same result of a load that sends messages of this size.
    pub(in super::super) fn of_messages(self, message_bytes: Option<u64>) -> Self {
        Self {
            message_bytes,
            ..self
        }
    }

    /// The exit code of the command.
    pub(in super::super) const fn exit(&self) -> Exit {
        self.word.exit()
    }

    /// Whether the figures are a valid result.
    fn has_result(&self) -> bool {
        !matches!(verdict(self.recording), Verdict::Invalid(_))
    }

    /// The whole text for people.
    pub(in super::super) fn text(&self, columns: usize) -> String {
        let mut parts = vec![
            text::headline(&self.headline(), columns),
            kind::describe(self.recording, self.message_bytes, columns),
        ];
        if self.has_result() {
            parts.extend(stages::table(self.recording, columns));
        }
        parts.push(self.rows(columns));
        parts.extend(self.errors(columns));
        parts.extend(self.warnings(columns));
        parts.join("\n\n")
    }

    /// Warnings, then notes. Without a result, only those that may be the cause: not those that affect only times or limit a
    /// rate.
    fn warnings(&self, columns: usize) -> Option<String> {
        let has_result = self.has_result();
        let own = &self.recording.warnings;
        let hint = llm::hint(self.recording);
        let of = |level: Level, mark: char| {
            let all = own.iter().chain(&hint);
            let is_cause = |one: &Warning| {
                one.level() == Level::Note
                    || (one.affects(Figures::RATES) && one.kind.facts().bottleneck.is_none())
            };
            let matters = move |one: &&Warning| has_result || is_cause(one);
            let shown = all
                .filter(move |one| one.level() == level && (level == Level::Note || one.counts()))
                .filter(matters);
            let line = move |one: &Warning| text::marked(mark, &one.text, one.advice.as_deref(), columns);
            shown.map(line).collect::<Vec<_>>()
        };
        let lines = [of(Level::Warning, '⚠'), of(Level::Note, '·')].concat();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// The recording with the verdict and the objectives.
    pub(in super::super) fn json(&self) -> Value {
        let mut all = serde_json::to_value(self.recording).expect("invariant: a recording is plain data");
        all["verdict"] = self.word.key().into();
        if let Some(seconds) = self.decided_s {
            all["decided_s"] = seconds.into();
        }
        all["exit"] = self.exit().code().into();
        let objective = self.objective.iter().map(|one| {
            json!({ "condition": one.condition, "found": one.found, "met": one.missed.is_none(), "missed": one.missed })
        });
        all["objective"] = objective.collect();
        all
    }
}

#[cfg(test)]
mod tests;
