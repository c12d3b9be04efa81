//! What a service must hold, judged by a recording.

use crate::shown::duration;
use prony_load::{Condition, ObjectiveError};
use prony_measurement::Recording;

/// Conditions that must all hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Objective(prony_load::Objective);

impl std::str::FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        text.parse().map(Self)
    }
}

impl From<prony_load::Objective> for Objective {
    fn from(objective: prony_load::Objective) -> Self {
        Self(objective)
    }
}

impl Objective {
    /// The conditions that a recording does not meet, in words.
    pub(crate) fn missed_by(&self, recording: &Recording) -> Vec<String> {
        self.0
            .conditions()
            .iter()
            .filter_map(|&condition| missed(condition, recording))
            .collect()
    }
}

fn missed(condition: Condition, recording: &Recording) -> Option<String> {
    let times = recording.response_time_ns;
    let time = |name: String, found: Option<u64>, below_ns: u64| match found {
        Some(ns) if ns < below_ns => None,
        Some(ns) => Some(format!(
            "{name} is {}, not below {}",
            duration(ns),
            duration(below_ns)
        )),
        None => Some(format!("{name} is not known: no reply came")),
    };
    match condition {
        Condition::Quantile { quantile, below_ns } => {
            let found = recording
                .response_times()
                .ok()
                .and_then(|histogram| histogram.quantile(quantile));
            time(format!("p{}", (quantile * 1e6).round() / 1e4), found, below_ns)
        }
        Condition::Mean { below_ns } => {
            time("mean".to_owned(), times.map(|times| times.mean as u64), below_ns)
        }
        Condition::Max { below_ns } => time("max".to_owned(), times.map(|times| times.max), below_ns),
        Condition::Errors { below } => {
            let (errors, all) = (recording.outcomes.errors(), recording.requests.offered);
            let share = if all > 0 { errors as f64 / all as f64 } else { 1.0 };
            let fine = share < below || (errors == 0 && all > 0);
            (!fine).then(|| {
                format!(
                    "{:.4} % of the requests had no valid reply, not below {} %",
                    share * 100.0,
                    below * 100.0
                )
            })
        }
        Condition::Goodput { above } => {
            let found = recording.goodput_per_s;
            (found <= above).then(|| format!("goodput is {found:.1}/s, not above {above}/s"))
        }
    }
}
