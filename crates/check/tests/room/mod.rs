//! Servers with rooms that have one fault each.

mod house;
mod server;

use crate::{assert_faults_rejected, check_and_recheck, contract, failures_of, matches_pattern};
use prony_config::contract::Contract;
use prony_load::Protocol;
use server::Fault;

/// Each fault, and the failure that the check must report. `*` stands for any text.
const MUTANTS: [(Fault, &str); 35] = [
    (
        Fault::AnswersAnyPath,
        "unknown path: *status: expected 400 or 403 or 404, got 101",
    ),
    (
        Fault::TakesNoName,
        "no room without a name: *status: expected 400 or 403 or 404, got 101",
    ),
    (
        Fault::TakesCompression,
        "compression is declined: *uses an extension (Sec-WebSocket-Extensions)",
    ),
    (
        Fault::MissesSender,
        "every member receives it: *b, message 1: expected a text of *got nothing within",
    ),
    (
        Fault::MissesOthers,
        "every member receives it: *a, message 1: expected a text of *got nothing within",
    ),
    (
        Fault::MissesOne,
        "every member receives it: *b, message 1: *got nothing within",
    ),
    (
        Fault::MissesThoseBeyondTen,
        "many members: *k, message 1: *got nothing within",
    ),
    (Fault::LosesEveryTenth, "many members: *got nothing within"),
    (
        Fault::LosesUnderLoad,
        "one order for all: *a, message 10: expected *got a",
    ),
    (
        Fault::Doubles,
        "every member receives it: *a, message 1: expected a text of *got a text of",
    ),
    (
        Fault::DoublesForOne,
        "every member receives it: *b, message 1: expected a text of *got a text of",
    ),
    (
        Fault::LagsForOne,
        "every member receives it: *b, message 1: *got nothing within",
    ),
    (
        Fault::TextsFirstForOne,
        "one order for all: *b, message *expected a binary message of *as a received it, got a text of",
    ),
    (
        Fault::SenderHearsItselfFirst,
        "one order for all: *message *, as a received it, got ",
    ),
    (Fault::OneRoom, "rooms are separate: *, message "),
    (Fault::IgnoresCase, "names of rooms: *, message "),
    (Fault::CutsNames, "names of rooms: *d, message "),
    (Fault::Alters, "message 1: expected a text of 64 bytes"),
    (
        Fault::AltersForOthers,
        "every member receives it: *a, message 1: expected a text of 27 bytes*got a text of 27 bytes",
    ),
    (
        Fault::TextForBinary,
        "text and binary messages keep their type: *expected a binary message of 64 bytes*got a text of 64 bytes",
    ),
    (
        Fault::BinaryForText,
        "expected a text of *got a binary message of ",
    ),
    (
        Fault::CutsAt64KiB,
        "large messages for all: *expected a binary message of 65536 bytes*got a binary message of 65535 bytes",
    ),
    (
        Fault::RefusesMiB,
        "messages of every length: *size=1048576): message 1: *got a close with code 1009",
    ),
    (
        Fault::ForgetsEmpty,
        "every member receives it: *got nothing within",
    ),
    (
        Fault::Replays,
        "new members receive only later messages: *b, message 1: expected a text of 27 bytes*got a text of",
    ),
    (
        Fault::TellsWhoComes,
        "every member receives it: *a, message 1: *got a text of 17 bytes, `somebody has come`",
    ),
    (
        Fault::TellsWhoLeaves,
        "members that leave do not block others: *got a text of 17 bytes, `somebody has left`",
    ),
    (
        Fault::StopsAfterLeave,
        "members that leave do not block others: *a, message 1: *got nothing within",
    ),
    // Messages sent right after the cut may arrive before the server notices it.
    (
        Fault::StopsAfterCut,
        "disconnected members do not block others: *got nothing within",
    ),
    (
        Fault::EndsWithItsFirst,
        "members that leave do not block others: *c, message 1: *got the end of the connection",
    ),
    (
        Fault::StaysOver,
        "an empty room starts again: *b, message 1: *got nothing within",
    ),
    (
        Fault::RefusesTheEleventh,
        "many members: *status: expected 101, got 404",
    ),
    (
        Fault::WaitsForTheSlow,
        "members that do not read do not block others: *got nothing within",
    ),
    (
        Fault::BadTextEndsAll,
        "a text that is not UTF-8 is not delivered: *b, message 1: *got the end of the connection",
    ),
    (
        Fault::SpreadsBadText,
        "a text that is not UTF-8 is not delivered: *b, message 1: expected a text of 64 bytes*got a text of 3 bytes",
    ),
];

/// The contract with only the cases whose name matches the text before the first colon of `failure`: with most faults, nearly
/// every case would wait for its timeout. The whole contract if there is no such case.
fn contract_for(failure: &str) -> Contract {
    let whole = contract("room");
    let text = std::fs::read_to_string(whole.folder.join("contract.toml")).expect("it was just read");
    let mut table: toml::Table = text.parse().expect("it was just read");
    let Some(toml::Value::Array(cases)) = table.get_mut("case") else {
        panic!("a contract has cases")
    };
    let (pattern, _) = failure.split_once(": ").unwrap_or((failure, ""));
    let is_named = |case: &toml::Value| {
        let name = case["name"].as_str().expect("a case has a name");
        !pattern.is_empty() && matches_pattern(name, pattern)
    };
    if !cases.iter().any(is_named) {
        return whole;
    }
    cases.retain(is_named);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let room = folder.path().join("room");
    std::fs::create_dir(&room).expect("a folder in it");
    std::fs::write(room.join("contract.toml"), table.to_string()).expect("a file in it");
    Contract::load(&room).unwrap_or_else(|error| panic!("{error}"))
}

fn failures_with(fault: Fault, expected: &str) -> String {
    let server = server::serve(fault);
    failures_of(&check_and_recheck(
        &contract_for(expected),
        server.address,
        Protocol::WebSocket,
    ))
}

#[test]
fn every_wrong_room_is_rejected() {
    assert_eq!(failures_with(Fault::None, ""), "", "the correct server must pass");
    assert_faults_rejected(&MUTANTS, failures_with);
}
