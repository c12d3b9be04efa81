//! Tables of data: CSV with a header line, or JSON Lines.

use std::path::Path;

/// Named columns of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The columns: a name, and the value of each row. All have the same length, and at least one row.
    pub columns: Vec<(String, Vec<String>)>,
}

/// Why a table cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// No row.
    #[error(
        "it contains no row: CSV has a header line and then one row per line, JSON Lines one object per line"
    )]
    Empty,
    /// A column without a usable name.
    #[error("`{0}` is not a column name: use letters, digits and _, as in user_id")]
    Name(String),
    /// Two columns with the same name.
    #[error("two columns are called `{0}`")]
    Twice(String),
    /// A header line with another separator than the comma.
    #[error("line 1: the columns of `{header}` are separated by {separator}: separate them by commas")]
    Separator {
        /// The header line.
        header: String,
        separator: &'static str,
    },
    /// A line that does not fit.
    #[error("line {line}: {reason}")]
    Line {
        /// The line number, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
}

/// Parses a table: JSON Lines if the file extension says so (`.jsonl`, `.ndjson`, `.json`), else CSV.
pub fn parse(path: &Path, text: &str) -> Result<Table, TableError> {
    let text = text.trim_start_matches('\u{feff}');
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("jsonl" | "ndjson" | "json") => parse_json_lines(text),
        _ => parse_csv(text),
    }
}

/// Parses CSV. Its first line names the columns; empty lines are skipped.
pub fn parse_csv(text: &str) -> Result<Table, TableError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let broken = |error: &csv::Error| TableError::Line {
        line: error.position().map_or(1, |position| line_of(text, position)),
        reason: match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => {
                let noun = if *len == 1 { "value" } else { "values" };
                format!("it has {len} {noun}, and the header line has {expected_len}")
            }
            csv::ErrorKind::Utf8 { .. } => "it is not a text in UTF-8".to_owned(),
            _ => error.to_string(),
        },
    };
    let names = reader.headers().map_err(|error| broken(&error))?.clone();
    if let (1, Some(header)) = (names.len(), names.get(0))
        && let Some(separator) = separator(header)
    {
        let header = header.to_owned();
        return Err(TableError::Separator { header, separator });
    }
    let mut columns: Vec<(String, Vec<String>)> = names
        .iter()
        .map(|name| (name.trim().to_owned(), Vec::new()))
        .collect();
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        for ((_, values), value) in columns.iter_mut().zip(&record) {
            values.push(value.to_owned());
        }
    }
    checked(columns)
}

/// The line of a record, whose position is before the empty lines in front of it.
fn line_of(text: &str, position: &csv::Position) -> usize {
    let begin = usize::try_from(position.byte()).unwrap_or(0);
    let rest = text.get(begin..).unwrap_or_default();
    let empty = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
    1 + text[..begin + empty].matches('\n').count()
}

/// What separates the columns of a header line without a comma.
fn separator(header: &str) -> Option<&'static str> {
    [(';', "semicolons"), ('\t', "tabs"), ('|', "`|`")]
        .into_iter()
        .find_map(|(letter, name)| header.contains(letter).then_some(name))
}

/// Parses JSON Lines: one object per line, all with the members of the first. Strings are used without quotes, other
/// values as JSON.
pub fn parse_json_lines(text: &str) -> Result<Table, TableError> {
    let mut columns: Vec<(String, Vec<String>)> = Vec::new();
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    for (line, text) in lines {
        let wrong = |reason: String| TableError::Line { line, reason };
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).map_err(|error| wrong(format!("not a JSON object: {error}")))?;
        if columns.is_empty() {
            columns = object.keys().map(|name| (name.clone(), Vec::new())).collect();
        }
        for (name, values) in &mut columns {
            let value = object
                .get(name)
                .ok_or_else(|| wrong(format!("it has no `{name}`, which the first row has")))?;
            values.push(match value {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            });
        }
    }
    checked(columns)
}

fn checked(columns: Vec<(String, Vec<String>)>) -> Result<Table, TableError> {
    for (at, (name, _)) in columns.iter().enumerate() {
        if !is_name(name) {
            return Err(TableError::Name(name.clone()));
        }
        if columns[..at].iter().any(|(other, _)| other == name) {
            return Err(TableError::Twice(name.clone()));
        }
    }
    if columns.first().is_none_or(|(_, values)| values.is_empty()) {
        return Err(TableError::Empty);
    }
    Ok(Table { columns })
}

/// Whether this is a valid name of a placeholder in templates.
pub fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_give_the_same_table() {
        let csv = parse_csv("id,name\n1,\"a, b\"\n2,c\n").expect("good");
        let json = "{\"id\": 1, \"name\": \"a, b\"}\n\n{\"name\": \"c\", \"id\": 2}\n";
        assert_eq!(csv, parse_json_lines(json).expect("good"));
        assert_eq!(
            csv.columns[1],
            ("name".to_owned(), vec!["a, b".to_owned(), "c".to_owned()])
        );
    }

    #[test]
    fn a_byte_order_mark_and_empty_lines_are_no_data() {
        for (path, text) in [
            ("a.csv", "\u{feff}id\r\n\r\n7\r\n"),
            ("a.jsonl", "\u{feff}{\"id\": 7}\r\n\r\n"),
        ] {
            let table = parse(Path::new(path), text).expect(path);
            assert_eq!(table.columns, [("id".to_owned(), vec!["7".to_owned()])], "{path}");
        }
    }

    #[test]
    fn an_invalid_table_is_an_error() {
        for (text, part) in [
            ("", "no row"),
            ("id,name\n", "no row"),
            ("a b\n1\n", "not a column name"),
            ("a,a\n1,2\n", "two columns"),
            ("a,b\n\n1\n", "line 3"),
            ("a;b\n1;2\n", "separated by semicolons: separate them by commas"),
            ("a\tb\n1\t2\n", "separated by tabs"),
        ] {
            let error = parse_csv(text).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
        for (text, part) in [
            ("", "no row"),
            ("{}", "no row"),
            ("[1]", "line 1"),
            ("{\"a\":1}\n\n{\"b\":1}", "line 3"),
            ("{\"a-b\":1}", "not a column name"),
        ] {
            let error = parse_json_lines(text).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
