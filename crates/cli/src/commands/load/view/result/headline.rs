//! The headline: the verdict, and the most important figures.

use super::{LoadResult, LoadVerdict, kind, llm};
use crate::text::{duration, quantile};
use prony_load::{Load, Profile};
use prony_records::{Latency, Level, Messages, Recording, ResponseTimes, Responses, Verdict, verdict};
use prony_runner::{number, percent_down};

/// Percentiles that a headline may show, highest first, each with the smallest number of requests of which ten lie beyond it.
const PERCENTILES: [(&str, f64, u64); 5] = [
    ("p99", 0.99, 1_000),
    ("p95", 0.95, 200),
    ("p90", 0.9, 100),
    ("p75", 0.75, 40),
    ("p50", 0.5, 20),
];

impl LoadResult<'_> {
    pub(super) fn headline(&self) -> String {
        let recording = self.recording;
        let success = recording.success().map_or_else(|| "0 %".to_owned(), percent_down);
        let success = format!("{success} success");
        let body = match self.word {
            LoadVerdict::Interrupted => {
                let seconds = duration((recording.duration_s * 1e9) as u64);
                if self.has_result() {
                    format!("after {seconds}; {success}, {}", self.figures())
                } else {
                    format!("after {seconds}; no result: {}", self.reason())
                }
            }
            LoadVerdict::Failed => return format!("FAILED: {success}: {}", self.reason()),
            LoadVerdict::ObjectiveMissed => {
                let missed = self.objective.iter().filter_map(|one| one.missed.as_deref());
                let decided = self
                    .decided_s
                    .map(|seconds| format!("decided and ended after {}", duration((seconds * 1e9) as u64)));
                let missed: Vec<String> = missed.map(str::to_owned).chain(decided).collect();
                format!("{}; {success}, {}", missed.join("; "), self.rate())
            }
            LoadVerdict::Errors if verdict(self.recording).limit().is_some() => {
                format!("{success}, {}", self.bound())
            }
            LoadVerdict::LowerBound => self.bound(),
            LoadVerdict::Errors | LoadVerdict::Ok => format!("{success}, {}", self.figures()),
        };
        format!("{}: {body}{}", self.word.shown(), self.warning_count())
    }

    /// Why there is no result.
    fn reason(&self) -> String {
        match verdict(self.recording) {
            Verdict::Invalid(warnings) => warnings[0].text.clone(),
            _ => String::new(),
        }
    }

    fn bound(&self) -> String {
        format!(
            "at least {}, {}",
            self.rate(),
            verdict(self.recording).limit().unwrap_or_default()
        )
    }

    fn warning_count(&self) -> String {
        let warnings = &self.recording.warnings;
        let counted = warnings
            .iter()
            .filter(|one| one.level() == Level::Warning && one.counts());
        match counted.count() {
            0 => String::new(),
            1 => "; 1 warning".to_owned(),
            many => format!("; {many} warnings"),
        }
    }

    /// The rate that was reached.
    fn rate(&self) -> String {
        let recording = self.recording;
        match &recording.messages {
            Some(Messages {
                llm: Some(llm),
                per_s,
                ..
            }) => llm::rate(llm, *per_s),
            Some(messages) if messages.streams.is_some() => {
                format!("{} {}/s", number(messages.per_s), kind::message(recording))
            }
            _ => match kind::load(recording) {
                Some(Load::Users { arrival, .. }) => match arrival.profile {
                    Profile::Constant { rate } => format!("{} users/s", kind::offered(rate.as_per_second())),
                    _ => format!("{} replies/s", number(recording.goodput_per_s)),
                },
                _ => format!("{} {}/s", number(recording.goodput_per_s), kind::reply(recording)),
            },
        }
    }

    fn figures(&self) -> String {
        let recording = self.recording;
        let mut parts = vec![self.rate()];
        match &recording.messages {
            Some(Messages { llm: Some(llm), .. }) => {
                let due = recording.due();
                parts.extend(named_percentile("TTFT", llm.ttft_ns, due));
                parts.extend(named_percentile("TPOT", llm.tpot_ns, due));
            }
            Some(messages) if messages.streams.is_some() => {
                let message = kind::message(recording).trim_end_matches('s');
                parts.extend(named_percentile(
                    &format!("first {message}"),
                    messages.first_ns,
                    recording.due(),
                ));
                parts.extend(named_percentile("gap", messages.gap_ns, messages.received));
            }
            _ => {
                parts.extend(named_percentile(
                    "visit",
                    recording.users.and_then(|users| users.visit_ns),
                    recording.users.map_or(0, |users| users.served),
                ));
                let percentile = percentile(recording);
                if let (Some(stage), Some(percentile)) = (recording.stages.last(), &percentile) {
                    return format!("{percentile} at {}/s", kind::offered(stage.offered_per_s));
                }
                parts.extend(percentile);
            }
        }
        parts.join(", ")
    }
}

/// The highest percentile of all requests with ten of them beyond it.
fn percentile(recording: &Recording) -> Option<String> {
    if let Some(stage) = recording.stages.last() {
        let name = if stage.valid + stage.errors >= 1_000 {
            "p99"
        } else {
            "p50"
        };
        let found = if name == "p99" { stage.p99 } else { stage.p50 };
        return Some(format!("{name} {}", quantile(found?)));
    }
    let responses = Responses::of(recording).ok()?;
    let (name, share, _) = percentile_of(responses.len())?;
    Some(format!("{name} {}", quantile(responses.quantile(share)?)))
}

fn percentile_of(count: u64) -> Option<(&'static str, f64, u64)> {
    PERCENTILES.into_iter().find(|&(_, _, fewest)| count >= fewest)
}

/// A percentile of other times, with ten of them beyond it.
fn named_percentile(what: &str, times: Option<Latency>, count: u64) -> Option<String> {
    let times = ResponseTimes::from(times?);
    let (name, ..) = percentile_of(count)?;
    let found = match name {
        "p99" => times.p99,
        "p95" => times.p95,
        "p90" => times.p90,
        "p75" => times.p75,
        _ => times.p50,
    };
    Some(format!("{what} {name} {}", quantile(found)))
}
