//! A table of data: CSV with a line of names, or JSON Lines.

use std::path::Path;

/// Names with their values, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The columns: a name and its value in each row. All are equally long, and not empty.
    pub columns: Vec<(String, Vec<String>)>,
}

/// What is wrong with a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// No row.
    #[error(
        "there is no row in it: CSV has a line of names and then a row a line, JSON Lines an object a line"
    )]
    Empty,
    /// A column without a usable name.
    #[error("`{0}` is no name of a column: use letters, digits and _, as in user_id")]
    Name(String),
    /// Two columns with one name.
    #[error("two columns are called `{0}`")]
    Twice(String),
    /// A row that does not fit.
    #[error("row {row}: {reason}")]
    Row {
        /// From 1 on.
        row: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads a table: JSON Lines where the name of its file says so (`.jsonl`, `.ndjson`, `.json`), else CSV.
pub fn parse(path: &Path, text: &str) -> Result<Table, TableError> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("jsonl" | "ndjson" | "json") => parse_json_lines(text),
        _ => parse_csv(text),
    }
}

/// Reads CSV. Its first line names the columns.
pub fn parse_csv(text: &str) -> Result<Table, TableError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let broken = |row: usize, error: &csv::Error| TableError::Row {
        row,
        reason: error.to_string(),
    };
    let names = reader.headers().map_err(|error| broken(0, &error))?.clone();
    let mut columns: Vec<(String, Vec<String>)> = names
        .iter()
        .map(|name| (name.trim().to_owned(), Vec::new()))
        .collect();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|error| broken(row + 1, &error))?;
        for ((_, values), value) in columns.iter_mut().zip(&record) {
            values.push(value.to_owned());
        }
    }
    checked(columns)
}

/// Reads JSON Lines: an object a line, all with the members of the first. Texts are taken as they are, other values as JSON.
pub fn parse_json_lines(text: &str) -> Result<Table, TableError> {
    let mut columns: Vec<(String, Vec<String>)> = Vec::new();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    for (number, line) in lines.enumerate() {
        let row = number + 1;
        let wrong = |reason: String| TableError::Row { row, reason };
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).map_err(|error| wrong(format!("no JSON object: {error}")))?;
        if columns.is_empty() {
            columns = object.keys().map(|name| (name.clone(), Vec::new())).collect();
        }
        for (name, values) in &mut columns {
            let value = object
                .get(name)
                .ok_or_else(|| wrong(format!("it has no `{name}`, as the first row has")))?;
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

/// Whether a place of a template may be called so.
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
    fn what_is_no_table_is_told() {
        for (text, part) in [
            ("", "no row"),
            ("id,name\n", "no row"),
            ("a b\n1\n", "no name"),
            ("a,a\n1,2\n", "two columns"),
            ("a,b\n1\n", "row 1"),
        ] {
            let told = parse_csv(text).expect_err(text).to_string();
            assert!(told.contains(part), "{told}");
        }
        for (text, part) in [
            ("", "no row"),
            ("{}", "no row"),
            ("[1]", "row 1"),
            ("{\"a\":1}\n{\"b\":1}", "row 2"),
            ("{\"a-b\":1}", "no name"),
        ] {
            let told = parse_json_lines(text).expect_err(text).to_string();
            assert!(told.contains(part), "{told}");
        }
    }
}
