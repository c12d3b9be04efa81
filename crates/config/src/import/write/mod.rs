//! Writes a draft as the files of a contract, with a comment at each part that names its origin.

mod value;

use crate::import::{Body, Draft, Expect, ExpectedBody, Operation};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use value::{EscapedTexts, key, quoted, shown};

/// The file with the schemas of a draft.
const SCHEMAS: &str = "schemas.json";
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
        let mut out = String::new();
        let head = [
            format!(
                "A draft, made from {}. Correct what is wrong, and delete this line.",
                self.source
            ),
            format!("Check a running server with `prony check --url URL {name}`."),
        ];
        for line in head.iter().chain(&self.remarks) {
            comment(&mut out, line);
        }
        let _ = writeln!(out, "name = {}", quoted(name));
        let _ = writeln!(out, "title = {}", quoted(&self.title));
        let _ = writeln!(out, "summary = {}", quoted(&self.summary));
        if !self.without.is_empty() {
            comment(
                &mut out,
                "Common cases that the recorded server does not pass. Delete a line to require it.",
            );
            out.push_str("without = [\n");
            for (case, reason) in &self.without {
                let _ = writeln!(out, "    {}, # {}", quoted(case), one_line(reason));
            }
            out.push_str("]\n");
        }
        for operation in &self.operations {
            write_operation(&mut out, operation);
        }
        self.workloads(&mut out);
        out
    }

    /// A mix of all read-only operations and, if any operation writes, a sequence of all.
    fn workloads(&self, out: &mut String) {
        let reads: Vec<&Operation> = self.operations.iter().filter(|one| one.only_reads()).collect();
        let step = |one: &&Operation| format!("    {{ operation = {} }},\n", quoted(&one.name));
        if !reads.is_empty() {
            out.push('\n');
            comment(
                out,
                "The first workload is the default: a mix, weighted by `weight` if given.",
            );
            let steps: String = reads.iter().map(step).collect();
            let _ = writeln!(
                out,
                "[workload.read]\nsummary = \"All read-only requests.\"\nmix = [\n{steps}]"
            );
            out.push_str("load = { kind = \"closed\", connections = 64 }\n");
        }
        if reads.len() < self.operations.len() {
            let steps: String = self
                .operations
                .iter()
                .collect::<Vec<_>>()
                .iter()
                .map(step)
                .collect();
            let _ = writeln!(
                out,
                "\n[workload.all]\nsummary = \"All requests, one after the other.\"\nsequence = [\n{steps}]"
            );
            out.push_str("load = { kind = \"closed\", connections = 16 }\n");
        }
    }
}

/// Removes line breaks and characters that TOML forbids in a comment.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

fn comment(out: &mut String, text: &str) {
    let _ = writeln!(out, "# {}", one_line(text));
}

fn write_operation(out: &mut String, operation: &Operation) {
    let mut escaped = EscapedTexts::new(&operation.with);
    let mut lines = Vec::new();
    let http = format!("{} {}", operation.method, operation.path);
    lines.push(format!("http = {}", quoted(&http)));
    let headers = headers(operation, &mut escaped);
    if !headers.is_empty() {
        lines.push(format!("headers = {{ {} }}", headers.join(", ")));
    }
    match &operation.body {
        Some(Body::Json(value)) => lines.push(format!("json = {}", shown(&escaped.json(value), 0))),
        Some(Body::Text(text)) => lines.push(format!("text = {}", quoted(&escaped.text(text)))),
        None => {}
    }
    let expect = expect(&operation.expect, &mut escaped);
    if !escaped.with.is_empty() {
        let places: Vec<String> = escaped
            .with
            .iter()
            .map(|(name, value)| format!("{} = {}", key(name), quoted(value)))
            .collect();
        lines.insert(1, format!("with = {{ {} }}", places.join(", ")));
    }
    out.push('\n');
    comment(out, &operation.from);
    for remark in &operation.remarks {
        comment(out, remark);
    }
    let _ = writeln!(out, "[operation.{}]", key(&operation.name));
    let _ = writeln!(out, "summary = {}", quoted(&operation.summary));
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "expect = {expect}");
}

/// Headers by name; a repeated header has a list.
fn headers(operation: &Operation, escaped: &mut EscapedTexts) -> Vec<String> {
    let mut by_name: Vec<(&str, Vec<String>)> = Vec::new();
    let is_json = matches!(operation.body, Some(Body::Json(_)));
    for (name, value) in &operation.headers {
        // `json` implies it.
        if is_json && name.eq_ignore_ascii_case("content-type") && value == "application/json" {
            continue;
        }
        let text = quoted(&escaped.own_places(value));
        match by_name
            .iter_mut()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            Some((_, texts)) => texts.push(text),
            None => by_name.push((name, vec![text])),
        }
    }
    by_name
        .into_iter()
        .map(|(name, texts)| match texts.as_slice() {
            [one] => format!("{} = {one}", key(name)),
            several => format!("{} = [{}]", key(name), several.join(", ")),
        })
        .collect()
}

fn expect(expect: &Expect, escaped: &mut EscapedTexts) -> String {
    let mut members = Vec::new();
    match expect.status.as_slice() {
        [] => {}
        [one] => members.push(format!("status = {one}")),
        several => {
            let codes: Vec<String> = several.iter().map(u16::to_string).collect();
            members.push(format!("status = [{}]", codes.join(", ")));
        }
    }
    if let Some(kind) = &expect.media_type {
        members.push(format!("type = {}", quoted(kind)));
    }
    match &expect.body {
        None => {}
        Some(ExpectedBody::Json(value)) => members.push(format!("json = {}", shown(&escaped.json(value), 0))),
        Some(ExpectedBody::Schema(name)) => {
            let pointer = name.replace('~', "~0").replace('/', "~1");
            members.push(format!(
                "json_schema = {}",
                quoted(&format!("{SCHEMAS}#/$defs/{pointer}"))
            ));
        }
        Some(ExpectedBody::Text(text)) => members.push(format!("text = {}", quoted(&escaped.text(text)))),
        Some(ExpectedBody::Matches(pattern)) => members.push(format!("matches = {}", quoted(pattern))),
    }
    format!("{{ {} }}", members.join(", "))
}
