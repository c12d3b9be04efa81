//! Parses the number of replies or messages from the output of a generator.

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The generator of an output.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Output {
    Wrk,
    H2load,
    Ghz,
    /// JSON with `replies`.
    Replies,
    Prony,
}

/// The counted unit.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Unit {
    #[default]
    Replies,
    Messages,
}

#[derive(Debug, PartialEq)]
pub(super) struct ToolCounts {
    pub(super) count: f64,
    /// p50 and p99 of the response time.
    pub(super) times_us: Option<[f64; 2]>,
}

impl Output {
    /// Fails if the generator reported errors: its results would be for another task.
    pub(super) fn read(self, text: &str, unit: Unit, messages_in_reply: f64) -> Result<ToolCounts> {
        let mut times_us = None;
        let count = match self {
            Self::Wrk => {
                ensure!(
                    !text.contains("Socket errors") && !text.contains("Non-2xx"),
                    "it reported errors"
                );
                before(text, " requests in")?
            }
            Self::H2load => {
                ensure!(before(text, " failed,")? == 0.0, "it reported errors");
                messages_in_reply * before(text, " succeeded,")?
            }
            // Calls in flight at the end are aborted and reported as errors: they are not replies.
            Self::Ghz => messages_in_reply * ghz(text)?,
            Self::Replies => number(&json(text)?, "/replies")?,
            Self::Prony => {
                let recording = recording(text)?;
                let of = |pointer| number(&recording, pointer);
                if unit == Unit::Messages {
                    ensure!(of("/messages/streams/ended_early")? == 0.0, "streams ended early");
                    of("/messages/received")?
                } else {
                    times_us = Some([
                        of("/response_time_ns/p50")? / 1e3,
                        of("/response_time_ns/p99")? / 1e3,
                    ]);
                    of("/requests/valid")?
                }
            }
        };
        ensure!(count > 0.0, "it got no reply in this time");
        Ok(ToolCounts { count, times_us })
    }
}

/// A report has an entry for each call. The memory of a parsed tree would be attributed to later generators, too, since the peak of a
/// process includes the time before its `exec`.
fn ghz(text: &str) -> Result<f64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Report {
        status_code_distribution: BTreeMap<String, f64>,
    }
    let report: Report = serde_json::from_str(text).context("its output is not a report of ghz")?;
    report
        .status_code_distribution
        .get("OK")
        .copied()
        .context("no call ended well")
}

/// The recording of prony, in which every reply must be valid.
pub(super) fn recording(text: &str) -> Result<Value> {
    let recording = json(text)?;
    if recording["outcomes"]["valid"] != recording["requests"]["offered"] {
        bail!("prony got invalid replies: {}", recording["outcomes"]);
    }
    Ok(recording)
}

fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text).context("its output is not JSON")
}

pub(super) fn number(value: &Value, pointer: &str) -> Result<f64> {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.with_context(|| format!("its output has no number {pointer}"))
}

/// The number before some words.
fn before(text: &str, words: &str) -> Result<f64> {
    let number = text
        .split(words)
        .next()
        .and_then(|head| head.split_whitespace().next_back());
    let number = number.and_then(|number| number.parse().ok());
    number.with_context(|| format!("its output has no number of{words}"))
}

#[cfg(test)]
mod tests {
    use super::{Output, Unit};

    fn count(output: Output, text: &str) -> Option<f64> {
        output
            .read(text, Unit::Replies, 2.0)
            .ok()
            .map(|counted| counted.count)
    }

    #[test]
    fn tools_name_their_replies() {
        let wrk =
            "    Req/Sec   124.51k     4.34k  131.20k    76.19%\n  260012 requests in 2.10s, 31.98MB read\n";
        assert_eq!(count(Output::Wrk, wrk), Some(260_012.0));
        let h2load = "requests: 9 total, 9 started, 9 done, 8 succeeded, 0 failed, 0 errored, 0 timeout\n";
        assert_eq!(count(Output::H2load, h2load), Some(16.0));
        let ghz = r#"{"count": 30, "statusCodeDistribution": {"OK": 29, "Canceled": 1}}"#;
        assert_eq!(count(Output::Ghz, ghz), Some(58.0));
        assert_eq!(count(Output::Replies, r#"{"replies": 7}"#), Some(7.0));
        for (output, text) in [
            (Output::Wrk, "unable to connect".to_owned()),
            (
                Output::Wrk,
                format!("{wrk}  Socket errors: connect 0, read 12, write 0, timeout 0\n"),
            ),
            (Output::Wrk, format!("{wrk}  Non-2xx or 3xx responses: 12\n")),
            (Output::H2load, h2load.replace("0 failed", "1 failed")),
            (Output::Ghz, ghz.replace("OK", "Unavailable")),
            (Output::Replies, r#"{"replies": 0}"#.to_owned()),
        ] {
            assert_eq!(count(output, &text), None, "{text}");
        }
    }

    #[test]
    fn prony_counts_valid_replies_or_messages() {
        let text = r#"{"requests": {"offered": 10, "valid": 9}, "outcomes": {"valid": 10},
            "messages": {"received": 50, "streams": {"ended_early": 0}}, "response_time_ns": {"p50": 1500, "p99": 20000}}"#;
        let counted = Output::Prony.read(text, Unit::Replies, 1.0).expect("a recording");
        assert_eq!((counted.count, counted.times_us), (9.0, Some([1.5, 20.0])));
        assert_eq!(
            count(Output::Prony, &text.replace("{\"valid\": 10}", "{\"valid\": 9}")),
            None
        );
        let messages = |text: &str| {
            Output::Prony
                .read(text, Unit::Messages, 1.0)
                .ok()
                .map(|counted| counted.count)
        };
        assert_eq!(messages(text), Some(50.0));
        assert_eq!(messages(&text.replace("early\": 0", "early\": 1")), None);
    }
}
