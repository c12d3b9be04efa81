//! Catalogues and suites, from files to plans.

mod checkout;
mod groups;
mod repository;
mod suite_errors;
mod suites;
mod trials;
