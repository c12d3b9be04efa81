//! The binary `prony`: its commands, what they print, and what they write.

mod call;
mod check;
mod check_tls;
#[path = "../../../tests/collector.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod collector;
mod common;
mod compare;
#[path = "../../protocols/tests/corpus/entries.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod corpus;
mod dashboard;
mod files;
mod load;
mod load_curl;
mod load_familiar;
mod load_help;
mod load_input;
mod load_llm;
mod load_otlp;
mod load_percentiles;
mod load_protocols;
mod load_reflection;
mod load_rooms;
mod load_rules;
mod load_save;
mod load_schedule;
mod load_sequence;
mod load_share;
mod load_streams;
mod load_switches;
mod load_tls;
mod load_tokens;
mod load_view;
mod load_websocket;
#[path = "common/made.rs"]
mod made;
mod output;
#[path = "../../../tests/ports.rs"]
mod ports;
mod report;
mod same_verdict;
mod serve;
#[path = "../../../tests/skip.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod skip;
mod store;
mod terminal;
#[path = "common/tls.rs"]
mod tls;
mod verdict;
