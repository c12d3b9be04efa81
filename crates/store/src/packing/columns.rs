//! Tables stored by column: each key once, and slowly changing numbers as small differences.

use super::UnpackError;
use serde_json::{Map, Value};

/// The only key of an object that represents a table. Objects that have this key themselves are wrapped in [`PLAIN`].
const TABLE: &str = "~";
const PLAIN: &str = "~~";
/// Prefix of a column name: its numbers are differences.
const DIFFERENCES: char = '+';
/// Prefix of a column name: its values are unchanged.
const VALUES: char = '=';
/// Minimum number of rows for which a table is worth it.
const FEWEST: usize = 4;

/// Stores each table in the value by column.
pub(super) fn to_columns(value: Value) -> Value {
    match value {
        Value::Array(rows) => match names(&rows) {
            Some(names) => table(&rows, &names),
            None => Value::Array(rows.into_iter().map(to_columns).collect()),
        },
        Value::Object(map) => {
            let marked = map.contains_key(TABLE) || map.contains_key(PLAIN);
            let map = map
                .into_iter()
                .map(|(key, value)| (key, to_columns(value)))
                .collect();
            if marked {
                Value::Object(Map::from_iter([(PLAIN.to_owned(), Value::Object(map))]))
            } else {
                Value::Object(map)
            }
        }
        other => other,
    }
}

/// Reverses [`to_columns`].
pub(super) fn to_rows(value: Value) -> Result<Value, UnpackError> {
    match value {
        Value::Array(list) => list
            .into_iter()
            .map(to_rows)
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Value::Object(mut map) => {
            if let Some(columns) = map.remove(TABLE) {
                return rows(columns);
            }
            let map = match map.remove(PLAIN) {
                Some(Value::Object(plain)) => plain,
                Some(_) => return Err(UnpackError::new("a plain value is not an object")),
                None => map,
            };
            let inner = map.into_iter().map(|(key, value)| Ok((key, to_rows(value)?)));
            inner.collect::<Result<_, _>>().map(Value::Object)
        }
        other => Ok(other),
    }
}

/// The keys of the rows, if all of them have the same.
fn names(rows: &[Value]) -> Option<Vec<String>> {
    let first = rows.first()?.as_object()?;
    let alike = |row: &Value| row.as_object().is_some_and(|row| row.keys().eq(first.keys()));
    (rows.len() >= FEWEST && !first.is_empty() && rows.iter().all(alike))
        .then(|| first.keys().cloned().collect())
}

fn table(rows: &[Value], names: &[String]) -> Value {
    let column = |name: &String| {
        let numbers: Option<Vec<i64>> = rows.iter().map(|row| row[name].as_i64()).collect();
        let Some(numbers) = numbers else {
            let values = rows.iter().map(|row| to_columns(row[name].clone()));
            return (format!("{VALUES}{name}"), Value::Array(values.collect()));
        };
        let mut before = 0_i64;
        let differences = numbers.iter().map(|&number| {
            let difference = number.wrapping_sub(before);
            before = number;
            Value::from(difference)
        });
        (
            format!("{DIFFERENCES}{name}"),
            Value::Array(differences.collect()),
        )
    };
    let columns: Map<String, Value> = names.iter().map(column).collect();
    Value::Object(Map::from_iter([(TABLE.to_owned(), Value::Object(columns))]))
}

fn rows(columns: Value) -> Result<Value, UnpackError> {
    let Value::Object(columns) = columns else {
        return Err(UnpackError::new("a table is not an object"));
    };
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    for (marked, column) in columns {
        let Value::Array(column) = column else {
            return Err(UnpackError::new(format!("the column {marked} is not a list")));
        };
        if rows.is_empty() {
            rows.resize_with(column.len(), Map::new);
        }
        if rows.len() != column.len() {
            return Err(UnpackError::new(format!(
                "the column {marked} has a different length"
            )));
        }
        let mut sum = 0_i64;
        let (differences, name) = match marked.strip_prefix(DIFFERENCES) {
            Some(name) => (true, name),
            None => (false, marked.strip_prefix(VALUES).unwrap_or(&marked)),
        };
        for (row, value) in rows.iter_mut().zip(column) {
            let value = if differences {
                let step = value
                    .as_i64()
                    .ok_or_else(|| UnpackError::new("a difference is not a number"))?;
                sum = sum.wrapping_add(step);
                sum.into()
            } else {
                to_rows(value)?
            };
            row.insert(name.to_owned(), value);
        }
    }
    Ok(Value::Array(rows.into_iter().map(Value::Object).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_come_back() {
        let row = |a: Value, b: i64| json!({ "a": a, "+b": b, "inner": [{ "x": b }, { "x": 1 }, { "x": 2 }, { "x": 3 }] });
        for value in [
            json!([
                row(json!(1), i64::MAX),
                row(json!(2.5), i64::MIN),
                row(json!(null), 0),
                row(json!("t"), -7)
            ]),
            json!([{ "a": 1 }, { "a": 1 }, { "b": 1 }, { "a": 1 }]),
            json!({ "~": { "+a": [1, 2] } }),
            json!([{ "~": 1 }, { "~": 2 }, { "~": 3 }, { "~": { "~~": 4 } }]),
            json!([{}, {}, {}, {}, {}]),
            json!([[], {}, null, 1.5e300]),
        ] {
            assert_eq!(to_rows(to_columns(value.clone())).expect("own value"), value);
        }
    }

    #[test]
    fn equal_keys_stand_once() {
        let rows: Vec<Value> = (0..50).map(|n| json!({ "a_long_name": 1_000_000 + n })).collect();
        assert!(to_columns(Value::Array(rows)).to_string().len() < 150);
    }
}
