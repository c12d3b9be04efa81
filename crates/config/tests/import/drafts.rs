//! Drafts of small sources, written as contracts and read again.

use prony_config::contract::Contract;
use prony_config::import::{Draft, DraftError, Operation};
use prony_load::{Body, Protocol, Template};
use serde_json::Value;
use std::path::Path;

const SEED: u64 = 1;

/// A function that drafts a contract from a file.
pub(crate) type ReadFn = fn(&Path) -> Result<Draft, DraftError>;

/// The draft of a file with this content.
pub(crate) fn draft_of(read: ReadFn, text: &str) -> Result<Draft, DraftError> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("source");
    std::fs::write(&file, text).expect("a file");
    read(&file)
}

/// The draft of a JSON value.
pub(crate) fn draft_of_json(read: ReadFn, value: &Value) -> Draft {
    draft_of(read, &value.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

/// The error of a JSON value.
pub(crate) fn error_of_json(read: ReadFn, value: &Value) -> String {
    let error = draft_of(read, &value.to_string()).err();
    error.unwrap_or_else(|| panic!("a draft of {value}")).to_string()
}

/// The operation of a draft with this name.
#[track_caller]
pub(crate) fn operation<'a>(draft: &'a Draft, name: &str) -> &'a Operation {
    let mut operations = draft.operations.iter();
    let found = operations.find(|operation| operation.name == name);
    found.unwrap_or_else(|| panic!("no `{name}`: {draft:#?}"))
}

/// Whether the remarks of an operation contain a text.
pub(crate) fn has_remark(operation: &Operation, text: &str) -> bool {
    operation.remarks.iter().any(|remark| remark.contains(text))
}

/// A request as the contract of a draft sends it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SentRequest {
    /// Method and target.
    pub(crate) line: String,
    /// Names and values, sorted.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl SentRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// What the operation of a draft sends.
#[track_caller]
pub(crate) fn sent(draft: &Draft, name: &str) -> SentRequest {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("mine");
    std::fs::create_dir(&folder).expect("a folder");
    let files = draft.files("mine");
    for (file, content) in &files {
        std::fs::write(folder.join(file), content).expect("a file");
    }
    let contract = &files["contract.toml"];
    let loaded = Contract::load(&folder).unwrap_or_else(|error| panic!("{error}\n{contract}"));
    let call = loaded
        .single(name, Protocol::Http1, &[], SEED)
        .unwrap_or_else(|error| panic!("{error}\n{contract}"));
    let request = call.exchange.request;
    let mut headers: Vec<(String, String)> = request
        .headers
        .iter()
        .map(|header| (header.name.clone(), text(&header.value)))
        .collect();
    headers.sort();
    SentRequest {
        line: format!("{} {}", request.method, text(&request.path)),
        headers,
        body: match &request.body {
            Body::None => String::new(),
            Body::Bytes(template) => text(template),
            other => panic!("{other:?}"),
        },
    }
}

fn text(template: &Template) -> String {
    let mut out = Vec::new();
    template.render(&mut out, |_, _| panic!("a draft has no values that differ"));
    String::from_utf8(out).expect("UTF-8")
}
