//! The load of a group, or several: `connections = [16, 64, 256]` is a load for each number, and a group for each load.

use crate::PlanError;
use crate::read::Source;
use prony_load::{Load, LoadText};
use serde::Deserialize as _;
use toml::{Spanned, Table, Value};

/// The key that may hold a list.
const CONNECTIONS: &str = "connections";

/// The loads of the table, in the written order.
pub(super) fn loads(source: &Source, written: &Spanned<Table>) -> Result<Vec<Load>, PlanError> {
    let refused = |problem: String| source.invalid(written.span(), problem);
    let table = written.get_ref();
    let Some(Value::Array(levels)) = table.get(CONNECTIONS) else {
        return Ok(vec![load(table).map_err(refused)?]);
    };
    if table.get("kind").and_then(Value::as_str) != Some("closed") {
        return Err(refused(
            "`load`: `connections` is a list, which only a closed load may have: give one number".to_owned(),
        ));
    }
    if levels.is_empty() {
        return Err(refused(
            "`load`: `connections` is empty: add at least one number, such as [16, 64, 256]".to_owned(),
        ));
    }
    if let Some((_, twice)) = levels
        .iter()
        .enumerate()
        .find(|(place, level)| levels[..*place].contains(level))
    {
        return Err(refused(format!(
            "`load`: `connections` contains {twice} twice: give each number once"
        )));
    }
    let one = |level: &Value| {
        let mut table = table.clone();
        table.insert(CONNECTIONS.to_owned(), level.clone());
        load(&table).map_err(refused)
    };
    levels.iter().map(one).collect()
}

fn load(table: &Table) -> Result<Load, String> {
    let written = LoadText::deserialize(table.clone());
    let written = written.map_err(|error| error.message().trim().replace('\n', "; "))?;
    Load::try_from(written).map_err(|error| format!("`load`: {error}"))
}
