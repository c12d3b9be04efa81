//! Protocol buffer files: any text is compiled, and a message encoded, or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_config::contract::ProtoMethod;

fuzz_target!(|content: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.proto");
    std::fs::write(&file, content).expect("a file");
    if let Ok(method) = ProtoMethod::find(&file, &[], "a.A/a") {
        let _ = method.encode_request("{}");
        let _ = method.encode_reply("{\"a\":[1]}");
    }
});
