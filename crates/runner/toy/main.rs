//! Helpers for the tests of trials: a service that misbehaves on purpose, a small generator, and a supervisor for both.

mod generator;
mod service;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["supervise"] => prony_host::supervise().expect("supervised"),
        ["load", ..] => generator::load(),
        ["serve", behaviour @ ..] => service::serve(behaviour),
        _ => panic!("unknown: {words:?}"),
    }
}
