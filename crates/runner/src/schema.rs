//! The JSON Schemas of all kinds of files.

use crate::CommandError;
use crate::error::ErrorContext as _;
use crate::testbed::TestbedToml;
use prony_config::format::{FileKind, schema};
use prony_config::schemas;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The schema of a kind of file with prony's extensions.
pub fn extended_schema(kind: FileKind) -> Arc<Value> {
    match kind {
        FileKind::Testbed => schema::extended::<TestbedToml>(),
        other => schemas::extended(other).expect("invariant: the other kinds are files of the catalogue"),
    }
}

/// The schema of a kind of file for editors: JSON Schema draft 7.
pub fn schema_of(kind: FileKind) -> Value {
    schema::published(&extended_schema(kind), &format!("prony: {kind}"))
}

/// Writes the schemas of these kinds into a project, unless they are there. Returns the files that were written.
pub fn write_missing_schemas(root: &Path, kinds: &[FileKind]) -> Result<Vec<String>, CommandError> {
    let mut written = Vec::new();
    for kind in kinds {
        let name = kind.schema_file();
        let file = root.join(&name);
        if file.exists() {
            continue;
        }
        let cannot = || format!("cannot write {}", file.display());
        std::fs::create_dir_all(file.parent().unwrap_or(root)).failed(cannot)?;
        std::fs::write(&file, format!("{:#}\n", schema_of(*kind))).failed(cannot)?;
        written.push(name);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_has_descriptions_and_former_names() {
        let testbed = schema_of(FileKind::Testbed);
        let host = &testbed["definitions"]["Host"]["properties"];
        assert_eq!(host["program"]["deprecated"], true);
        assert!(host["binary"]["description"].is_string(), "{testbed:#}");
        assert_eq!(testbed["properties"]["format"]["const"], 1);
        let project = schema_of(FileKind::Project);
        assert_eq!(project["properties"]["lab"]["deprecated"], true);
    }
}
