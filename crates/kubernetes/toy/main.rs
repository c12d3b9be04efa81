//! Replaces prony in the pods of the tests: an agent, and a supervisor for it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["supervise"] => prony_host::supervise().expect("supervised"),
        ["agent", hash @ ..] => {
            let own = std::env::current_exe().expect("a path");
            let hash = hash.last().map(|&hash| hash.to_owned());
            prony_host::agent(vec![own.into(), "supervise".into()], hash).expect("served");
        }
        _ => panic!("unknown: {words:?}"),
    }
    ExitCode::SUCCESS
}
