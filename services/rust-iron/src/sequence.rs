use std::fmt::Write;

use iron::prelude::*;
use iron::status;
use num_bigint::BigUint;
use router::Router;

use crate::text;

const LARGEST_N: u32 = 10_000;

/// What `compute` makes of n, or 400 for what is not an integer from 0 to `LARGEST_N`.
pub fn answer(request: &mut Request, compute: impl Fn(u32) -> String) -> IronResult<Response> {
    let n = request
        .extensions
        .get::<Router>()
        .and_then(|router| router.find("n"))
        .unwrap_or_default();
    // The standard parser would accept a leading plus.
    let digits = n.bytes().all(|byte| byte.is_ascii_digit());
    Ok(match n.parse() {
        Ok(n) if digits && n <= LARGEST_N => text(status::Ok, compute(n)),
        _ => text(
            status::BadRequest,
            "n must be an integer from 0 to 10000".to_owned(),
        ),
    })
}

pub fn count(n: u32) -> String {
    let mut body = String::new();
    for i in 1..=n {
        if i > 1 {
            body.push(' ');
        }
        write!(body, "{i}").expect("a string can be written to");
    }
    body
}

pub fn fib(n: u32) -> String {
    let mut body = String::from("0");
    let (mut a, mut b) = (BigUint::ZERO, BigUint::from(1_u8));
    for _ in 0..n {
        write!(body, " {b}").expect("a string can be written to");
        a += &b;
        std::mem::swap(&mut a, &mut b);
    }
    body
}
