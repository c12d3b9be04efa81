//! A JSON or YAML file, and the line of each of its values.

mod json;
mod yaml;

use crate::import::DraftError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The largest file, bytes: recordings of a browser have tens of megabytes.
const LARGEST: u64 = 128 << 20;
/// The longest JSON pointer, bytes. Each value below a key has that key in its pointer, so that a long one costs as often as there
/// are values.
const LONGEST_POINTER: usize = 8 << 10;

/// A JSON or YAML file.
pub(crate) struct Document {
    /// The name of the file, for messages.
    pub(crate) file: String,
    pub(crate) value: Value,
    lines: LineIndex,
}

/// Where the values of a file are.
enum LineIndex {
    Json(json::Positions),
    Yaml(Lines),
}

/// The line of a value, and those of the values below it.
#[derive(Debug, Default)]
struct Lines {
    line: usize,
    below: Below,
}

#[derive(Debug, Default)]
enum Below {
    #[default]
    Nothing,
    Items(Vec<Lines>),
    Members(BTreeMap<String, Lines>),
}

impl Lines {
    fn line(&self, pointer: &str) -> usize {
        let mut lines = self;
        for token in pointer.split('/').skip(1) {
            let next = match &lines.below {
                Below::Nothing => None,
                Below::Items(items) => token.parse::<usize>().ok().and_then(|place| items.get(place)),
                Below::Members(members) => members.get(&unescaped(token)),
            };
            let Some(next) = next else { break };
            lines = next;
        }
        lines.line.max(1)
    }
}

/// A token of a JSON pointer (RFC 6901).
fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

impl Document {
    pub(crate) fn read(path: &Path) -> Result<Self, DraftError> {
        let file = path.display().to_string();
        let unreadable = |reason: String| DraftError::Unreadable {
            file: file.clone(),
            reason,
        };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|opened| opened.take(LARGEST + 1).read_to_end(&mut bytes))
            .map_err(|error| unreadable(error.to_string()))?;
        if bytes.len() as u64 > LARGEST {
            let reason = format!(
                "it is larger than {} MiB: remove what the contract does not need",
                LARGEST >> 20
            );
            return Err(unreadable(reason));
        }
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
        // YAML has a notation with braces as well, which is not quite JSON.
        let extension = Path::new(file).extension();
        let is_yaml = extension.is_some_and(|one| one == "yaml" || one == "yml");
        let is_json = text.trim_start().starts_with(['{', '[']) && !is_yaml;
        let (value, lines) = match serde_json::from_str::<Value>(text) {
            Ok(value) => (value, LineIndex::Json(json::Positions::of(text))),
            Err(error) if is_json => return Err(invalid(error.line(), format!("not JSON: {error}"))),
            Err(_) => {
                let read = yaml::read(text).map_err(|error| invalid(error.line, error.message))?;
                (read.0, LineIndex::Yaml(read.1))
            }
        };
        let document = Self {
            file: file.to_owned(),
            value,
            lines,
        };
        match too_long(&document.value, &mut String::new()) {
            Some(pointer) => Err(document.invalid(
                &pointer,
                format!("the keys down to here have more than {LONGEST_POINTER} bytes: give shorter ones"),
            )),
            None => Ok(document),
        }
    }

    /// The line of the value at a pointer, or of its closest existing parent.
    pub(crate) fn line(&self, pointer: &str) -> usize {
        match &self.lines {
            LineIndex::Json(positions) => positions.line(pointer),
            LineIndex::Yaml(lines) => lines.line(pointer),
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

/// The pointer above a value whose own pointer is too long; `pointer` is that of `value`.
fn too_long(value: &Value, pointer: &mut String) -> Option<String> {
    let mut check = |key: &str, below: &Value| {
        let length = pointer.len();
        if length + key.len() > LONGEST_POINTER {
            return Some(pointer.clone());
        }
        if !below.is_object() && !below.is_array() {
            return None;
        }
        *pointer = step(pointer, key);
        let found = too_long(below, pointer);
        pointer.truncate(length);
        found
    };
    match value {
        Value::Object(members) => members.iter().find_map(|(key, below)| check(key, below)),
        Value::Array(items) => items.iter().find_map(|below| check("0", below)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    fn error_of(text: &str) -> String {
        Document::parse("f", text).err().expect("broken").to_string()
    }

    #[test]
    fn values_have_their_lines_in_yaml_and_json() {
        let yaml = Document::parse("a.yaml", "a: 1\nb:\n  - x\n  - 200: yes\n").expect("YAML");
        assert_eq!(
            yaml.value,
            serde_json::json!({"a": 1, "b": ["x", {"200": "yes"}]})
        );
        assert_eq!((yaml.line("/a"), yaml.line("/b/1/200")), (1, 4));
        assert_eq!((yaml.line("/b/1/no/such"), yaml.line("/b/9")), (4, 2));
        let json = Document::parse("a.json", "{\n\t\"a\": {\n\t\t\"b\": \"\\ud83d\\ude00\"}}").expect("JSON");
        assert_eq!(json.value["a"]["b"], "😀");
        assert!(json.line("/a/b") <= 3);
    }

    #[test]
    fn a_syntax_error_has_its_line() {
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

    #[test]
    fn a_long_key_is_refused_before_each_value_below_repeats_it() {
        let keys = (0..10).map(|level| format!("{}{}:\n", " ".repeat(level), "k".repeat(1_000)));
        let error = error_of(&format!("{}{}- 1\n", keys.collect::<String>(), " ".repeat(10)));
        assert!(error.starts_with("f:8: the keys down to here"), "{error}");
    }
}
