//! The files of this repository.

use prony_config::Catalogue;
use std::path::Path;

/// Users may omit descriptions; reports of this repository need them.
#[test]
fn every_service_is_described() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let catalogue = Catalogue::read(&root).expect("readable folders");
    catalogue.verify().unwrap_or_else(|error| panic!("{error}"));
    let mut faults = Vec::new();
    for service in &catalogue.services {
        let file = std::fs::read_to_string(service.folder.join("service.toml")).expect("a file");
        let is_written = |key: &str| {
            file.lines()
                .any(|line| line.trim_start().starts_with(&format!("{key} =")))
        };
        let is_run = service.reached.command().is_some();
        let needed = [
            ("title", is_written("title")),
            ("language", !service.language.is_empty()),
            ("framework", !service.framework.is_empty()),
            ("class", is_written("class")),
            ("workers", !is_run || !service.workers.note.is_empty()),
            ("toolchains", !is_run || is_written("toolchains")),
            (
                "version or version_from",
                service.written_version().is_some() || service.version_from.is_some(),
            ),
        ];
        let missing = needed.iter().filter(|(_, is_there)| !is_there);
        faults.extend(missing.map(|(key, _)| format!("{}: no {key}", service.label())));
    }
    assert_eq!(faults, [""; 0]);
}
