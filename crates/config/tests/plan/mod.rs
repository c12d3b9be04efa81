//! Catalogues and suites, from files to plans.

mod files;
mod repository;
mod suites;
