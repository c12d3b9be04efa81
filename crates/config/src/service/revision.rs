use crate::Toolchain;
use crate::contract::Contract;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a service of an earlier revision of the project is built, checked and loaded with.
#[derive(Debug)]
pub struct Revision {
    /// The hash of the commit.
    pub commit: String,
    /// The folder with the files of that commit.
    pub checkout: PathBuf,
    /// The same folder of the current state: the top of the work tree.
    pub work_tree: PathBuf,
    pub toolchains: BTreeMap<String, Toolchain>,
    pub contracts: BTreeMap<String, Contract>,
}
