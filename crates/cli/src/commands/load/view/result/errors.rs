//! Unexpected replies: each distinct error once, with its count.

use super::LoadResult;
use crate::text;
use prony_records::{Recording, UnexpectedReply, count, verdict};

/// Maximum number of errors that are shown.
const MOST: usize = 5;

/// One kind of error, and how many replies of the sample have it.
struct Kind<'a> {
    first: &'a UnexpectedReply,
    count: u64,
}

impl LoadResult<'_> {
    pub(super) fn errors(&self, columns: usize) -> Option<String> {
        let kinds = kinds(&self.recording.unexpected_replies);
        let lines: Vec<String> = kinds
            .iter()
            .take(MOST)
            .enumerate()
            .map(|(place, kind)| {
                // The advice applies to all of them and is given once.
                let advice = verdict(self.recording).advice().filter(|_| place == 0);
                let text = describe(self.recording, &kinds, kind);
                text::marked('✗', &text, advice, columns)
            })
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// The distinct errors of a sample. Errors that differ only in their bodies are the same.
fn kinds(sample: &[UnexpectedReply]) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for wrong in sample {
        let same = |kind: &&mut Kind<'_>| {
            let first = kind.first;
            first.operation == wrong.operation && first.what == wrong.what && first.status() == wrong.status()
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.count += 1,
            None => kinds.push(Kind {
                first: wrong,
                count: 1,
            }),
        }
    }
    kinds
}

/// How often an error occurred. A sample gives the exact number only if nothing else went wrong.
fn times(recording: &Recording, kinds: &[Kind<'_>], kind: &Kind<'_>) -> String {
    let operation = &kind.first.operation;
    let is_status = kind.first.status().is_some();
    let mut alike = kinds
        .iter()
        .filter(|other| &other.first.operation == operation && other.first.status().is_some() == is_status);
    let is_alone = alike.nth(1).is_none();
    let outcomes = recording
        .operations
        .iter()
        .find(|one| one.name == *operation)
        .map(|one| one.outcomes);
    let all = outcomes.map(|outcomes| {
        if is_status {
            outcomes.status
        } else {
            outcomes.unexpected
        }
    });
    let by_code = kind
        .first
        .status()
        .filter(|_| recording.operations.len() == 1)
        .and_then(|code| {
            let key = if kind.first.what == "status" {
                code.to_owned()
            } else {
                format!("grpc-{code}")
            };
            recording.status_codes.get(&key).copied()
        });
    match by_code.or(all.filter(|_| is_alone)) {
        Some(1) => "once".to_owned(),
        Some(exact) => format!("{} times", count(exact)),
        None => format!("at least {} times", kind.count),
    }
}

fn describe(recording: &Recording, kinds: &[Kind<'_>], kind: &Kind<'_>) -> String {
    let wrong = kind.first;
    let times = times(recording, kinds, kind);
    let expected = match wrong.expected.split_once(" to ") {
        Some((low, high)) if wrong.what == "status" => format!("{low}–{high}"),
        _ => wrong.expected.clone(),
    };
    let got = one_line(&wrong.got_in_brief());
    format!(
        "{}, {times}: expected {} {}, got {got}",
        one_line(&wrong.operation),
        one_line(&wrong.what),
        one_line(&expected)
    )
}

/// Escapes control characters, which a terminal would interpret.
fn one_line(text: &str) -> String {
    let escape = |letter: char| {
        if letter.is_control() {
            letter.escape_debug().to_string()
        } else {
            letter.to_string()
        }
    };
    text.chars().map(escape).collect()
}
