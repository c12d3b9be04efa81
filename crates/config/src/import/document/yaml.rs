//! Reads YAML into values and lines at the same time. The work is bounded: aliases repeat a value, and aliases of values with
//! aliases would repeat it endlessly.

use super::{Below, Lines};
use crate::import::size::Room;
use saphyr::Scalar;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::{Map, Number, Value};
use std::collections::{BTreeMap, HashMap};

/// The deepest nesting.
const DEEPEST: usize = 200;
/// The size of everything that anchors and aliases copy, bytes.
const COPIED: usize = 16 << 20;

/// Why a text is not YAML that can be read.
#[derive(Debug)]
pub(super) struct YamlError {
    pub(super) line: usize,
    pub(super) message: String,
}

type YamlResult<T> = Result<T, YamlError>;

/// The first document of a text.
pub(super) fn read(text: &str) -> YamlResult<(Value, Lines)> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        anchors: HashMap::new(),
        copied: Room::of(COPIED),
    };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (Event::StreamEnd, _) => {
                return Err(YamlError {
                    line: 1,
                    message: "the file is empty".to_owned(),
                });
            }
            (event, span) => {
                let read = reader.node(event, span, 0)?;
                // Finds what is wrong after the value.
                reader.next()?;
                return Ok(read);
            }
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    /// The values that have an anchor.
    anchors: HashMap<usize, Value>,
    copied: Room,
}

fn line_of(span: Span) -> usize {
    span.start.line().max(1)
}

fn not_yaml(error: &ScanError) -> YamlError {
    YamlError {
        line: error.marker().line().max(1),
        message: format!("not YAML: {}", error.info()),
    }
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> YamlResult<(Event<'a>, Span)> {
        match self.events.next_event() {
            Some(event) => event.map_err(|error| not_yaml(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> YamlResult<(Value, Lines)> {
        let line = line_of(span);
        let wrong = |message: String| YamlError { line, message };
        if depth > DEEPEST {
            return Err(wrong(format!("nested deeper than {DEEPEST}")));
        }
        let (value, below, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar::parse_from_cow_and_metadata(text, style, tag.as_ref());
                let scalar = scalar.ok_or_else(|| wrong("a value that cannot be read".to_owned()))?;
                (of_scalar(scalar), Below::Nothing, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let (value, below) = self.sequence(depth)?;
                (value, below, anchor)
            }
            Event::MappingStart(anchor, _) => {
                let (value, below) = self.mapping(depth)?;
                (value, below, anchor)
            }
            Event::Alias(anchor) => (self.repeated(anchor, line)?, Below::Nothing, 0),
            _ => return Err(wrong("a value that cannot be read".to_owned())),
        };
        if anchor > 0 {
            let copy = self.copy(&value, line)?;
            self.anchors.insert(anchor, copy);
        }
        Ok((value, Lines { line, below }))
    }

    fn sequence(&mut self, depth: usize) -> YamlResult<(Value, Below)> {
        let (mut values, mut lines) = (Vec::new(), Vec::new());
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok((Value::Array(values), Below::Items(lines)));
            }
            let (value, line) = self.node(event, span, depth + 1)?;
            values.push(value);
            lines.push(line);
        }
    }

    fn mapping(&mut self, depth: usize) -> YamlResult<(Value, Below)> {
        let mut members = Map::new();
        let mut lines = BTreeMap::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                // A key of the mapping itself takes precedence, then the earlier of the merged mappings.
                for (key, value) in merged.into_iter().flatten() {
                    members.entry(key).or_insert(value);
                }
                return Ok((Value::Object(members), Below::Members(lines)));
            }
            let line = line_of(span);
            if is_merge(&event) {
                let (event, span) = self.next()?;
                let value = self.node(event, span, depth + 1)?.0;
                merged.extend(mappings(value).map_err(|message| YamlError { line, message })?);
                continue;
            }
            let key = match self.node(event, span, depth + 1)?.0 {
                Value::String(text) => text,
                Value::Array(_) | Value::Object(_) => {
                    let message = "a key that is not a text".to_owned();
                    return Err(YamlError { line, message });
                }
                other => other.to_string(),
            };
            let (event, span) = self.next()?;
            let (value, mut below) = self.node(event, span, depth + 1)?;
            below.line = line;
            lines.insert(key.clone(), below);
            members.insert(key, value);
        }
    }

    /// The value of an alias. One within the value that it names has none.
    fn repeated(&mut self, anchor: usize, line: usize) -> YamlResult<Value> {
        let Some(value) = self.anchors.remove(&anchor) else {
            let message = "an alias of a value that contains it, or of none".to_owned();
            return Err(YamlError { line, message });
        };
        let copy = self.copy(&value, line);
        self.anchors.insert(anchor, value);
        copy
    }

    fn copy(&mut self, value: &Value, line: usize) -> YamlResult<Value> {
        if self.copied.take(value) {
            return Ok(value.clone());
        }
        let message = format!("anchors and aliases repeat more than {} MiB", COPIED >> 20);
        Err(YamlError { line, message })
    }
}

/// Whether a key is `<<`, which merges other mappings into its own (<https://yaml.org/type/merge.html>).
fn is_merge(key: &Event<'_>) -> bool {
    matches!(key, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<")
}

/// The mappings that a value of `<<` names: one, or a list of them.
fn mappings(value: Value) -> Result<Vec<Map<String, Value>>, String> {
    let items = match value {
        Value::Array(items) => items,
        one => vec![one],
    };
    items
        .into_iter()
        .map(|item| match item {
            Value::Object(members) => Ok(members),
            _ => Err("`<<` merges mappings: give one, or a list of them".to_owned()),
        })
        .collect()
}

fn of_scalar(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(truth) => Value::from(truth),
        Scalar::Integer(number) => Value::from(number),
        Scalar::FloatingPoint(number) => {
            Number::from_f64(number.into_inner()).map_or(Value::Null, Value::Number)
        }
        Scalar::String(text) => Value::from(text.into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use std::fmt::Write as _;

    fn error_of(text: &str) -> (usize, String) {
        let error = read(text).expect_err("refused");
        (error.line, error.message)
    }

    #[test]
    fn aliases_repeat_a_value_but_not_endlessly() {
        let (value, _) = read("a: &a {x: [1, two]}\nb: [*a, *a]\nc: &c !!str 7\n*c : 1\n").expect("YAML");
        assert_eq!(value["b"][1], serde_json::json!({"x": [1, "two"]}));
        assert_eq!(value["7"], 1);
        // Ten aliases of ten aliases …: 10^20 texts.
        let mut text = "a0: &a0 lol\n".to_owned();
        for level in 1..=20 {
            let below = format!("*a{}, ", level - 1).repeat(10);
            let _ = writeln!(text, "a{level}: &a{level} [{below}]");
        }
        let (line, message) = error_of(&text);
        assert!(
            line > 1 && message.contains("repeat more than 16 MiB"),
            "{line}: {message}"
        );
        // One long text, many times.
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(10_000));
        assert_eq!(error_of(&long).0, 2);
        assert!(error_of("a: &a [*a]\n").1.contains("contains it"));
        assert_eq!(error_of("a: *b\n").0, 1);
    }

    #[test]
    fn endless_nesting_ends_with_its_line() {
        let deeper = (0..400).map(|level| format!("{}a:\n", " ".repeat(level)));
        let texts = ["[", "{a: ", "- ", "? ", "!!seq [", "&a ["].map(|open| open.repeat(20_000));
        for text in texts.into_iter().chain([deeper.collect()]) {
            let (line, message) = error_of(&text);
            assert!(line >= 1 && !message.is_empty(), "{}", &text[..8]);
        }
    }
}
