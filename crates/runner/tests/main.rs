//! Trials of toys: builds, runs, checks.

mod builds;
mod common;
mod documents;
mod fakes;
mod golden;
#[path = "../../check/tests/listening.rs"]
#[allow(dead_code, reason = "shared with the mutants, which need more of it")]
mod listening;
mod runs;
#[path = "../toy/service.rs"]
#[allow(dead_code, reason = "only its answers are used here")]
mod service;
mod services;
mod shared;
#[path = "../../../tests/skip.rs"]
mod skip;
#[path = "../../check/tests/toy.rs"]
#[allow(dead_code, reason = "shared with the mutants, which need more of it")]
mod toy;
mod wrong;
