//! Placeholders in user input: `{n:range(1,100)}`, `{n:random(1,100)}`, `{id:counter(1)}`, `{key:hex(16)}`, `{name}`.

use prony_config::input::table;
use prony_load::{Bytes, Parameter, Part, Source, Template};

/// An error in a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error(
        "`{place}`: unknown source of values `{function}` → Use range(LOW,HIGH), random(LOW,HIGH), counter(START) or hex(DIGITS)."
    )]
    Function { place: String, function: String },
    #[error("`{place}`: {reason}")]
    Arguments { place: String, reason: &'static str },
    #[error("`{place}` is not a column of the table, which has {known}")]
    Unknown { place: String, known: String },
    #[error("`{{{0}}}` has two sources → Write it with its source once, and as `{{{0}}}` elsewhere.")]
    Twice(String),
}

/// The placeholder for the number of a room.
const ROOM: &str = "room";

/// The parameters that are defined so far.
#[derive(Debug, Default)]
pub(crate) struct PlaceholderTable {
    pub(crate) parameters: Vec<Parameter>,
    has_table: bool,
}

impl PlaceholderTable {
    /// Adds the lines of a feed.
    pub(crate) fn feed(&mut self, name: String, lines: Vec<String>) -> Result<(), TemplateError> {
        self.add(name, Source::Lines(lines)).map(|_| ())
    }

    /// Adds a column of a table. From then on a placeholder without a source must be a known one.
    pub(crate) fn column(&mut self, name: String, values: Vec<String>) -> Result<(), TemplateError> {
        self.has_table = true;
        self.add(name, Source::Lines(values)).map(|_| ())
    }

    /// Defines the placeholder for the number of a room, unless its name is taken.
    pub(crate) fn room(&mut self) -> Result<(), TemplateError> {
        if self.find(ROOM).is_some() {
            return Ok(());
        }
        self.add(ROOM.to_owned(), Source::Counter { start: 1 })
            .map(|_| ())
    }

    fn add(&mut self, name: String, source: Source) -> Result<usize, TemplateError> {
        if let Some(index) = self.find(&name) {
            let same = self.parameters[index].source == source;
            return if same {
                Ok(index)
            } else {
                Err(TemplateError::Twice(name))
            };
        }
        self.parameters.push(Parameter { name, source });
        Ok(self.parameters.len() - 1)
    }

    /// Adds messages that are ready to be sent, and returns the index of their parameter.
    pub(crate) fn messages(&mut self, messages: Vec<Bytes>) -> usize {
        self.parameters.push(Parameter {
            name: "a message".to_owned(),
            source: Source::Messages(messages),
        });
        self.parameters.len() - 1
    }

    /// The number of requests after which the values repeat: practically never if one of them is random or a counter.
    pub(crate) fn period(&self) -> u64 {
        self.parameters.iter().fold(1, |period, parameter| {
            let own = match &parameter.source {
                Source::Range { low, high } => (high - low).saturating_add(1),
                Source::Lines(lines) | Source::Column { values: lines, .. } => lines.len() as u64,
                Source::Messages(messages) => messages.len() as u64,
                Source::Counter { .. } | Source::Random { .. } | Source::Hex { .. } | Source::Taken(_) => {
                    u64::MAX
                }
            };
            least_common_multiple(period, own)
        })
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
            .collect();
        names.join(", ")
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.parameters
            .iter()
            .position(|parameter| parameter.name == name)
    }

    /// Splits a text at its placeholders. Braces that name nothing, as in JSON, are left as they are.
    pub(crate) fn template(&mut self, text: &str) -> Result<Template, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            literal.push_str(before);
            let end = from.find('}').map(|end| &from[1..end]);
            let index = match end {
                Some(inside) => self.place(inside)?,
                None => None,
            };
            if let (Some(index), Some(inside)) = (index, end) {
                if !literal.is_empty() {
                    parts.push(Part::Literal(literal.as_str().into()));
                    literal.clear();
                }
                parts.push(Part::Value(index));
                rest = &from[inside.len() + 2..];
            } else {
                literal.push('{');
                rest = &from[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() || parts.is_empty() {
            parts.push(Part::Literal(literal.as_str().into()));
        }
        Ok(Template(parts))
    }

    /// The parameter that the inside of a pair of braces names, if it names one.
    fn place(&mut self, inside: &str) -> Result<Option<usize>, TemplateError> {
        let (name, source) = inside.split_once(':').unwrap_or((inside, ""));
        if !table::is_name(name) {
            return Ok(None);
        }
        if source.is_empty() {
            let found = self.find(name);
            if found.is_none() && self.has_table {
                return Err(TemplateError::Unknown {
                    place: format!("{{{name}}}"),
                    known: self.names(),
                });
            }
            return Ok(found);
        }
        let Some((function, arguments)) = source.strip_suffix(')').and_then(|source| source.split_once('('))
        else {
            return Ok(None);
        };
        let source = parse_source(inside, function, arguments)?;
        self.add(name.to_owned(), source).map(Some)
    }
}

fn least_common_multiple(one: u64, other: u64) -> u64 {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor.max(1)).saturating_mul(other)
}

fn parse_source(place: &str, function: &str, arguments: &str) -> Result<Source, TemplateError> {
    let wrong = |reason| TemplateError::Arguments {
        place: format!("{{{place}}}"),
        reason,
    };
    let numbers: Option<Vec<u64>> = match arguments.trim() {
        "" => Some(Vec::new()),
        text => text.split(',').map(|number| number.trim().parse().ok()).collect(),
    };
    let numbers = numbers.ok_or_else(|| wrong("its arguments must be whole numbers from 0 on"))?;
    match (function, numbers.as_slice()) {
        ("range" | "random", [low, high]) if low > high => {
            Err(wrong("the first number must not be larger than the second"))
        }
        ("range", &[low, high]) => Ok(Source::Range { low, high }),
        ("random", &[low, high]) => Ok(Source::Random { low, high }),
        ("range" | "random", _) => Err(wrong("it takes the first and the last number")),
        ("counter", []) => Ok(Source::Counter { start: 0 }),
        ("counter", &[start]) => Ok(Source::Counter { start }),
        ("counter", _) => Err(wrong("it takes the first number")),
        ("hex", &[digits @ 1..=64]) => Ok(Source::Hex { digits: digits as u8 }),
        ("hex", _) => Err(wrong("it takes a number of digits from 1 to 64")),
        _ => Err(TemplateError::Function {
            place: format!("{{{place}}}"),
            function: function.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_and_json_is_left_alone() {
        let mut places = PlaceholderTable::default();
        let template = places
            .template(r#"{"a": {"n": {n:range(1,3)}, "again": {n}}, "b": {x}}"#)
            .expect("good");
        assert_eq!(places.parameters.len(), 1);
        let mut out = Vec::new();
        template.render(&mut out, |index, out| {
            out.extend_from_slice(format!("<{index}>").as_bytes());
        });
        assert_eq!(
            String::from_utf8_lossy(&out),
            r#"{"a": {"n": <0>, "again": <0>}, "b": {x}}"#
        );
        assert_eq!(places.template("").expect("good"), Template::literal(""));
    }

    #[test]
    fn wrong_placeholders_are_reported() {
        let mut places = PlaceholderTable::default();
        for (text, part) in [
            ("{n:rang(1,2)}", "unknown source"),
            ("{n:range(2,1)}", "larger"),
            ("{n:range(1)}", "first and the last"),
            ("{n:range(a,b)}", "whole numbers"),
            ("{n:hex(65)}", "1 to 64"),
        ] {
            let error = places.template(text).expect_err("wrong").to_string();
            assert!(error.contains(part), "{error}");
        }
        places.feed("n".into(), vec!["a".into()]).expect("the first");
        assert!(places.template("{n:counter(1)}").is_err());
    }
}
