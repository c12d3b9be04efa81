//! Recordings of others: an import into a store takes any file or refuses it, and what it took can be read and exported again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_store::Store;

fuzz_target!(|content: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("a store");
    let mut input = content;
    let _ = store.import(&mut input, false);
    let _ = store.runs();
    let mut out = Vec::new();
    if store.export(None, "fuzz", &mut out).is_ok() {
        let again = Store::open(&folder.path().join("again.db")).expect("a store");
        let imported = again.import(&mut out.as_slice(), false);
        assert!(imported.is_ok(), "what was exported can be imported: {imported:?}");
    }
});
