use super::AccountServer;
use crate::{handler, try_faults};

/// Where the server is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    AmountBelow0,
    AmountBelowMillion,
    AmountFirst,
    AmountIsCut,
    AmountOf0,
    AmountOf1000001,
    AnybodyDeposits,
    BalanceBefore,
    BalanceIsText,
    BalanceIsWhole,
    CacheIsStale,
    Confused,
    DepositIs200,
    DepositsForOthers,
    Endless,
    Expired,
    KeptForEachReader,
    LikeAdmin,
    LikeAudience,
    MalformedIs500,
    NameIsEscaped,
    NoAdmin,
    NoChallenge,
    NoJsonIs422,
    NoJsonIs500,
    NoName,
    NothingIsStored,
    OneAlgorithm,
    OtherAudience,
    OtherIssuer,
    OtherSubject,
    RefusedIs403,
    SignatureUnread,
    TextIsAmount,
    UnknownGetsDeposits,
    UnknownIs500,
    Unsigned,
}

#[test]
fn every_wrong_bank_is_rejected() {
    const REFUSED: &str = "tokens that must be refused: GET /account/*: status: expected 401, got 200";
    const AMOUNT: &str = "what is no amount: POST /account/*/deposits: status: expected 422, got 201";
    const NEXT: &str = "the next read shows the deposit: GET /account/*: body at balanceCents";
    try_faults(
        ("account", ""),
        |ground, fault| handler(AccountServer::new(ground, fault), AccountServer::answer),
        vec![
            ("alg none", REFUSED, Fault::Unsigned),
            ("signatures are not read", REFUSED, Fault::SignatureUnread),
            ("the public key is a secret, too", REFUSED, Fault::Confused),
            (
                "HS256 alone",
                "a token that ES256 signed: GET /account/*: status: expected 200, got 401",
                Fault::OneAlgorithm,
            ),
            ("tokens do not expire", REFUSED, Fault::Expired),
            ("tokens without an end", REFUSED, Fault::Endless),
            ("any issuer", REFUSED, Fault::OtherIssuer),
            ("any audience", REFUSED, Fault::OtherAudience),
            ("an audience that begins alike", REFUSED, Fault::LikeAudience),
            (
                "anybody deposits",
                "deposits with tokens that must be refused: POST /account/*/deposits: status: expected 401, got 201",
                Fault::AnybodyDeposits,
            ),
            (
                "the account of any other",
                "the account of another: GET /account/*: status: expected 403, got 200",
                Fault::OtherSubject,
            ),
            (
                "deposits into the account of any other",
                "the account of another: POST /account/*/deposits: status: expected 403, got 201",
                Fault::DepositsForOthers,
            ),
            (
                "no admin",
                "an admin reads the account of another: GET /account/*: status: expected 200, got 403",
                Fault::NoAdmin,
            ),
            (
                "an administrator is an admin",
                "the account of another: GET /account/*: status: expected 403, got 200",
                Fault::LikeAdmin,
            ),
            (
                "401 without WWW-Authenticate",
                "no token, and what is none: GET /account/*: header www-authenticate",
                Fault::NoChallenge,
            ),
            (
                "403 for bad tokens",
                "tokens that must be refused: GET /account/*: status: expected 401, got 403",
                Fault::RefusedIs403,
            ),
            (
                "500 for what is no token",
                "no token, and what is none: GET /account/*: status: expected 401, got 500",
                Fault::MalformedIs500,
            ),
            ("the cache is not told of a deposit", NEXT, Fault::CacheIsStale),
            (
                "a deposit is answered and not stored",
                NEXT,
                Fault::NothingIsStored,
            ),
            ("the balance before the deposit", NEXT, Fault::BalanceBefore),
            (
                "kept for each reader until the reader deposits",
                "a deposit of another shows within a second: GET /account/*: body at balanceCents",
                Fault::KeptForEachReader,
            ),
            (
                "status 200 for a deposit",
                "status: expected 201, got 200",
                Fault::DepositIs200,
            ),
            ("an amount of 0", AMOUNT, Fault::AmountOf0),
            ("an amount below 0", AMOUNT, Fault::AmountBelow0),
            ("an amount of 1000001", AMOUNT, Fault::AmountOf1000001),
            (
                "a million is refused",
                "amounts from 1 to 1000000: POST /account/*/deposits: status: expected 201, got 422",
                Fault::AmountBelowMillion,
            ),
            ("a text as amount", AMOUNT, Fault::TextIsAmount),
            ("a fraction is cut", AMOUNT, Fault::AmountIsCut),
            (
                "422 for what is no JSON",
                "what is no amount: POST /account/*/deposits: status: expected 400, got 422",
                Fault::NoJsonIs422,
            ),
            (
                "500 for what is no JSON",
                "what is no amount: POST /account/*/deposits: status: expected 400, got 500",
                Fault::NoJsonIs500,
            ),
            (
                "the amount before the token",
                "the first of several faults is reported: POST /account/*/deposits: status: expected 401, got 422",
                Fault::AmountFirst,
            ),
            (
                "no name",
                "accounts of many: GET /account/*: body at name",
                Fault::NoName,
            ),
            (
                "an escaped name",
                "accounts of many: GET /account/*: body at name",
                Fault::NameIsEscaped,
            ),
            (
                "the balance as a text",
                "accounts of many: GET /account/*: body at balanceCents",
                Fault::BalanceIsText,
            ),
            (
                "cents are cut off",
                "accounts of many: GET /account/*: body at balanceCents",
                Fault::BalanceIsWhole,
            ),
            (
                "500 for an account that there is not",
                "an account that there is not: GET /account/*: status: expected 404, got 500",
                Fault::UnknownIs500,
            ),
            (
                "deposits into an account that there is not",
                "an account that there is not: POST /account/*/deposits: status: expected 404, got 201",
                Fault::UnknownGetsDeposits,
            ),
        ],
    );
}
