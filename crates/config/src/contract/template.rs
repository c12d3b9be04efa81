//! Placeholders in texts, `{name}`, and their values.

use prony_load::{Bytes, Part, Template};
use std::collections::{BTreeMap, BTreeSet};

/// The value of a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BoundValue {
    /// A constant text.
    Text(String),
    /// The value of the parameter with this index.
    Parameter(usize),
}

/// The values of placeholders, by name.
pub(crate) type Bindings = BTreeMap<String, BoundValue>;

enum TemplatePart<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// Whether a name is valid for a placeholder.
pub(crate) fn is_place(name: &str) -> bool {
    name.starts_with(|first: char| matches!(first, 'a'..='z' | '_'))
        && name
            .chars()
            .all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_'))
}

/// Splits a text at its placeholders. Only `{name}` with a lowercase name is a placeholder; JSON never looks like that.
fn pieces(text: &str) -> Vec<TemplatePart<'_>> {
    let mut pieces = Vec::new();
    let (mut rest, mut searched) = (text, 0);
    while let Some(open) = rest[searched..].find('{').map(|at| at + searched) {
        let name: &str = &rest[open + 1..];
        let end = name
            .find(|letter: char| !matches!(letter, 'a'..='z' | '0'..='9' | '_'))
            .unwrap_or(name.len());
        let is_place = end > 0
            && name[end..].starts_with('}')
            && !name.starts_with(|first: char| first.is_ascii_digit());
        if is_place {
            pieces.push(TemplatePart::Text(&rest[..open]));
            pieces.push(TemplatePart::Name(&name[..end]));
            rest = &name[end + 1..];
            searched = 0;
        } else {
            searched = open + 1;
        }
    }
    pieces.push(TemplatePart::Text(rest));
    pieces
}

/// The names of the placeholders of a text.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        TemplatePart::Name(name) => Some(name),
        TemplatePart::Text(_) => None,
    })
}

/// Fills the placeholders of a text. `escape` escapes a bound text; `used` collects the names. The error is the name of an
/// unbound placeholder.
pub(crate) fn fill(
    text: &str,
    bindings: &Bindings,
    used: &mut BTreeSet<String>,
    escape: impl Fn(&str) -> String,
) -> Result<Template, String> {
    let mut builder = Builder::default();
    for piece in pieces(text) {
        match piece {
            TemplatePart::Text(text) => builder.literal(text.as_bytes()),
            TemplatePart::Name(name) => {
                used.insert(name.to_owned());
                match bindings.get(name) {
                    Some(BoundValue::Text(text)) => builder.literal(escape(text).as_bytes()),
                    Some(BoundValue::Parameter(index)) => builder.value(*index),
                    None => return Err(name.to_owned()),
                }
            }
        }
    }
    Ok(builder.build())
}

/// Builds a template; adjacent literals are joined.
#[derive(Default)]
pub(crate) struct Builder {
    parts: Vec<Part>,
    open: Vec<u8>,
}

impl Builder {
    pub(crate) fn literal(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    pub(crate) fn value(&mut self, index: usize) {
        self.close();
        self.parts.push(Part::Value(index));
    }

    pub(crate) fn template(&mut self, template: &Template) {
        for part in &template.0 {
            match part {
                Part::Literal(bytes) => self.literal(bytes.as_slice()),
                Part::Value(index) => self.value(*index),
            }
        }
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.parts
                .push(Part::Literal(Bytes(std::mem::take(&mut self.open))));
        }
    }

    pub(crate) fn build(mut self) -> Template {
        self.close();
        Template(self.parts)
    }
}

/// The bytes of a template without placeholders.
pub(crate) fn constant(template: &Template) -> Vec<u8> {
    let mut out = Vec::new();
    template.render(&mut out, |_, _| {});
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_in_braces_are_places() {
        let mut used = BTreeSet::new();
        let bindings = Bindings::from([
            ("n".into(), BoundValue::Text("7".into())),
            ("m".into(), BoundValue::Parameter(2)),
        ]);
        let text = r#"{"a":{"b":{}},"c":"{n}","d":{m},"e":"a{2}"}"#;
        let template = fill(text, &bindings, &mut used, str::to_owned).expect("all bound");
        assert_eq!(
            template.0,
            [
                Part::Literal(r#"{"a":{"b":{}},"c":"7","d":"#.into()),
                Part::Value(2),
                Part::Literal(r#","e":"a{2}"}"#.into())
            ]
        );
        assert_eq!(used.into_iter().collect::<Vec<_>>(), ["m", "n"]);
        assert_eq!(
            fill("/{x}", &bindings, &mut BTreeSet::new(), str::to_owned),
            Err("x".into())
        );
    }
}
