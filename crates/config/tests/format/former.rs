//! Files without `format` keep their meaning, and so do the files that the upgrade makes of them.

use prony_config::contract::Contract;
use prony_config::format::{FileKind, SourceFile, upgraded};
use prony_config::schemas;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry").path();
        if entry.is_file() {
            std::fs::copy(&entry, to.join(entry.file_name().expect("a name"))).expect("copied");
        }
    }
}

/// Requests, expectations and loads of a contract, for comparison. Signatures differ each time.
fn meaning(contract: &Contract) -> Vec<String> {
    let token = regex::Regex::new(r"eyJ[\w-]+\.[\w-]+\.[\w-]*").expect("a pattern");
    let mut lines = Vec::new();
    let mut add = |line: String| lines.push(token.replace_all(&line, "TOKEN").into_owned());
    for protocol in contract.protocols() {
        for case in contract.cases(protocol, 1) {
            let how = (&case.delivery, case.alone, case.thorough, &case.restart, &case.leave);
            add(format!("{protocol:?} {}: {how:?}", case.name));
            for exchange in &case.exchanges {
                let request = serde_json::to_string(&exchange.request).expect("JSON");
                let expect = serde_json::to_string(&exchange.expect).expect("JSON");
                let times = (&exchange.within, &exchange.until);
                add(format!("{}: {request} {expect} {:?} {times:?}", exchange.label, exchange.script));
            }
        }
        for (workload, _) in contract.workloads() {
            if let Ok(built) = contract.workload(&workload, protocol) {
                let load = contract.load_of(Some(&workload));
                add(format!("{workload} {load:?} {}", serde_json::to_string(&built).expect("JSON")));
            }
        }
    }
    lines
}

#[test]
fn upgraded_contracts_mean_the_same() {
    let former = repository().join("crates/config/tests/format/former/contracts");
    for entry in std::fs::read_dir(&former).expect("former contracts") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join(&name);
        copied(&repository().join("contracts").join(&name), &folder);
        let file = folder.join("contract.toml");
        std::fs::copy(&path, &file).expect("copied");
        let old = Contract::load(&folder).unwrap_or_else(|error| panic!("{name}: {error}"));
        let schema = schemas::extended(FileKind::Contract).expect("a schema");
        let source = SourceFile::read(&file).expect("read");
        let text = upgraded(FileKind::Contract, &schema, &source)
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .expect("changed");
        std::fs::write(&file, &text).expect("written");
        let again = upgraded(FileKind::Contract, &schema, &SourceFile::new(&file, text.as_str()));
        assert_eq!(again, Ok(None), "{name}: one upgrade is enough");
        if let Some(out) = std::env::var_os("PRONY_UPGRADED") {
            std::fs::write(Path::new(&out).join(format!("{name}.toml")), &text).expect("written");
        }
        let new = Contract::load(&folder).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        let (old, new) = (meaning(&old), meaning(&new));
        for (old, new) in old.iter().zip(&new) {
            let differ = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
            let shown = |text: &str| text.get(differ.saturating_sub(200)..).unwrap_or(text).chars().take(500).collect::<String>();
            assert!(old == new, "{name}:\n{}\n{}", shown(old), shown(new));
        }
        assert_eq!(old.len(), new.len(), "{name}");
    }
}
