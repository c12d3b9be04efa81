//! The JSON Schemas of the files that this crate reads.

use crate::project::Settings;
use crate::testbed::TestbedToml;
use prony_config::format::{FileKind, schema};
use serde_json::Value;

/// The schema of testbed files and of `prony.toml`; `None`: the file is read elsewhere.
pub fn schema_of(kind: FileKind, id: &str) -> Option<Value> {
    match kind {
        FileKind::Testbed => Some(schema::published::<TestbedToml>("Testbed of prony", id)),
        FileKind::Project => Some(schema::published::<Settings>("Project of prony", id)),
        FileKind::Contract
        | FileKind::Service
        | FileKind::Suite
        | FileKind::Toolchains
        | FileKind::Backing
        | FileKind::Sequence => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_has_descriptions_and_former_names() {
        let testbed = schema_of(FileKind::Testbed, "testbed.json").expect("a testbed");
        let host = &testbed["definitions"]["Host"]["properties"];
        assert_eq!(host["program"]["deprecated"], true);
        assert!(host["binary"]["description"].is_string(), "{testbed:#}");
        assert_eq!(testbed["properties"]["format"]["const"], 1);
        let project = schema_of(FileKind::Project, "project.json").expect("a project");
        assert_eq!(project["properties"]["lab"]["deprecated"], true);
        assert_eq!(schema_of(FileKind::Suite, ""), None);
    }
}
