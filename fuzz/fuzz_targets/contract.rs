//! Contract files: any text is a contract, whose cases and workloads can be made, or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_config::contract::Contract;

fuzz_target!(|content: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let contract = folder.path().join("mine");
    std::fs::create_dir(&contract).expect("a folder");
    std::fs::write(contract.join("contract.toml"), content).expect("a file");
    if let Ok(contract) = Contract::load(&contract) {
        let _ = contract.operations();
    }
});
