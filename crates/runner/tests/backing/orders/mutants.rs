#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use super::OrdersServer;
use crate::{handler, try_faults};

/// Where the server is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    AfterItself,
    AlwaysNext,
    AnyStatus,
    ByTime,
    CreatedIs200,
    DeletedStays,
    EtagStays,
    FiftyUnlessTold,
    FirstFaultAlone,
    FromMemory,
    LeavesHalves,
    LimitOf51,
    LinesByProduct,
    LinesFrom1,
    LinesOf21,
    ListFromMemory,
    MalformedIs500,
    MergesLines,
    NextIsBeyond,
    NoEtag,
    NoIfMatch,
    NoLines,
    NoLocation,
    NoNext,
    NoNoteIsEmpty,
    NoteIsCut,
    NoteIsEscaped,
    NoteOf501,
    OnePrice,
    OrdersOfAll,
    OtherLocation,
    PaidIsDeleted,
    QuantityOf0,
    QuantityOf1001,
    SameStatus,
    ShippedIsCancelled,
    ShippedUnpaid,
    StaleIsTaken,
    StoresInvalid,
    TextInStatements,
    TotalIsLost,
    TotalOfOneEach,
    UnknownIs500,
    UnknownIsDeleted,
    VersionStays,
}

#[test]
fn every_wrong_shop_is_rejected() {
    try_faults(
        ("orders", "delete from orders where id > 100000"),
        |ground, fault| handler(OrdersServer::new(ground, fault), OrdersServer::answer),
        vec![
            (
                "orders from memory",
                "an order is created, read, changed and read again: GET /orders/{order}: header etag: expected \"2\", got \"1\"",
                Fault::FromMemory,
            ),
            (
                "the total without quantities",
                "an order is created, read, changed and read again: POST /orders: body at totalCents",
                Fault::TotalOfOneEach,
            ),
            (
                "all lines at one price",
                "body at lines[1].priceCents",
                Fault::OnePrice,
            ),
            (
                "the total is answered and not stored",
                "created orders are stored as returned: GET /orders/{order}: body at totalCents",
                Fault::TotalIsLost,
            ),
            ("lines by product", "body at lines[0]", Fault::LinesByProduct),
            (
                "lines of one product are merged",
                "twenty lines, and one product in several",
                Fault::MergesLines,
            ),
            (
                "status 200 for what was created",
                "status: expected 201, got 200",
                Fault::CreatedIs200,
            ),
            ("no Location", "header location", Fault::NoLocation),
            (
                "Location leads to another order",
                "Location leads to the order: GET {place}: body at id",
                Fault::OtherLocation,
            ),
            ("no ETag", "header etag", Fault::NoEtag),
            (
                "ETag of the version before",
                "PATCH /orders/{order}: header etag: expected \"2\", got \"1\"",
                Fault::EtagStays,
            ),
            ("the version stays", "PATCH /orders/{order}", Fault::VersionStays),
            (
                "a stale version is taken",
                "a stale version: PATCH /orders/{order}: status: expected 412, got 200",
                Fault::StaleIsTaken,
            ),
            (
                "no If-Match is needed",
                "no version at all: PATCH /orders/{order}: status: expected 428, got 200",
                Fault::NoIfMatch,
            ),
            (
                "any status after any other",
                "changes that the rules do not allow: PATCH /orders/{order}: status: expected 409, got 200",
                Fault::AnyStatus,
            ),
            (
                "shipped before it is paid",
                "changes that the rules do not allow: PATCH /orders/{order}: status: expected 409, got 200",
                Fault::ShippedUnpaid,
            ),
            (
                "open once more",
                "changes that the rules do not allow: PATCH /orders/{order}: status: expected 409, got 200",
                Fault::SameStatus,
            ),
            (
                "cancelled after it was shipped",
                "changes that the rules do not allow: PATCH /orders/{order}: status: expected 409, got 200",
                Fault::ShippedIsCancelled,
            ),
            (
                "a paid order is deleted",
                "changes that the rules do not allow: DELETE /orders/{order}: status: expected 409, got 204",
                Fault::PaidIsDeleted,
            ),
            (
                "a deleted order is still found",
                "an order is deleted with its lines: GET /orders/{order}: status: expected 404, got 200",
                Fault::DeletedStays,
            ),
            (
                "what there is not is deleted",
                "an unknown order: DELETE /orders/999999999: status: expected 404, got 204",
                Fault::UnknownIsDeleted,
            ),
            (
                "500 for an order that there is not",
                "an unknown order: GET /orders/999999999: status: expected 404, got 500",
                Fault::UnknownIs500,
            ),
            (
                "statements out of texts",
                "invalid order numbers: GET /orders/abc: status: expected 400 or 404, got 500",
                Fault::TextInStatements,
            ),
            (
                "the first fault alone",
                "all faults at once: POST /orders",
                Fault::FirstFaultAlone,
            ),
            (
                "what is refused is stored",
                "rejected orders are not stored: GET /orders?customer=*: body at items[0]: expected nothing",
                Fault::StoresInvalid,
            ),
            (
                "an order without lines is left of what is refused",
                "rejected orders are not stored: GET /orders?customer=*: body at items[0]: expected nothing",
                Fault::LeavesHalves,
            ),
            (
                "a quantity of 0",
                "one fault each: POST /orders: status: expected 422, got 201",
                Fault::QuantityOf0,
            ),
            (
                "a quantity of 1001",
                "one fault each: POST /orders: status: expected 422, got 201",
                Fault::QuantityOf1001,
            ),
            (
                "no line",
                "one fault each: POST /orders: status: expected 422, got 201",
                Fault::NoLines,
            ),
            (
                "21 lines",
                "one fault each: POST /orders: status: expected 422, got 201",
                Fault::LinesOf21,
            ),
            (
                "lines counted from 1",
                "one fault each: POST /orders: body at errors[0].field",
                Fault::LinesFrom1,
            ),
            (
                "a note of 501 characters",
                "one fault each: POST /orders: status: expected 422, got 201",
                Fault::NoteOf501,
            ),
            (
                "a note that is cut",
                "notes of all kinds: POST /orders: body at note",
                Fault::NoteIsCut,
            ),
            (
                "a note that is escaped",
                "notes of all kinds: POST /orders: body at note",
                Fault::NoteIsEscaped,
            ),
            (
                "an empty note for none",
                "no note: POST /orders: body at note",
                Fault::NoNoteIsEmpty,
            ),
            (
                "500 for what is no JSON",
                "malformed orders: POST /orders: status: expected 400, got 500",
                Fault::MalformedIs500,
            ),
            (
                "a limit of 51",
                "invalid list parameters: GET /orders?customer=1&limit=51: status: expected 400, got 200",
                Fault::LimitOf51,
            ),
            (
                "fifty by default",
                "twenty by default, and the following pages: GET /orders?customer=",
                Fault::FiftyUnlessTold,
            ),
            ("by time", "pages of every size: GET /orders", Fault::ByTime),
            (
                "from the last one on",
                "pages of every size: GET /orders",
                Fault::AfterItself,
            ),
            (
                "orders of everybody",
                "pages of every size: GET /orders",
                Fault::OrdersOfAll,
            ),
            (
                "lists from memory",
                "a list shows creations, changes and deletions: GET /orders",
                Fault::ListFromMemory,
            ),
            ("no next", "body at next", Fault::NoNext),
            ("always a next", "body at next", Fault::AlwaysNext),
            (
                "next is the first of the next page",
                "body at next",
                Fault::NextIsBeyond,
            ),
        ],
    );
}
