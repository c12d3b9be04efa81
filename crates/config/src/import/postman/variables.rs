//! Variables of a collection, `{{name}}`: those with a value are filled in, and the others become placeholders.

use crate::import::size::Room;
use crate::import::{Body, Operation};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The deepest nesting of variables in variables.
const DEEPEST: usize = 20;
/// How much the variables of a collection may take wherever they are filled in, bytes. Each may contain others several times, so that
/// a few could take any amount.
const FILLED: usize = 16 << 20;
/// The most variables without a value in a request.
const MOST_OPEN: usize = 200;
/// The longest name of a variable without a value.
const LONGEST_NAME: usize = 100;

/// The names and values of a list of variables. A value that is missing is none.
pub(super) fn values(list: Option<&Value>) -> BTreeMap<String, String> {
    let list = list.and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter(|variable| !is_disabled(variable))
        .filter_map(|variable| {
            let name = variable.get("key").or_else(|| variable.get("id"))?.as_str()?;
            Some((name.to_owned(), plain(variable.get("value")?)?))
        })
        .collect()
}

/// Whether a member of a list is switched off.
pub(super) fn is_disabled(member: &Value) -> bool {
    member.get("disabled") == Some(&Value::Bool(true))
}

/// A value as text; nothing for null.
pub(super) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The variables of the collection and of the folders around a request, the innermost last.
pub(super) struct Scopes {
    scopes: Vec<BTreeMap<String, String>>,
    /// What is left of [`FILLED`].
    room: RefCell<Room>,
}

impl Scopes {
    pub(super) fn new(collection: &Value) -> Self {
        Self {
            scopes: vec![values(collection.get("variable"))],
            room: RefCell::new(Room::of(FILLED)),
        }
    }

    pub(super) fn enter(&mut self, folder: &Value) {
        self.scopes.push(values(folder.get("variable")));
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    fn value(&self, name: &str) -> Option<&str> {
        let mut scopes = self.scopes.iter().rev();
        let exact = scopes.find_map(|scope| scope.get(name).or_else(|| scope.get(name.trim())));
        exact.map(String::as_str)
    }
}

/// A variable without a value. Until the request is complete, a sign takes its place, which is valid in each part of a request.
struct OpenVariable {
    sign: String,
    /// The variable as the collection writes it.
    label: String,
    name: String,
    /// What the draft sends.
    value: String,
    remark: String,
}

/// Fills the texts of one request.
pub(super) struct RequestVariables<'a> {
    scopes: &'a Scopes,
    open: RefCell<Vec<OpenVariable>>,
}

impl<'a> RequestVariables<'a> {
    pub(super) fn new(scopes: &'a Scopes) -> Self {
        Self {
            scopes,
            open: RefCell::default(),
        }
    }

    /// A text with its variables filled, which may contain others.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut out = String::new();
        self.fill_into(text, 0, &mut out);
        out
    }

    fn fill_into(&self, text: &str, depth: usize, out: &mut String) {
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            out.push_str(&rest[..at]);
            let after = &rest[at + 2..];
            let end = after
                .find(['{', '}'])
                .filter(|end| after[*end..].starts_with("}}"));
            let known = end.filter(|_| depth < DEEPEST).and_then(|end| {
                let value = self.scopes.value(&after[..end])?;
                let mut room = self.scopes.room.borrow_mut();
                room.take_bytes(1 + value.len()).then_some((value, end))
            });
            if let Some((value, end)) = known {
                self.fill_into(value, depth + 1, out);
                rest = &after[end + 2..];
            } else if let Some(end) = end.filter(|end| self.is_open(&after[..*end])) {
                out.push_str(&self.open(&after[..end]));
                rest = &after[end + 2..];
            } else {
                out.push('{');
                rest = &rest[at + 1..];
            }
        }
        out.push_str(rest);
    }

    /// Whether a text between braces is the name of a variable without a value.
    fn is_open(&self, name: &str) -> bool {
        // JSON and templates of pages have such braces, too.
        let is_name = |letter: char| !letter.is_control() && !"\"'`,;:<>()#/^&=\\".contains(letter);
        !name.trim().is_empty()
            && name.len() <= LONGEST_NAME
            && name.chars().all(is_name)
            && self.scopes.value(name).is_none()
    }

    /// The sign of a variable without a value.
    fn open(&self, name: &str) -> String {
        let name = name.trim();
        let label = format!("{{{{{name}}}}}");
        let value = sample(name);
        let remark = if name.starts_with('$') {
            format!("`{label}` is another value in each request of Postman: the draft sends \"{value}\".")
        } else {
            format!("`{label}` has no value in the collection: replace \"{value}\".")
        };
        self.add(label, name, value.to_owned(), remark)
    }

    /// The sign of a variable of the path without a value.
    pub(super) fn open_segment(&self, name: &str) -> String {
        let remark = format!("`:{name}` of the path has no value in the collection: replace \"1\".");
        self.add(format!(":{name}"), name, "1".to_owned(), remark)
    }

    /// A text in Base64, of which parts may have no value yet.
    pub(super) fn encoded(&self, text: &str, name: &str, encode: impl Fn(&str) -> String) -> String {
        if !self.has_sign(text) {
            return encode(text);
        }
        let (mut sent, mut shown) = (text.to_owned(), text.to_owned());
        for open in self.open.borrow().iter() {
            sent = sent.replace(&open.sign, &open.value);
            shown = shown.replace(&open.sign, &open.label);
        }
        let remark = format!(
            "Parts of `{shown}` have no value in the collection: replace the value of `{name}`, which is Base64."
        );
        self.add(shown, name, encode(&sent), remark)
    }

    fn add(&self, label: String, name: &str, value: String, remark: String) -> String {
        let mut all = self.open.borrow_mut();
        if let Some(known) = all.iter().find(|open| open.label == label) {
            return known.sign.clone();
        }
        // The request is left out at the end.
        if let Some(last) = all.get(MOST_OPEN) {
            return last.sign.clone();
        }
        let sign = format!("prony-place-{}-", all.len());
        all.push(OpenVariable {
            sign: sign.clone(),
            label,
            name: name.to_owned(),
            value,
            remark,
        });
        sign
    }

    /// Whether a text has variables without a value.
    pub(super) fn has_sign(&self, text: &str) -> bool {
        let open = self.open.borrow();
        text.contains("prony-place-") && open.iter().any(|open| text.contains(&open.sign))
    }

    /// A text as the collection writes it.
    pub(super) fn written(&self, text: &str) -> String {
        let open = self.open.borrow();
        open.iter().fold(text.to_owned(), |text, open| {
            text.replace(&open.sign, &open.label)
        })
    }

    /// Turns signs in a request into placeholders. Fails if there are too many.
    pub(super) fn finish(&self, made: &mut Operation, body: Option<&str>) -> Result<(), String> {
        let open = self.open.borrow();
        if open.len() > MOST_OPEN {
            return Err(format!("it has more than {MOST_OPEN} variables without a value"));
        }
        if let Some(body) = body.filter(|body| self.has_sign(body)) {
            made.body = Some(Body::Template(body.to_owned()));
        }
        for open in open.iter() {
            let in_body = matches!(&made.body, Some(Body::Template(body)) if body.contains(&open.sign));
            let in_headers = made.headers.iter().any(|(_, value)| value.contains(&open.sign));
            if !in_body && !in_headers && !made.path.contains(&open.sign) {
                continue;
            }
            let place = made.place(&open.name, &open.value);
            made.path = made.path.replace(&open.sign, &place);
            for (_, value) in &mut made.headers {
                *value = value.replace(&open.sign, &place);
            }
            if let Some(Body::Template(body)) = &mut made.body {
                *body = body.replace(&open.sign, &place);
            }
            made.add_gap(open.remark.clone());
        }
        Ok(())
    }
}

/// What a draft sends for a variable.
fn sample(name: &str) -> &'static str {
    match name {
        "$guid" | "$randomUUID" => "00000000-0000-4000-8000-000000000001",
        "$timestamp" => "1767225600",
        "$isoTimestamp" => "2026-01-01T00:00:00.000Z",
        _ => "1",
    }
}
