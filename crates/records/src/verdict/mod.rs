//! Decides whether a load has a result, and how far it can be trusted. Everything that shows or judges a load uses this.

mod errors;

use crate::{
    Bottleneck, Exclusion, Fault, Level, Outcome, Outcomes, Recording, Scope, TrialStage, Warning,
    WarningKind,
};

/// How far the figures of a recording can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// The figures describe the service.
    Valid,
    /// Something else limited a closed load: the service may be faster.
    LowerBound(&'a Warning),
    /// Some figures may be wrong.
    Doubtful(Vec<&'a Warning>),
    /// There is no result.
    Invalid(Vec<&'a Warning>),
}

impl<'a> Verdict<'a> {
    /// What to do about a missing result.
    pub fn advice(&self) -> Option<&'a str> {
        match self {
            Self::Invalid(warnings) => warnings.iter().find_map(|one| one.advice.as_deref()),
            _ => None,
        }
    }

    /// The bottleneck that limited the load instead of the service: a phrase to show.
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Self::LowerBound(warning) => warning.kind.facts().bottleneck.map(Bottleneck::sentence),
            _ => None,
        }
    }
}

/// How far the figures of a recording can be trusted.
pub fn verdict(recording: &Recording) -> Verdict<'_> {
    let at = |level| recording.warnings.iter().filter(move |one| one.level() == level);
    let invalid: Vec<&Warning> = at(Level::Invalid).collect();
    if !invalid.is_empty() {
        return Verdict::Invalid(invalid);
    }
    // The rate of an open load does not depend on the bottleneck; there the response times may be wrong.
    let is_closed = recording.load["kind"] == "closed";
    let limit = at(Level::Warning).find(|one| is_closed && one.kind.facts().bottleneck.is_some());
    if let Some(limit) = limit {
        return Verdict::LowerBound(limit);
    }
    let doubts: Vec<&Warning> = at(Level::Warning).collect();
    if doubts.is_empty() {
        Verdict::Valid
    } else {
        Verdict::Doubtful(doubts)
    }
}

impl Recording {
    /// Number of requests that were due.
    pub fn due(&self) -> u64 {
        let all = self.outcomes.total();
        all.max(self.requests.offered).max(self.requests.completed)
    }

    /// Share of the requests that received a valid reply; `None` if none was due.
    pub fn success(&self) -> Option<f64> {
        let due = self.due();
        (due > 0).then(|| self.outcomes.valid as f64 / due as f64)
    }

    /// Why there is no result, from the counts alone; `None` if there is one. `connect_error` is the reason for failed
    /// connections.
    pub fn failure(&self, connect_error: Option<&str>) -> Option<Warning> {
        let (due, outcomes) = (self.due(), &self.outcomes);
        // A stream cut by the end of the load is valid, although it is not a complete reply.
        if outcomes.valid > 0 {
            return (2 * outcomes.valid < due).then(|| self.few_valid());
        }
        let own_fault = self
            .network
            .as_ref()
            .is_some_and(|network| network.own_shortages > 0);
        let in_flight = self.connections.established > 0 && due == 0;
        let (kind, text) = if self.requests.completed > 0 {
            (WarningKind::NoValidReply, self.none_valid())
        } else if self.requests.sent > 0 || in_flight || (outcomes.connect_error > 0 && !own_fault) {
            (WarningKind::NothingAnswered, self.none_answered(connect_error))
        } else {
            (WarningKind::NothingSent, self.none_answered(connect_error))
        };
        let warning = Warning::new(kind, text);
        Some(match self.advice() {
            Some(advice) => warning.advise(advice),
            None => warning,
        })
    }

    /// The exclusion for a load without a result, with the cause of the failure; `None` if there is a result.
    pub fn exclusion(&self) -> Option<Exclusion> {
        let Verdict::Invalid(warnings) = verdict(self) else {
            return None;
        };
        let of_machine = warnings
            .iter()
            .any(|one| one.kind.facts().scope == Scope::Machine);
        let why: Vec<&str> = warnings.iter().map(|one| one.text.as_str()).collect();
        Some(Exclusion {
            stage: TrialStage::Measure,
            reason: why.join("; "),
            log_tail: Vec::new(),
            fault: if of_machine {
                Fault::Infrastructure
            } else {
                Fault::Service
            },
        })
    }

    fn few_valid(&self) -> Warning {
        let (due, valid) = (self.due(), self.outcomes.valid);
        let text = format!(
            "only {} of {} requests had a valid reply; {}",
            count(valid),
            count(due),
            self.most_common()
        );
        let warning = Warning::new(WarningKind::FewValidReplies, text);
        match self.advice() {
            Some(advice) => warning.advise(advice),
            None => warning,
        }
    }

    fn none_valid(&self) -> String {
        let (due, outcomes) = (self.due(), &self.outcomes);
        match self.status_codes.first_key_value() {
            Some((code, _)) if outcomes.status == due && self.status_codes.len() == 1 => {
                format!("all {} replies have {}", count(due), status(code))
            }
            _ if outcomes.unexpected == due => match self.unexpected_replies.first() {
                Some(wrong) => format!("all {} replies are unexpected: {}", count(due), wrong.what),
                None => format!("all {} replies are unexpected", count(due)),
            },
            _ => format!(
                "none of {} requests had a valid reply; {}",
                count(due),
                self.most_common()
            ),
        }
    }

    fn none_answered(&self, connect_error: Option<&str>) -> String {
        let (due, outcomes) = (self.due(), &self.outcomes);
        let because = connect_error
            .map(|error| format!(" ({error})"))
            .unwrap_or_default();
        match worst(outcomes) {
            Some((Outcome::ConnectError, _)) => {
                format!("no connection for any of {} requests{because}", count(due))
            }
            Some((Outcome::Reset, _)) => format!(
                "none of {} requests was answered: the server closed the connections",
                count(due)
            ),
            Some((Outcome::Dropped, _)) if outcomes.dropped == due => {
                format!("none of {} requests was sent{because}", count(due))
            }
            _ if due == 0 && self.connections.established > 0 => {
                format!("no request was answered within {}", seconds(self.duration_s))
            }
            _ if due == 0 => format!("no request was sent{because}"),
            _ => format!(
                "none of {} requests was answered within {}{}",
                count(due),
                self.timeout_ns
                    .filter(|_| outcomes.timeout > 0)
                    .map_or_else(|| seconds(self.duration_s), |ns| seconds(ns as f64 / 1e9)),
                // Where something was sent, connections were possible.
                if self.requests.sent == 0 {
                    because.as_str()
                } else {
                    ""
                }
            ),
        }
    }

    /// The most common reason for requests without a valid reply.
    fn most_common(&self) -> String {
        let Some((outcome, number)) = worst(&self.outcomes) else {
            return "the others are still in flight".to_owned();
        };
        let number = count(number);
        match outcome {
            Outcome::Status => match self.worst_status() {
                Some((code, number)) => format!("{} have {}", count(number), status(code)),
                None => format!("{number} have an unexpected status"),
            },
            Outcome::Unexpected => match self.unexpected_replies.first() {
                Some(wrong) => format!("{number} replies are unexpected: {}", wrong.what),
                None => format!("{number} replies are unexpected"),
            },
            Outcome::Timeout => format!("{number} timed out"),
            Outcome::ConnectError => format!("{number} failed to connect"),
            Outcome::Reset => format!("the server closed the connections of {number}"),
            Outcome::Dropped => format!("{number} were dropped"),
            Outcome::Valid => String::new(),
        }
    }

    /// The most frequent unexpected status; `None` if it cannot be determined.
    fn worst_status(&self) -> Option<(&str, u64)> {
        let enough = |code: &str| {
            self.unexpected_replies
                .iter()
                .any(|wrong| wrong.got.starts_with(code))
        };
        let codes = self.status_codes.iter();
        let unexpected = codes.filter(|(code, _)| enough(code.trim_start_matches("grpc-")));
        let most = unexpected.max_by_key(|(_, number)| **number)?;
        Some((most.0.as_str(), (*most.1).min(self.outcomes.status)))
    }

    fn advice(&self) -> Option<&'static str> {
        Some(match worst(&self.outcomes) {
            Some((Outcome::Status, _)) => {
                "Check the path. Redirects need --follow; other statuses need --expect-status."
            }
            Some((Outcome::ConnectError, _)) => "Check that the server is running and that this is its port.",
            Some((Outcome::Timeout, _)) | None => {
                "The server accepts connections but sends no complete reply. Try curl -v."
            }
            Some((Outcome::Reset, _)) => "Check the scheme (http or https) and the log of the server.",
            Some((Outcome::Dropped, _)) => "Lower --rate or raise -c.",
            Some((Outcome::Unexpected | Outcome::Valid, _)) => return None,
        })
    }
}

/// The most common outcome other than `valid`.
fn worst(outcomes: &Outcomes) -> Option<(Outcome, u64)> {
    let failed = Outcome::ALL
        .into_iter()
        .filter(|&outcome| outcome != Outcome::Valid);
    let counts = failed.map(|outcome| (outcome, outcomes.of(outcome)));
    // The first one of equal counts.
    counts
        .rev()
        .max_by_key(|&(_, number)| number)
        .filter(|&(_, number)| number > 0)
}

fn status(code: &str) -> String {
    match code.strip_prefix("grpc-") {
        Some(code) => format!("gRPC status {code}"),
        None => format!("status {code}"),
    }
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{seconds:.1} s")
    }
}

/// A count with its noun: `1 user`, `20 users`.
pub fn plural(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(number))
}

/// Formats a count with thousands separators: `41,872`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
