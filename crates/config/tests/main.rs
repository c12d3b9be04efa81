//! What people write: contracts, catalogues and suites, and what is imported.

mod contract;
mod import;
mod plan;
