#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use super::FortunesServer;
use crate::{handler, try_faults};

/// Where the server is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    AddedIs201,
    AddedIsLast,
    AddsNothing,
    EscapedTwice,
    FromMemory,
    HeaderOfCells,
    LeavesAmpersands,
    NeedsNoNonce,
    NoCharset,
    NoEmoji,
    NoHeader,
    NoJapanese,
    NonceUnescaped,
    OneTooFew,
    OtherCharset,
    OtherTitle,
    PlainText,
    RemovesTags,
    RunsMessages,
    SortedById,
    SortedByUnits,
    SortedByWords,
    SortedDown,
    StoresTheAdded,
    SwapsCells,
    Unescaped,
    Unsorted,
}

#[test]
fn every_wrong_page_is_rejected() {
    try_faults(
        ("fortunes", "delete from fortune where id > 200"),
        |ground, fault| handler(FortunesServer::new(ground, fault), FortunesServer::answer),
        vec![
            (
                "messages as they are",
                "fresh pages on one connection",
                Fault::Unescaped,
            ),
            (
                "escaped twice",
                "fresh pages on one connection",
                Fault::EscapedTwice,
            ),
            (
                "ampersands are left",
                "fresh pages on one connection",
                Fault::LeavesAmpersands,
            ),
            (
                "the nonce as it is",
                "a nonce that must be escaped",
                Fault::NonceUnescaped,
            ),
            (
                "tags are removed",
                "fresh pages on one connection",
                Fault::RemovesTags,
            ),
            (
                "messages are taken for templates",
                "fresh pages on one connection",
                Fault::RunsMessages,
            ),
            ("no emoji", "fresh pages on one connection", Fault::NoEmoji),
            ("no Japanese", "fresh pages on one connection", Fault::NoJapanese),
            (
                "the first page for all",
                "fresh pages on one connection",
                Fault::FromMemory,
            ),
            (
                "nothing is added",
                "fresh pages on one connection",
                Fault::AddsNothing,
            ),
            (
                "the added one stands last",
                "fresh pages on one connection",
                Fault::AddedIsLast,
            ),
            (
                "the added one is 201",
                "fresh pages on one connection",
                Fault::AddedIs201,
            ),
            (
                "the added one is stored",
                "fresh pages on one connection",
                Fault::StoresTheAdded,
            ),
            (
                "one row too few",
                "fresh pages on one connection",
                Fault::OneTooFew,
            ),
            (
                "in the order of the database",
                "fresh pages on one connection",
                Fault::Unsorted,
            ),
            ("by id", "fresh pages on one connection", Fault::SortedById),
            (
                "small and capital letters as one",
                "fresh pages on one connection",
                Fault::SortedByWords,
            ),
            (
                "by units of UTF-16",
                "fresh pages on one connection",
                Fault::SortedByUnits,
            ),
            (
                "the last one first",
                "fresh pages on one connection",
                Fault::SortedDown,
            ),
            (
                "cells swapped",
                "fresh pages on one connection",
                Fault::SwapsCells,
            ),
            ("no header row", "fresh pages on one connection", Fault::NoHeader),
            (
                "the header row is of td",
                "fresh pages on one connection",
                Fault::HeaderOfCells,
            ),
            (
                "another title",
                "fresh pages on one connection",
                Fault::OtherTitle,
            ),
            ("plain text", "header content-type", Fault::PlainText),
            ("no charset", "header content-type", Fault::NoCharset),
            ("another charset", "header content-type", Fault::OtherCharset),
            (
                "a page without a nonce",
                "no nonce: GET /fortunes?once=1: status: expected 400, got 200",
                Fault::NeedsNoNonce,
            ),
        ],
    );
}
