//! OpenAPI descriptions, 3.0 or 3.1, in JSON or YAML.

mod operation;
mod reference;
mod request;
mod sample;
mod schema;

use crate::import::document::{Document, step};
use crate::import::draft::Names;
use crate::import::size::DraftRoom;
use crate::import::{Draft, DraftError};
use reference::Description;
use sample::Sampler;
use schema::Schemas;
use serde_json::Value;
use std::path::Path;

/// The methods of a path item.
const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// A draft with one operation for each of the description.
pub fn from_openapi(path: &Path) -> Result<Draft, DraftError> {
    let document = Document::read(path)?;
    let version = version(&document)?;
    let description = Description {
        document: &document,
        is_old: version.starts_with("3.0"),
    };
    let text = |pointer: &str| document.value.pointer(pointer).and_then(Value::as_str);
    let mut draft = Draft {
        title: text("/info/title").unwrap_or("An API").to_owned(),
        summary: text("/info/summary")
            .or_else(|| text("/info/description").and_then(|text| text.lines().next()))
            .filter(|text| !text.trim().is_empty())
            .unwrap_or("Drafted from its description.")
            .trim()
            .to_owned(),
        source: format!("{} (OpenAPI {version})", document.file),
        ..Draft::default()
    };
    let mut found = operations(&description)?;
    found.sort_by_key(|(pointer, ..)| document.line(pointer));
    let mut names = Names::default();
    let mut schemas = Schemas::new(&description);
    let sampler = Sampler::new(&description);
    let mut room = DraftRoom::new();
    for (pointer, method, path) in found {
        let place = operation::OperationLocation {
            pointer: &pointer,
            method: &method,
            path: &path,
        };
        if !room.is_open(|| document.place(&pointer)) {
            continue;
        }
        match operation::read(&sampler, &place, (&mut names, &mut schemas))? {
            Ok(made) => room.add(made, &mut draft.operations, || document.place(&pointer)),
            Err(why) => draft.remarks.push(format!(
                "{}: {} {path} is left out: {why}",
                document.place(&pointer),
                method.to_uppercase()
            )),
        }
    }
    draft.remarks.extend(room.remark());
    if draft.operations.is_empty() {
        let why = draft
            .remarks
            .first()
            .map(|remark| format!(": {remark}"))
            .unwrap_or_default();
        return Err(document.invalid("/paths", format!("no operation that a contract can call{why}")));
    }
    let (schemas, remark) = schemas.finish()?;
    draft.schemas = schemas;
    draft.remarks.extend(remark);
    Ok(draft)
}

fn version(document: &Document) -> Result<String, DraftError> {
    let version = match document.value.get("openapi") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None if document.value.get("swagger").is_some() => {
            let message =
                "Swagger 2.0: convert it to OpenAPI 3 first, for example with `npx swagger2openapi`";
            return Err(document.invalid("/swagger", message));
        }
        None => return Err(document.invalid("", "not an OpenAPI description: there is no `openapi: 3.1.0`")),
    };
    if version.starts_with("3.0") || version.starts_with("3.1") {
        Ok(version)
    } else {
        let message = format!("OpenAPI {version} is not supported: use 3.0 or 3.1");
        Err(document.invalid("/openapi", message))
    }
}

/// Pointer, method and path of every operation.
fn operations(description: &Description<'_>) -> Result<Vec<(String, String, String)>, DraftError> {
    let document = description.document;
    let Some(paths) = document.value.get("paths").and_then(Value::as_object) else {
        return Err(document.invalid("/paths", "there are no `paths`: nothing to call"));
    };
    let mut found = Vec::new();
    for (path, item) in paths.iter().filter(|(path, _)| !path.starts_with("x-")) {
        let pointer = step("/paths", path);
        if !path.starts_with('/') {
            return Err(document.invalid(&pointer, format!("the path `{path}` does not start with `/`")));
        }
        let (item, pointer) = description.resolved(item, &pointer)?;
        for method in METHODS {
            if item.get(method).is_some() {
                found.push((step(&pointer, method), method.to_owned(), path.clone()));
            }
        }
    }
    Ok(found)
}
