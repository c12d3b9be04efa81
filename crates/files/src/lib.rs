//! How prony treats files that others may have prepared: lock files, walks through folders, paths that must stay in a folder, and
//! writes that survive a power cut.
//!
//! This crate must never know what a file means, and never follow a symbolic link that it was not given by name. Start at
//! [`LockFile`] and [`Walk`].

mod durable;
mod inside;
mod lock;
mod own_folder;
mod remove;
mod walk;

#[cfg(test)]
#[path = "../../../tests/skip.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod skip;

pub use durable::{sync_file_system, sync_folder};
pub use inside::{InsideError, inside};
pub use lock::LockFile;
pub use own_folder::{own_folder, user};
pub use remove::remove;
pub use walk::{Entry, EntryKind, Limits, Walk};
