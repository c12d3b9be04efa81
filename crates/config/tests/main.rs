//! Files that users write: contracts, catalogues and suites, and imports.

mod contract;
mod import;
mod plan;
mod service;
