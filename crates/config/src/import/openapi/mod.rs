//! OpenAPI descriptions, 3.0 to 3.2, in JSON or YAML.
//!
//! Crates that read descriptions into types (`openapiv3`, `oas3`) reject a file as a whole for one value of the wrong type, and each has one of
//! the versions: so the description stays a JSON value here, and what is wrong in it costs an operation or a part of a schema.

mod files;
mod identifiers;
mod omission;
mod operation;
mod parameters;
mod pattern;
mod reference;
mod request;
mod sample;
mod schema;
mod values;

use crate::import::document::{Document, step};
use crate::import::size::DraftRoom;
use crate::import::{Draft, DraftError, ExpectedBody, Omission};
use files::Files;
use operation::{OperationLocation, OperationReader};
use reference::Description;
use serde_json::Value;
use std::path::Path;

/// The methods of a path item.
const METHODS: [&str; 9] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];

/// A draft with one operation for each of the description.
pub fn from_openapi(path: &Path) -> Result<Draft, DraftError> {
    let mut document = Document::read(path)?;
    let version = version(&document)?;
    let files = Files::read(path, &mut document);
    let description = Description::new(&document, &files, version.starts_with("3.0"));
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
    let mut found = locations(&description, &mut draft)?;
    found.sort_by_key(|location| description.line(&location.pointer));
    let mut reader = OperationReader::new(&description);
    let mut room = DraftRoom::new();
    for location in &found {
        let place = || description.place(&location.pointer);
        if !room.is_open(place) {
            continue;
        }
        match reader.read(location) {
            Ok(made) => room.add(made, &mut draft.operations, place),
            Err(reason) => {
                let reason = format!("{} {}: {reason}", location.method, location.path);
                draft.omitted.push(Omission::new(place(), reason));
            }
        }
    }
    draft.omitted.extend(room.omission());
    if draft.operations.is_empty() {
        let why = draft.first_reason();
        return Err(document.invalid("/paths", format!("no operation that a contract can call{why}")));
    }
    let schemas = reader.schemas.finish();
    for operation in &mut draft.operations {
        if let Some(ExpectedBody::Schema(name)) = &operation.expect.body
            && schemas.reduced.contains(name)
        {
            let remark =
                format!("Parts of the schema `{name}` of its reply are left out: see the top of this file.");
            operation.add_gap(remark);
        }
    }
    draft.schemas = schemas.definitions;
    draft.remarks.extend(schemas.remarks);
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
    if version.starts_with("3.") {
        Ok(version)
    } else {
        let message = format!("OpenAPI {version} is not supported: use 3.0, 3.1 or 3.2");
        Err(document.invalid("/openapi", message))
    }
}

/// Every operation of the description. Paths that cannot be read are omitted.
fn locations(description: &Description<'_>, draft: &mut Draft) -> Result<Vec<OperationLocation>, DraftError> {
    let document = description.document;
    let Some(paths) = document.value.get("paths").and_then(Value::as_object) else {
        return Err(document.invalid("/paths", "there are no `paths`: nothing to call"));
    };
    let mut found = Vec::new();
    for (path, item) in paths.iter().filter(|(path, _)| !path.starts_with("x-")) {
        let pointer = step("/paths", path);
        let item = if path.starts_with('/') {
            description
                .resolved(item, &pointer)
                .map_err(|error| error.to_string())
        } else {
            Err("a path starts with `/`".to_owned())
        };
        let (item, pointer) = match item {
            Ok(item) => item,
            Err(reason) => {
                let reason = format!("`{path}`: {reason}");
                draft
                    .omitted
                    .push(Omission::new(description.place(&pointer), reason));
                continue;
            }
        };
        let own = METHODS
            .iter()
            .filter_map(|method| Some((item.get(*method)?, step(&pointer, method), method.to_uppercase())));
        let more = item.get("additionalOperations").and_then(Value::as_object);
        let below = step(&pointer, "additionalOperations");
        let more = more
            .into_iter()
            .flatten()
            .map(|(method, operation)| (operation, step(&below, method), method.clone()));
        for (operation, place, method) in own.chain(more) {
            // Descriptions in several files have a reference in place of an operation.
            match description.resolved(operation, &place) {
                Ok((_, resolved)) => found.push(OperationLocation {
                    pointer: resolved,
                    item: pointer.clone(),
                    method,
                    path: path.clone(),
                }),
                Err(error) => {
                    let reason = format!("{method} {path}: {error}");
                    draft
                        .omitted
                        .push(Omission::new(description.place(&place), reason));
                }
            }
        }
    }
    Ok(found)
}
