//! Generated data of backing services.

use crate::build::InstalledToolchain;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The data of backing services that this process has generated or found, and its folder.
#[derive(Debug)]
pub struct Seeds {
    pub(crate) folder: PathBuf,
    /// Toolchains of this machine, by name.
    pub(crate) found: Mutex<BTreeMap<String, Result<InstalledToolchain, String>>>,
    /// Keys of data that exists.
    pub(crate) made: Mutex<BTreeSet<String>>,
}

impl Seeds {
    /// Data in this folder; on another host, in its cache.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            found: Mutex::default(),
            made: Mutex::default(),
        }
    }
}
