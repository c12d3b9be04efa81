//! `schemas/1/KIND.json` are the schemas of the types that files become.

use super::{assert_current, root};
use prony_config::format::{FORMAT, FileKind};
use prony_runner::schema_of;

#[test]
fn published_schemas_are_current() {
    let folder = root().join("schemas").join(FORMAT.to_string());
    for kind in FileKind::ALL {
        let text = serde_json::to_string_pretty(&schema_of(kind)).expect("a schema is JSON");
        assert_current(&folder.join(format!("{kind}.json")), &(text + "\n"));
    }
}
