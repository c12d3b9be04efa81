//! HAR files, as browsers and proxies save them.

mod body;
mod entry;
mod members;
mod time;

use crate::import::document::{Document, step};
use crate::import::draft::is_json;
use crate::import::message::{OperationMaker, expectation, guess, other_source};
use crate::import::size::DraftRoom;
use crate::import::{Draft, DraftError, Omission};
use entry::{Entry, RequestKey};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// A draft of the exchanges with one server: the one with the most JSON replies.
pub fn from_har(path: &Path) -> Result<Draft, DraftError> {
    let document = Document::read(path)?;
    let Some(entries) = document.value.pointer("/log/entries").and_then(Value::as_array) else {
        let message = other_source(&document.value).unwrap_or(
            "not a HAR file: it has no list `log.entries`; save one in the browser's network view",
        );
        return Err(document.invalid("", message));
    };
    if entries.is_empty() {
        let message = "it has no requests: save it again while the network view shows them";
        return Err(document.invalid("/log/entries", message));
    }
    let mut omitted = Vec::new();
    let mut read = Vec::new();
    for (place, value) in entries.iter().enumerate() {
        let pointer = step("/log/entries", &place.to_string());
        match entry::read(value, &pointer) {
            Ok(entry) => read.push((time::of(value), entry)),
            Err(reason) => omitted.push(Omission::new(document.place(&pointer), reason)),
        }
    }
    // The format allows any order.
    if read.iter().all(|(time, _)| time.is_some()) {
        read.sort_by_key(|(time, _)| *time);
    }
    let read: Vec<Entry> = read.into_iter().map(|(_, entry)| entry).collect();
    let Some(origin) = chosen(&read) else {
        return Err(DraftError::nothing(&omitted));
    };
    omitted.extend(of_other_servers(&document, &read, &origin));
    let mut builder = DraftBuilder {
        document: &document,
        maker: OperationMaker::default(),
        room: DraftRoom::new(),
        seen: HashMap::new(),
        draft: Draft {
            title: format!("Requests to {origin}"),
            source: format!("{} (HAR)", document.file),
            has_real_requests: true,
            omitted,
            ..Draft::default()
        },
    };
    for entry in read.iter().filter(|entry| entry.origin == origin) {
        builder.add(entry);
    }
    let mut draft = builder.finish();
    if draft.operations.is_empty() {
        return Err(DraftError::nothing(&draft.omitted));
    }
    draft.summary = format!("{} recorded request(s) to {origin}.", draft.operations.len());
    Ok(draft)
}

/// The server with the most JSON replies; among equals, the one with the most requests, and then the first one.
fn chosen(entries: &[Entry]) -> Option<String> {
    let mut counts: BTreeMap<&str, (usize, usize, Reverse<usize>)> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let count = counts.entry(&entry.origin).or_insert((0, 0, Reverse(place)));
        count.0 += usize::from(entry.media_type().is_some_and(is_json));
        count.1 += 1;
    }
    let best = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some(best.0.to_owned())
}

/// The requests to each server but the chosen one.
fn of_other_servers(document: &Document, entries: &[Entry], chosen: &str) -> Vec<Omission> {
    let mut others: BTreeMap<&str, Omission> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.origin != chosen) {
        let other = others.entry(&entry.origin).or_insert_with(|| Omission {
            place: document.place(&entry.pointer),
            reason: String::new(),
            count: 0,
        });
        other.count += 1;
    }
    for (origin, omission) in &mut others {
        omission.reason = format!(
            "{} request(s) to {origin}: a contract has one server, here {chosen}",
            omission.count
        );
    }
    others.into_values().collect()
}

/// How often a request is in the file after its first time.
struct Repeats {
    /// Its position among the operations.
    operation: usize,
    status: Option<u16>,
    count: usize,
    other_statuses: BTreeSet<u16>,
}

struct DraftBuilder<'a> {
    document: &'a Document,
    maker: OperationMaker,
    room: DraftRoom,
    seen: HashMap<RequestKey<'a>, Repeats>,
    draft: Draft,
}

impl<'a> DraftBuilder<'a> {
    fn add(&mut self, entry: &'a Entry) {
        let status = entry.reply.as_ref().ok().map(|reply| reply.status);
        if let Some(repeats) = self.seen.get_mut(&entry.key()) {
            repeats.count += 1;
            repeats
                .other_statuses
                .extend(status.filter(|other| repeats.status != Some(*other)));
            return;
        }
        let place = || self.document.place(&entry.pointer);
        if !self.room.is_open(place) {
            return;
        }
        let from = format!("{}, {} {}", place(), entry.sent.method, entry.sent.url);
        let mut made = self.maker.operation(from, (&entry.sent, &entry.target));
        for gap in &entry.gaps {
            made.add_gap(gap);
        }
        match &entry.reply {
            Ok(reply) => {
                made.remarks.extend(entry.remark.clone());
                made.expect = expectation(reply, &mut made.remarks);
            }
            Err(why) => guess(&mut made, why),
        }
        let repeats = Repeats {
            operation: self.draft.operations.len(),
            status,
            count: 0,
            other_statuses: BTreeSet::new(),
        };
        self.room.add(made, &mut self.draft.operations, place);
        if self.draft.operations.len() > repeats.operation {
            self.seen.insert(entry.key(), repeats);
        }
    }

    fn finish(mut self) -> Draft {
        for repeats in self.seen.values().filter(|repeats| repeats.count > 0) {
            let operation = &mut self.draft.operations[repeats.operation];
            let mut remark = format!(
                "The same request is {} more time(s) in the recording",
                repeats.count
            );
            if !repeats.other_statuses.is_empty() {
                let statuses: Vec<String> = repeats.other_statuses.iter().map(u16::to_string).collect();
                remark = format!("{remark}, also with status {}", statuses.join(", "));
            }
            operation.remarks.push(remark + ".");
        }
        self.draft.omitted.extend(self.room.omission());
        self.draft.remarks.extend(self.maker.remark());
        self.draft
    }
}
