use std::fmt::Write;

use hyper::StatusCode;
use num_bigint::BigUint;

use crate::{Reply, reply};

const LARGEST_N: u32 = 10_000;

/// What `compute` makes of n, or 400 for what is not an integer from 0 to `LARGEST_N`.
pub fn answer(n: &str, compute: impl Fn(u32) -> String) -> Reply {
    // The standard parser would accept a leading plus.
    let digits = n.bytes().all(|byte| byte.is_ascii_digit());
    match n.parse() {
        Ok(n) if digits && n <= LARGEST_N => reply(StatusCode::OK, "text/plain", compute(n)),
        _ => reply(
            StatusCode::BAD_REQUEST,
            "text/plain",
            "n must be an integer from 0 to 10000",
        ),
    }
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
