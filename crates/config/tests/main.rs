//! Files that users write: contracts, catalogues and suites, and imports.

mod contract;
mod format;
mod import;
mod plan;
mod service;
