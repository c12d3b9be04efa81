//! A JSON or YAML file, and the line of each of its values.

use crate::import::DraftError;
use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, YamlData};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The deepest allowed nesting.
const DEEPEST: usize = 200;

/// A JSON or YAML file.
pub(crate) struct Document {
    /// The name of the file, for messages.
    pub(crate) file: String,
    pub(crate) value: Value,
    /// Lines by JSON pointer.
    lines: BTreeMap<String, usize>,
}

impl Document {
    pub(crate) fn read(path: &Path) -> Result<Self, DraftError> {
        let file = path.display().to_string();
        let unreadable = |reason: String| DraftError::Unreadable {
            file: file.clone(),
            reason,
        };
        let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            unreadable(format!("it is not UTF-8 (byte {at}): give a JSON or YAML file"))
        })?;
        Self::parse(&file, text.trim_start_matches('\u{feff}'))
    }

    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, DraftError> {
        let invalid = |line: usize, message: String| DraftError::Invalid {
            file: file.to_owned(),
            line,
            message,
        };
        let mut lines = BTreeMap::new();
        let is_json = text.trim_start().starts_with(['{', '[']);
        // YAML reads some escapes differently from JSON: for a JSON file, the YAML reader only provides the lines.
        let json = if is_json {
            let value: Value = serde_json::from_str(text)
                .map_err(|error| invalid(error.line(), format!("not JSON: {error}")))?;
            Some(value)
        } else {
            None
        };
        let loaded = MarkedYaml::load_from_str(text);
        let value = match (json, loaded) {
            (Some(value), loaded) => {
                if let Some(root) = loaded.ok().as_deref().and_then(<[_]>::first) {
                    let _ = plain(root, "", 0, &mut lines);
                }
                value
            }
            (None, Ok(documents)) => {
                let root = documents
                    .first()
                    .ok_or_else(|| invalid(1, "the file is empty".to_owned()))?;
                plain(root, "", 0, &mut lines).map_err(|(line, message)| invalid(line, message))?
            }
            (None, Err(error)) => {
                let message = format!("not YAML: {}", error.info());
                return Err(invalid(error.marker().line().max(1), message));
            }
        };
        Ok(Self {
            file: file.to_owned(),
            value,
            lines,
        })
    }

    /// The line of the value at a pointer, or of its closest existing parent.
    pub(crate) fn line(&self, pointer: &str) -> usize {
        let mut pointer = pointer;
        loop {
            if let Some(line) = self.lines.get(pointer) {
                return *line;
            }
            match pointer.rfind('/') {
                Some(at) => pointer = &pointer[..at],
                None => return 1,
            }
        }
    }

    /// File and line of the value at a pointer.
    pub(crate) fn place(&self, pointer: &str) -> String {
        format!("{}:{}", self.file, self.line(pointer))
    }

    /// An error at a pointer.
    pub(crate) fn invalid(&self, pointer: &str, message: impl Into<String>) -> DraftError {
        DraftError::Invalid {
            file: self.file.clone(),
            line: self.line(pointer),
            message: message.into(),
        }
    }
}

pub(crate) fn step(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

type YamlError = (usize, String);

fn plain(
    node: &MarkedYaml<'_>,
    pointer: &str,
    depth: usize,
    lines: &mut BTreeMap<String, usize>,
) -> Result<Value, YamlError> {
    let line = node.span.start.line().max(1);
    if depth > DEEPEST {
        return Err((line, format!("nested deeper than {DEEPEST}")));
    }
    lines.entry(pointer.to_owned()).or_insert(line);
    Ok(match &node.data {
        YamlData::Value(scalar) => of_scalar(scalar),
        YamlData::Representation(text, ..) => Value::from(text.as_ref()),
        YamlData::Sequence(items) => {
            let mut list = Vec::new();
            for (place, item) in items.iter().enumerate() {
                list.push(plain(item, &step(pointer, &place.to_string()), depth + 1, lines)?);
            }
            Value::Array(list)
        }
        YamlData::Mapping(members) => {
            let mut object = Map::new();
            for (key, member) in members {
                let key_line = key.span.start.line().max(1);
                let key = match &key.data {
                    YamlData::Value(scalar) => match of_scalar(scalar) {
                        Value::String(text) => text,
                        other => other.to_string(),
                    },
                    YamlData::Representation(text, ..) => text.to_string(),
                    _ => return Err((key_line, "a key that is not a text".to_owned())),
                };
                let below = step(pointer, &key);
                lines.insert(below.clone(), key_line);
                object.insert(key, plain(member, &below, depth + 1, lines)?);
            }
            Value::Object(object)
        }
        YamlData::Tagged(_, inner) => plain(inner, pointer, depth, lines)?,
        YamlData::Alias(_) | YamlData::BadValue => {
            return Err((line, "a value that cannot be read".to_owned()));
        }
    })
}

fn of_scalar(scalar: &Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(truth) => Value::from(*truth),
        Scalar::Integer(number) => Value::from(*number),
        Scalar::FloatingPoint(number) => {
            Number::from_f64(number.into_inner()).map_or(Value::Null, Value::Number)
        }
        Scalar::String(text) => Value::from(text.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    #[test]
    fn values_have_their_lines_in_yaml_and_json() {
        let yaml = Document::parse("a.yaml", "a: 1\nb:\n  - x\n  - 200: yes\n").expect("YAML");
        assert_eq!(
            yaml.value,
            serde_json::json!({"a": 1, "b": ["x", {"200": "yes"}]})
        );
        assert_eq!((yaml.line("/a"), yaml.line("/b/1/200")), (1, 4));
        let json = Document::parse("a.json", "{\n\t\"a\": {\n\t\t\"b\": \"\\ud83d\\ude00\"}}").expect("JSON");
        assert_eq!(json.value["a"]["b"], "😀");
        assert!(json.line("/a/b") <= 3);
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let error_of = |text: &str| Document::parse("f", text).err().expect("broken").to_string();
        assert!(
            error_of("{\n\"a\": }").starts_with("f:2: not JSON"),
            "{}",
            error_of("{\n\"a\": }")
        );
        assert!(
            error_of("a: [1\nb: 2\n").starts_with("f:"),
            "{}",
            error_of("a: [1\nb: 2\n")
        );
    }
}
