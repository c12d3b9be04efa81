//! Runs that someone else exported: a store imports any file or refuses it, and what it imported can be read and exported
//! again unchanged.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_records::{Histogram, Responses, check_run_name};
use prony_store::Store;

fn exported(store: &Store) -> Vec<u8> {
    let mut out = Vec::new();
    store.export(None, "0.1.0", &mut out).expect("exports");
    out
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(histogram) = std::str::from_utf8(bytes).map_or(Ok(Histogram::new()), Histogram::decode) {
        let _ = histogram.summary();
        assert_eq!(Histogram::decode(&histogram.encode()).expect("own text"), histogram);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store.db")).expect("a store");
    // Complete runs are imported even if the rest of the file is not an export.
    let _ = store.import(&mut &*bytes, false);
    for run in store.runs().expect("lists") {
        check_run_name(&run.id).expect("a name");
        assert!(run.imported);
        let trials = store.trials(&run.id).expect("reads");
        assert_eq!(store.heads(&run.id).expect("reads").len(), trials.len());
        for measured in trials.iter().filter_map(|trial| trial.result.as_ref().ok()) {
            let _ = Responses::of(&measured.recording);
        }
    }
    let first = exported(&store);
    let other = Store::open(&folder.path().join("other.db")).expect("a store");
    other.import(&mut &*first, false).expect("its own export");
    assert_eq!(exported(&other), first);
});
