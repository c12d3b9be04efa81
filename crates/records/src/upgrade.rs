//! Keys of JSON that have been renamed. Typed readers know the old keys by `serde(alias)`; whatever reads JSON without types
//! converts it here first.

use serde_json::Value;

/// Keys of schema 1, and their names since schema 2.
const KEYS: &[(&str, &str)] = &[
    ("unexpected", "unexpected"),
    ("refused", "connect_error"),
    ("dropped", "dropped"),
    ("unexpected_replies", "unexpected_replies"),
];

/// Renames the keys of an earlier schema, at every depth.
pub fn upgrade(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (old, new) in KEYS {
                if let Some(found) = map.remove(*old) {
                    map.insert((*new).to_owned(), found);
                }
            }
            map.values_mut().for_each(upgrade);
        }
        Value::Array(list) => list.iter_mut().for_each(upgrade),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::upgrade;
    use serde_json::json;

    #[test]
    fn keys_are_renamed_at_every_depth() {
        let mut old = json!({ "groups": [{ "outcomes": { "valid": 1, "dropped": 2 } }] });
        upgrade(&mut old);
        assert_eq!(
            old,
            json!({ "groups": [{ "outcomes": { "valid": 1, "dropped": 2 } }] })
        );
    }
}
