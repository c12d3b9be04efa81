//! Writes a draft as the files of a contract, with a comment at each part that names its origin.

mod value;

use crate::format::{FORMAT, FileKind, schema_line, write_toml_1_0};
use crate::import::{Body, Draft, Expect, ExpectedBody, Operation};
use serde_json::json;
use std::collections::BTreeMap;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};
use value::EscapedTexts;

/// The file with the schemas of a draft.
const SCHEMAS: &str = "schemas.json";
/// The folders around `contract.toml` in a project: `contracts/NAME/`.
const FOLDERS: usize = 2;

impl Draft {
    /// The files of the contract `name`, by their paths in its folder.
    pub fn files(&self, name: &str) -> BTreeMap<String, String> {
        let mut files = BTreeMap::from([("contract.toml".to_owned(), self.contract(name))]);
        if !self.schemas.is_empty() {
            let schemas = json!({ "$defs": self.schemas });
            let text = serde_json::to_string_pretty(&schemas).expect("invariant: a value is JSON");
            files.insert(SCHEMAS.to_owned(), text + "\n");
        }
        files
    }

    fn contract(&self, name: &str) -> String {
        let mut document = DocumentMut::new();
        document.insert("format", Item::Value(i64::from(FORMAT).into()));
        document.insert("title", Item::Value(self.title.as_str().into()));
        put_text(&mut document, "summary", &self.summary);
        let head = [
            format!(
                "A draft, made from {}. Correct what is wrong, and delete this line.",
                self.source
            ),
            format!("Check a running server with `prony check --url URL {name}`."),
        ];
        comment_key(&mut document, "format", &schema_line(FileKind::Contract, FOLDERS));
        comment_key(
            &mut document,
            "title",
            &comments(
                head.into_iter()
                    .chain(self.remarks.iter().cloned())
                    .chain(self.omitted_lines()),
            ),
        );
        if !self.skip_common_cases.is_empty() {
            document.insert("skip_common_cases", Item::Value(self.skipped().into()));
            let why =
                "Common cases that are not required, with the reasons. Delete a line to require its case.";
            comment_key(&mut document, "skip_common_cases", &comments([why]));
        }
        let operations = self
            .operations
            .iter()
            .map(|one| (one.name.as_str(), operation(one)));
        put_sections(&mut document, "operation", operations.collect());
        put_sections(&mut document, "workload", self.workloads());
        write_toml_1_0(&mut document);
        document.to_string()
    }

    /// The common cases that are left out, one on each line with its reason.
    fn skipped(&self) -> Array {
        let mut cases = Array::new();
        let mut before = String::from("\n    ");
        for (case, reason) in &self.skip_common_cases {
            cases.push_formatted(Value::from(case.as_str()).decorated(before, ""));
            before = format!(" # {}\n    ", one_line(reason));
        }
        cases.set_trailing(before.trim_end_matches(' '));
        cases.set_trailing_comma(true);
        cases
    }

    /// A mix of all read-only operations and, if any operation writes, a sequence of all.
    fn workloads(&self) -> Vec<(&str, Table)> {
        let reads: Vec<&Operation> = self.operations.iter().filter(|one| one.only_reads()).collect();
        let mut workloads = Vec::new();
        if !reads.is_empty() {
            let mut read = workload("All read-only requests.", ("mix", &reads), 64);
            let about = "The first workload is the default: a mix, weighted by `weight` if given.";
            comment_section(&mut read, &comments([about]));
            workloads.push(("read", read));
        }
        if reads.len() < self.operations.len() {
            let all: Vec<&Operation> = self.operations.iter().collect();
            let summary = "All requests, one after the other.";
            workloads.push(("all", workload(summary, ("sequence", &all), 16)));
        }
        workloads
    }
}

fn workload(summary: &str, (key, steps): (&str, &[&Operation]), connections: i64) -> Table {
    let step = |one: &&Operation| InlineTable::from_iter([("operation", one.name.as_str())]);
    let mut load = InlineTable::new();
    load.insert("kind", "closed".into());
    load.insert("connections", connections.into());
    let mut table = Table::new();
    put_text(&mut table, "summary", summary);
    table.insert(key, Item::Value(steps.iter().map(step).collect::<Array>().into()));
    table.insert("load", Item::Value(load.into()));
    table
}

fn operation(operation: &Operation) -> Table {
    let mut escaped = EscapedTexts::new(&operation.with);
    let mut headers = InlineTable::new();
    for (name, texts) in headers_of(operation) {
        let mut texts: Vec<Value> = texts
            .into_iter()
            .map(|text| escaped.own_places(text).into())
            .collect();
        let value = match texts.len() {
            1 => texts.remove(0),
            _ => texts.into_iter().collect::<Array>().into(),
        };
        headers.insert(name, value);
    }
    let body = operation.body.as_ref().map(|body| match body {
        Body::Json(value) => ("json", escaped.json(value)),
        Body::Text(text) => ("text", escaped.text(text).into()),
        Body::Template(text) => ("text", escaped.own_places(text).into()),
    });
    let expect = expect(&operation.expect, &mut escaped);
    let mut table = Table::new();
    put_text(&mut table, "summary", &operation.summary);
    put_text(
        &mut table,
        "http",
        &format!("{} {}", operation.method, operation.path),
    );
    put(&mut table, "with", escaped.with.into_iter().collect());
    put(&mut table, "headers", headers);
    if let Some((key, body)) = body {
        table.insert(key, Item::Value(body));
    }
    put(&mut table, "expect", expect);
    let lines = std::iter::once(&operation.from).chain(&operation.remarks);
    comment_section(&mut table, &comments(lines));
    table
}

/// Headers by name; a repeated header has several texts.
fn headers_of(operation: &Operation) -> Vec<(&str, Vec<&str>)> {
    let mut by_name: Vec<(&str, Vec<&str>)> = Vec::new();
    let is_json = matches!(operation.body, Some(Body::Json(_)));
    for (name, value) in &operation.headers {
        // `json` implies it.
        if is_json && name.eq_ignore_ascii_case("content-type") && value == "application/json" {
            continue;
        }
        match by_name
            .iter_mut()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            Some((_, texts)) => texts.push(value),
            None => by_name.push((name, vec![value])),
        }
    }
    by_name
}

fn expect(expect: &Expect, escaped: &mut EscapedTexts) -> InlineTable {
    let mut members = InlineTable::new();
    let codes = expect.status.iter().map(|code| i64::from(*code));
    match expect.status.as_slice() {
        [] => {}
        [one] => drop(members.insert("status", i64::from(*one).into())),
        _ => drop(members.insert("status", codes.collect::<Array>().into())),
    }
    let is_implied = matches!(expect.body, Some(ExpectedBody::Json(_)))
        && expect.media_type.as_deref() == Some("application/json");
    if let Some(kind) = expect.media_type.as_deref().filter(|_| !is_implied) {
        members.insert("content_type", kind.into());
    }
    let body = expect.body.as_ref().map(|body| match body {
        ExpectedBody::Json(value) => ("json", escaped.json(value)),
        ExpectedBody::Schema(name) => {
            let pointer = name.replace('~', "~0").replace('/', "~1");
            ("json_schema", format!("{SCHEMAS}#/$defs/{pointer}").into())
        }
        ExpectedBody::Text(text) => ("text", escaped.text(text).into()),
        ExpectedBody::Matches(pattern) => ("matches", pattern.into()),
    });
    if let Some((key, body)) = body {
        members.insert(key, body);
    }
    members
}

/// Adds a text, unless it is empty.
fn put_text(table: &mut Table, key: &str, text: &str) {
    if !text.is_empty() {
        table.insert(key, Item::Value(text.into()));
    }
}

/// Adds a table: a single key with a dot, or a table on a line. The layout turns one that is too long into a section.
fn put(table: &mut Table, key: &str, members: InlineTable) {
    match members.len() {
        0 => {}
        1 => {
            let mut dotted = members.into_table();
            dotted.set_dotted(true);
            table.insert(key, Item::Table(dotted));
        }
        _ => drop(table.insert(key, Item::Value(members.into()))),
    }
}

/// Adds the sections `[key.NAME]` at the end of the document.
fn put_sections(document: &mut DocumentMut, key: &str, sections: Vec<(&str, Table)>) {
    let first = document
        .iter()
        .filter_map(|(_, item)| Some(item.as_table()?.len()))
        .sum::<usize>();
    let mut all = Table::new();
    all.set_implicit(true);
    for (position, (name, mut table)) in (first as isize..).zip(sections) {
        table.set_position(Some(position));
        all.insert(name, Item::Table(table));
    }
    document.insert(key, Item::Table(all));
}

fn comment_key(table: &mut Table, key: &str, comments: &str) {
    if let Some(mut key) = table.key_mut(key) {
        key.leaf_decor_mut().set_prefix(comments);
    }
}

fn comment_section(table: &mut Table, comments: &str) {
    table.decor_mut().set_prefix(format!("\n{comments}"));
}

fn comments<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> String {
    lines.into_iter().fold(String::new(), |text, line| {
        text + "# " + &one_line(line.as_ref()) + "\n"
    })
}

/// Removes line breaks and characters that TOML forbids in a comment.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}
