//! Gives keys their current names, which their schemas list.

use super::{Editor, Path, Step, join, key};
use crate::format::edit::Edit;
use crate::format::schema::{ALIASES, resolved};
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

/// Renames every key that has a former name. Where both names are there, the file is wrong, and its reader says so.
pub(super) fn rename(schema: &Value, tree: &mut DeTable<'_>, edits: &mut Vec<Edit>) {
    let mut editor = Editor { tree, edits };
    walk(&mut editor, schema, &[schema], &Path::new());
}

fn walk(editor: &mut Editor<'_, '_>, root: &Value, schemas: &[&Value], path: &[Step]) {
    let branches: Vec<&Value> = schemas.iter().flat_map(|schema| branches(root, schema)).collect();
    if editor.table(path).is_some() {
        let properties: Vec<&Map<String, Value>> = branches
            .iter()
            .filter_map(|branch| branch.get("properties")?.as_object())
            .collect();
        for name in editor.keys(path) {
            let is_current = properties.iter().any(|known| known.contains_key(&name));
            let current = properties.iter().find_map(|known| current(known, &name));
            if let (false, Some(current)) = (is_current, current)
                && !editor.has(&key(path, current))
            {
                editor.rename(path, &name, current);
            }
        }
        for name in editor.keys(path) {
            let mut inner: Vec<&Value> = properties.iter().filter_map(|known| known.get(&name)).collect();
            if inner.is_empty() {
                let others = branches
                    .iter()
                    .filter_map(|branch| branch.get("additionalProperties"));
                inner.extend(others.filter(|schema| schema.is_object()));
            }
            if !inner.is_empty() {
                walk(editor, root, &inner, &key(path, &name));
            }
        }
    } else if let Some(DeValue::Array(items)) = editor.at(path).map(toml::Spanned::get_ref) {
        let count = items.len();
        let inner: Vec<&Value> = branches.iter().filter_map(|branch| branch.get("items")).collect();
        for index in (0..count).filter(|_| !inner.is_empty()) {
            walk(editor, root, &inner, &join(path, Step::Index(index)));
        }
    }
}

/// The shapes that a schema allows.
fn branches<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let schema = resolved(root, schema);
    match schema
        .get("anyOf")
        .or_else(|| schema.get("oneOf"))
        .and_then(Value::as_array)
    {
        Some(several) => several.iter().flat_map(|branch| branches(root, branch)).collect(),
        None => vec![schema],
    }
}

fn current<'a>(properties: &'a Map<String, Value>, former: &str) -> Option<&'a str> {
    let has = |property: &Value| {
        let aliases = property.get(ALIASES).and_then(Value::as_array);
        aliases.is_some_and(|aliases| aliases.iter().any(|alias| alias == former))
    };
    properties
        .iter()
        .find(|(_, property)| has(property))
        .map(|(name, _)| name.as_str())
}
