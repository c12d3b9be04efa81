//! How prony treats files that others may have prepared: lock files, walks through folders, paths that must stay in a folder, and
//! writes that survive a power cut.

mod durable;
mod inside;
mod lock;
mod remove;
mod walk;

pub use durable::{sync_file_system, sync_folder};
pub use inside::{InsideError, inside};
pub use lock::LockFile;
pub use remove::remove;
pub use walk::{Entry, EntryKind, Limits, Walk};
