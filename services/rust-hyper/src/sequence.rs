use hyper::StatusCode;

use crate::{Reply, numbers, reply};

/// What `compute` makes of n, or 400 for what is not an integer from 0 to 10,000.
pub fn answer(n: &str, compute: impl Fn(u32) -> String) -> Reply {
    match numbers::parse(n) {
        Some(n) => reply(StatusCode::OK, "text/plain", compute(n)),
        None => reply(
            StatusCode::BAD_REQUEST,
            "text/plain",
            "n must be an integer from 0 to 10000",
        ),
    }
}
