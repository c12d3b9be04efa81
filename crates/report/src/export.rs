//! The JSON of a report as it was exported, perhaps by an earlier version.

use crate::ReportError;
use prony_records::{SCHEMA, upgrade};
use serde_json::Value;

/// Converts an export of an earlier version: renamed keys, and ranks as one range. One of a later version is refused.
pub(crate) fn upgrade_export(report: &mut Value) -> Result<(), ReportError> {
    let version = &report["schema"];
    if version
        .as_u64()
        .is_some_and(|version| !(1..=u64::from(SCHEMA)).contains(&version))
    {
        return Err(ReportError::Version {
            found: version.to_string(),
            read: SCHEMA,
        });
    }
    upgrade(report);
    let rows = list(report, "groups")
        .iter_mut()
        .flat_map(|group| list(group, "services"));
    for row in rows.filter_map(Value::as_object_mut) {
        if let Some(range) = row.remove("rank_interval") {
            row.insert("rank_low".to_owned(), range["best"].clone());
            row.insert("rank_high".to_owned(), range["worst"].clone());
        }
    }
    Ok(())
}

fn list<'a>(value: &'a mut Value, key: &str) -> &'a mut [Value] {
    let found = value.get_mut(key).and_then(Value::as_array_mut);
    found.map(Vec::as_mut_slice).unwrap_or_default()
}
