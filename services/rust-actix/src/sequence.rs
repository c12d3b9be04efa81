use std::fmt::Write;

use actix_web::error::ErrorBadRequest;
use actix_web::{Result, get, web::Path};
use num_bigint::BigUint;

const LARGEST_N: u32 = 10_000;

/// n, or 400 for what is not an integer from 0 to `LARGEST_N`.
fn parse(n: &str) -> Result<u32> {
    let refused = || ErrorBadRequest("n must be an integer from 0 to 10000");
    // The standard parser would accept a leading plus.
    if !n.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused());
    }
    n.parse().ok().filter(|n| *n <= LARGEST_N).ok_or_else(refused)
}

#[get("/api/count/{n}")]
pub async fn count(n: Path<String>) -> Result<String> {
    let mut body = String::new();
    for i in 1..=parse(&n)? {
        if i > 1 {
            body.push(' ');
        }
        write!(body, "{i}").expect("a string can be written to");
    }
    Ok(body)
}

#[get("/api/fib/{n}")]
pub async fn fib(n: Path<String>) -> Result<String> {
    let mut body = String::from("0");
    let (mut a, mut b) = (BigUint::ZERO, BigUint::from(1_u8));
    for _ in 0..parse(&n)? {
        write!(body, " {b}").expect("a string can be written to");
        a += &b;
        std::mem::swap(&mut a, &mut b);
    }
    Ok(body)
}
