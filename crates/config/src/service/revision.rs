use crate::Toolchain;
use crate::contract::Contract;
use std::collections::BTreeMap;

/// What a service of an earlier revision of the project is built, checked and loaded with.
#[derive(Debug)]
pub struct Revision {
    /// The hash of the commit.
    pub commit: String,
    pub toolchains: BTreeMap<String, Toolchain>,
    pub contracts: BTreeMap<String, Contract>,
}
