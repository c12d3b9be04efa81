use std::fmt::Write;

use axum::extract::Path;
use axum::http::StatusCode;
use num_bigint::BigUint;

const LARGEST_N: u32 = 10_000;

/// n, or 400 for what is not an integer from 0 to `LARGEST_N`.
fn parse(n: &str) -> Result<u32, StatusCode> {
    // The standard parser would accept a leading plus.
    if !n.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let n = n.parse().map_err(|_| StatusCode::BAD_REQUEST)?;
    if n > LARGEST_N {
        Err(StatusCode::BAD_REQUEST)
    } else {
        Ok(n)
    }
}

pub async fn count(Path(n): Path<String>) -> Result<String, StatusCode> {
    let mut body = String::new();
    for i in 1..=parse(&n)? {
        if i > 1 {
            body.push(' ');
        }
        write!(body, "{i}").expect("a string can be written to");
    }
    Ok(body)
}

pub async fn fib(Path(n): Path<String>) -> Result<String, StatusCode> {
    let mut body = String::from("0");
    let (mut a, mut b) = (BigUint::ZERO, BigUint::from(1_u8));
    for _ in 0..parse(&n)? {
        write!(body, " {b}").expect("a string can be written to");
        a += &b;
        std::mem::swap(&mut a, &mut b);
    }
    Ok(body)
}
