//! The JSON Schemas of the files, derived from the types that they become.
//!
//! A key may have former names, in the extension `x-aliases`, and an enumeration former values, in `x-former-values`. A type may
//! have a description for messages, in `x-give`. A table may say of keys of other tables where they belong, in `x-misplaced`. One
//! value may stand for a list, with `x-list`.

use super::FORMAT;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::any::type_name;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Former names of a key.
pub(crate) const ALIASES: &str = "x-aliases";
/// One value stands for a list of it, which the file then becomes.
pub(crate) const LIST: &str = "x-list";
/// What a message says to give.
pub(crate) const GIVE: &str = "x-give";

/// The current values of an enumeration by their former names.
pub(crate) const FORMER_VALUES: &str = "x-former-values";
/// Keys of other tables, each with the place where it belongs.
pub(crate) const MISPLACED: &str = "x-misplaced";

static DERIVED: Mutex<BTreeMap<&'static str, Arc<Value>>> = Mutex::new(BTreeMap::new());

/// The schema of a type in draft 7 with prony's extensions: former names of keys, texts for messages. It is derived once.
pub fn extended<T: JsonSchema>() -> Arc<Value> {
    let mut derived = DERIVED.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = derived.entry(type_name::<T>()).or_insert_with(|| {
        let settings = SchemaSettings::draft07();
        let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        without_null(&mut schema);
        Arc::new(schema)
    });
    Arc::clone(schema)
}

/// The schema of a kind of file for editors: draft 7, with former names as deprecated properties.
pub fn published(extended: &Value, title: &str) -> Value {
    let mut schema = extended.clone();
    publish(&mut schema);
    let members = schema.as_object_mut().expect("invariant: the schema of a table");
    members.insert("title".into(), title.into());
    let properties = members.entry("properties").or_insert_with(|| json!({}));
    properties["format"] = json!({
        "description": "The version of the file format.",
        "const": FORMAT,
    });
    schema
}

/// TOML has no null: an optional key is absent.
fn without_null(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".into(), only);
                }
            }
            if members.get("default").is_some_and(Value::is_null) {
                members.remove("default");
            }
            if let Some(Value::Array(branches)) = members.get_mut("anyOf") {
                branches.retain(|branch| branch.get("type") != Some(&json!("null")));
                if let [only] = branches.as_slice() {
                    let only = only.clone();
                    members.remove("anyOf");
                    let has_more = !members.is_empty();
                    match only {
                        Value::Object(only) if !has_more || !only.contains_key("$ref") => {
                            members.extend(only);
                        }
                        only => {
                            members.insert("allOf".into(), json!([only]));
                        }
                    }
                }
            }
            members.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// Turns prony's extensions into standard keywords.
fn publish(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove(GIVE);
            members.remove(LIST);
            members.remove(MISPLACED);
            if let Some(Value::Object(former)) = members.remove(FORMER_VALUES) {
                publish_former_values(members, former);
            }
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                let mut former = Map::new();
                for (name, property) in properties.iter_mut() {
                    let aliases = property.as_object_mut().and_then(|keys| keys.remove(ALIASES));
                    for alias in aliases.iter().filter_map(Value::as_array).flatten() {
                        let mut old = property.clone();
                        old["deprecated"] = true.into();
                        old["description"] = format!("The former name of `{name}`.").into();
                        former.insert(alias.as_str().unwrap_or_default().to_owned(), old);
                    }
                }
                properties.extend(former);
            }
            members.values_mut().for_each(publish);
        }
        Value::Array(items) => items.iter_mut().for_each(publish),
        _ => {}
    }
}

/// Former names of values are valid but deprecated.
fn publish_former_values(enumeration: &mut Map<String, Value>, former: Map<String, Value>) {
    for (old, new) in former {
        if let Some(Value::Array(names)) = enumeration.get_mut("enum") {
            names.push(old.into());
        } else if let Some(Value::Array(branches)) = enumeration.get_mut("oneOf") {
            let description = format!("The former name of `{}`.", new.as_str().unwrap_or_default());
            branches.push(json!({ "const": old, "description": description, "deprecated": true }));
        }
    }
}

/// The schema that a reference leads to, and the schema itself if it is none.
pub(crate) fn resolved<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    loop {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let only = match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([only]) => Some(only),
            _ => None,
        };
        schema = match (reference, only) {
            (Some(reference), _) => match root.pointer(reference.trim_start_matches('#')) {
                Some(found) => found,
                None => return schema,
            },
            (None, Some(only)) => only,
            (None, None) => return schema,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Toy {
        /// How many.
        #[schemars(extend("x-aliases" = ["number"]))]
        count: Option<u32>,
    }

    #[test]
    fn former_names_are_deprecated_properties() {
        let schema = published(&extended::<Toy>(), "A toy");
        assert_eq!(schema["properties"]["number"]["deprecated"], true);
        assert_eq!(schema["properties"]["count"]["type"], "integer");
        assert_eq!(schema["additionalProperties"], false);
        assert!(schema["properties"]["count"].get(ALIASES).is_none());
    }
}
