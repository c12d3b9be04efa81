//! Helpers for tests of contracts.

use prony_config::contract::Contract;

/// Loads a contract in a folder with these files. The error is its message.
pub(crate) fn load_beside(contract: &str, files: &[(&str, &str)]) -> Result<Contract, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("toy");
    std::fs::create_dir(&path).expect("a folder");
    for (name, text) in [("contract.toml", contract)].iter().chain(files) {
        std::fs::write(path.join(name), text).expect("written");
    }
    Contract::load(&path).map_err(|error| error.to_string())
}

/// Loads a contract without other files.
#[allow(dead_code, reason = "each test binary uses its own part")]
pub(crate) fn load(contract: &str) -> Result<Contract, String> {
    load_beside(contract, &[])
}
