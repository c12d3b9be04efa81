//! Keys and values of JSON that have been renamed. Typed readers know the old keys by `serde(alias)`; whatever reads JSON without types
//! converts it here first.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Keys of schema 1, and their names since schema 2.
const KEYS: &[(&str, &str)] = &[
    ("wrong_reply", "unexpected"),
    ("refused", "connect_error"),
    ("not_sent", "dropped"),
    ("wrong_replies", "unexpected_replies"),
    ("turns", "interleaved"),
    ("yardstick_ns", "cpu_speed_probe_ns"),
    ("companions", "backing_services"),
    ("companion", "backing_service"),
    (
        "companion_cpu_ns_per_request",
        "backing_service_cpu_ns_per_request",
    ),
    ("era", "pinned"),
];

/// Values of schema 1 under a key, and their names since schema 2.
const VALUES: &[(&str, &str, &str)] = &[
    ("kind", "companion_bound", "backing_service_bound"),
    ("kind", "staircase", "step_load"),
    ("kind", "turns", "interleaved"),
    ("fault", "lab", "infrastructure"),
    ("class", "full", "fullstack"),
];

/// Renames the keys and values of an earlier schema, at every depth.
pub fn upgrade(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (old, new) in KEYS {
                if let Some(found) = map.remove(*old) {
                    map.insert((*new).to_owned(), found);
                }
            }
            for (key, old, new) in VALUES {
                if let Some(value) = map.get_mut(*key).filter(|value| *value == *old) {
                    *value = Value::from(*new);
                }
            }
            map.values_mut().for_each(upgrade);
        }
        Value::Array(list) => list.iter_mut().for_each(upgrade),
        _ => {}
    }
}

/// Reads a load that is stored as JSON without a type, under its current names.
pub(crate) fn read_load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let mut load = Value::deserialize(deserializer)?;
    upgrade(&mut load);
    Ok(load)
}

/// Reads the plan of a run. Only its loads get their current names, since they are compared with those of the trials: other parts have
/// keys that users chose, such as names of contracts.
pub(crate) fn read_plan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let mut plan = Value::deserialize(deserializer)?;
    let groups = plan.get_mut("groups").and_then(Value::as_array_mut);
    for group in groups.into_iter().flatten() {
        group.get_mut("load").into_iter().for_each(upgrade);
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::{read_plan, upgrade};
    use serde_json::json;

    #[test]
    fn keys_are_renamed_at_every_depth() {
        let mut old = json!({ "groups": [{ "outcomes": { "valid": 1, "not_sent": 2 } }] });
        upgrade(&mut old);
        assert_eq!(
            old,
            json!({ "groups": [{ "outcomes": { "valid": 1, "dropped": 2 } }] })
        );
    }

    #[test]
    fn values_are_renamed_under_their_key_alone() {
        let mut old = json!({ "fault": "lab", "note": "lab", "load": { "kind": "staircase" } });
        upgrade(&mut old);
        assert_eq!(
            old,
            json!({ "fault": "infrastructure", "note": "lab", "load": { "kind": "step_load" } })
        );
    }

    #[test]
    fn only_the_loads_of_a_plan_are_upgraded() {
        let plan =
            |kind: &str| json!({ "groups": [{ "load": { "kind": kind } }], "contracts": { "turns": "5f" } });
        assert_eq!(read_plan(plan("staircase")).expect("a plan"), plan("step_load"));
    }
}
