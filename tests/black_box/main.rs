//! Tests of the real binary from outside, in a checkout of toys.

mod action;
mod away;
mod behind;
mod calibrate;
mod call;
#[cfg(feature = "kubernetes")]
#[path = "../../crates/kubernetes/tests/cluster/mod.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod cluster;
#[path = "../collector.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod collector;
mod common;
mod companions;
mod companions_faults;
mod companions_restart;
mod doctor;
mod draft;
mod drafts;
mod duet;
mod events;
#[path = "../lab.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod hosts;
mod images;
mod kills;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod lab;
mod lab_clocks;
mod lab_commands;
mod lab_kills;
mod lab_links;
mod lab_page;
#[cfg(feature = "kubernetes")]
mod lab_pods;
mod lab_ssh;
mod llm;
mod machine;
mod misbehaving;
mod new;
mod otlp;
#[path = "../ports.rs"]
mod ports;
mod resume;
mod run;
mod server;
mod shopfront;
#[path = "../skip.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod skip;
mod skips;
mod starts;
mod suites;
mod there;
#[path = "../../crates/cli/tests/common/tls.rs"]
mod tls;
mod turns;
mod view;
mod walk;
mod websocket;
