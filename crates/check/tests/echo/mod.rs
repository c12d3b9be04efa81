//! WebSocket servers with one fault each.

mod server;

use crate::{assert_faults_rejected, check_and_recheck, contract, failures_of};
use prony_load::Protocol;
use server::Fault;

/// Each fault, and the failure that the check must report.
const MUTANTS: [(Fault, &str); 38] = [
    (
        Fault::AnswersAnyPath,
        "unknown path: *status: expected 400 or 403 or 404, got 101",
    ),
    (Fault::SwitchesWith200, "status: expected 101, got 200"),
    (Fault::WrongAccept, "Sec-WebSocket-Accept does not match the key"),
    (Fault::NoAccept, "switches without Sec-WebSocket-Accept"),
    (
        Fault::TakesCompression,
        "compression is declined: *uses an extension (Sec-WebSocket-Extensions)",
    ),
    (Fault::Alters, "message 1: expected a text of 64 bytes"),
    (
        Fault::TextForBinary,
        "expected a binary message of 2 bytes*got a text of 2 bytes",
    ),
    (
        Fault::BinaryForText,
        "expected a text of *got a binary message of ",
    ),
    (
        Fault::CutsAt64KiB,
        "size=65536): message 1: expected a text of 65536 bytes*got a text of 65535 bytes",
    ),
    (
        Fault::RefusesMiB,
        "size=1048576): message 1: *got a close with code 1009",
    ),
    (
        Fault::IgnoresEmpty,
        "texts of every kind: *no complete reply within",
    ),
    (
        Fault::Trims,
        "texts of every kind: *expected a text of 1 bytes, ` `, got a text of 0 bytes",
    ),
    (
        Fault::StopsAtNul,
        "texts of every kind: *expected a text of 2 bytes*got a text of 0 bytes",
    ),
    (
        Fault::DropsBom,
        "texts of every kind: *expected a text of 4 bytes*got a text of 1 bytes",
    ),
    (
        Fault::FirstOfItsLength,
        "keep-alive: *message *: expected a text of 64 bytes",
    ),
    (
        Fault::Doubles,
        "keep-alive: *message 2: expected a binary message",
    ),
    (
        Fault::SwapsTwo,
        "messages in flight, in their order: *message 1: expected a text of 64 bytes*got a text of 0 bytes",
    ),
    (
        Fault::DropsAfter60,
        "keep-alive: *message 61: *got the end of the connection",
    ),
    (Fault::Masks, "a masked frame"),
    (Fault::SetsReservedBit, "a frame with a reserved bit"),
    (
        Fault::LongLengths,
        "a frame length encoded in more bytes than it needs",
    ),
    (
        Fault::FragmentsApart,
        "fragments are one message: *message 1: expected a text of 66 bytes*got a text of 64 bytes",
    ),
    (
        Fault::LastFragmentAlone,
        "fragments are one message: *message 1: expected a text of 66 bytes*got a text of 1 bytes",
    ),
    (
        Fault::ChecksEachFragment,
        "a character across fragments: *got a close with code 1007",
    ),
    (
        Fault::IgnoresPings,
        "pings are answered: *no complete reply within",
    ),
    (Fault::EmptyPongs, "pong: expected "),
    (
        Fault::TextForPong,
        "pings are answered: *expected nothing but pongs, got a text of 0 bytes",
    ),
    (
        Fault::CloseWithoutCode,
        "close: expected a close with code 1000, got a close without a code",
    ),
    (
        Fault::AlwaysNormal,
        "close codes are echoed: *close: expected a close with code 1001, got a close with code 1000",
    ),
    (
        Fault::HangsUpOnClose,
        "close: *got the end of the connection without a close",
    ),
    (
        Fault::BytesBehindClose,
        "behind the close: expected the end of the connection",
    ),
    (
        Fault::TakesUnmasked,
        "frames without a mask: *close: expected a close with code 1002, got a text of 64 bytes",
    ),
    (
        Fault::NormalForUnmasked,
        "frames without a mask: *expected a close with code 1002, got a close with code 1000",
    ),
    (
        Fault::HangsUpOnUnmasked,
        "frames without a mask: *got the end of the connection without a close",
    ),
    (
        Fault::TakesAnyBytes,
        "texts that are not UTF-8: *no WebSocket: a text message that is not UTF-8",
    ),
    (
        Fault::ReplacesBadBytes,
        "texts that are not UTF-8: *expected a close with code 1007, got a text of 3 bytes",
    ),
    (
        Fault::NormalForBadText,
        "texts that are not UTF-8: *expected a close with code 1007, got a close with code 1000",
    ),
    (
        Fault::SwapsCodes,
        "texts that are not UTF-8: *expected a close with code 1007, got a close with code 1002",
    ),
];

fn failures_with(fault: Fault, _: &str) -> String {
    let server = server::serve(fault);
    failures_of(&check_and_recheck(
        &contract("echo"),
        server.address,
        Protocol::WebSocket,
    ))
}

#[test]
fn every_wrong_echo_is_rejected() {
    assert_eq!(failures_with(Fault::None, ""), "", "the correct server must pass");
    assert_faults_rejected(&MUTANTS, failures_with);
}
