use iron::prelude::*;
use iron::status;
use router::Router;

use crate::{numbers, text};

/// What `compute` makes of n, or 400 for what is not an integer from 0 to 10,000.
pub fn answer(request: &mut Request, compute: impl Fn(u32) -> String) -> IronResult<Response> {
    let n = request
        .extensions
        .get::<Router>()
        .and_then(|router| router.find("n"))
        .unwrap_or_default();
    Ok(match numbers::parse(n) {
        Some(n) => text(status::Ok, compute(n)),
        None => text(
            status::BadRequest,
            "n must be an integer from 0 to 10000".to_owned(),
        ),
    })
}
