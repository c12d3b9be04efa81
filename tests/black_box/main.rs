//! Tests of the real binary from outside, in a checkout of toys.

mod action;
mod any_repository;
mod backing_services;
mod backing_services_access;
mod backing_services_faults;
mod backing_services_restart;
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
mod database_checks;
mod doctor;
mod draft;
mod drafts;
mod duet;
mod environment;
mod events;
mod external_services;
mod failures;
mod file_formats;
mod foreign_files;
mod gateway;
#[path = "../testbed.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod hosts;
mod images;
mod init;
mod interleaved;
mod interrupts;
mod kills;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod llm;
mod machine;
mod misbehaving;
mod new;
mod otlp;
#[path = "../ports.rs"]
mod ports;
mod resume;
mod run;
mod schemas;
mod secrets;
mod secure;
mod server;
mod shared_starts;
mod shopfront;
#[path = "../skip.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod skip;
mod skips;
mod ssh_hosts;
mod starts;
mod suites;
mod testbed;
mod testbed_clocks;
mod testbed_commands;
mod testbed_kills;
mod testbed_links;
mod testbed_page;
#[cfg(feature = "kubernetes")]
mod testbed_pods;
mod testbed_ssh;
#[path = "../../crates/cli/tests/common/tls.rs"]
mod tls;
mod view;
mod walkthrough;
mod warm_up;
mod websocket;
