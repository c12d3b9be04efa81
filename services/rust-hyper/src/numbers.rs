//! Integers and Fibonacci numbers, as text.

use std::fmt::Write;

use num_bigint::BigUint;

const LARGEST_N: u32 = 10_000;

/// An integer from 0 to `LARGEST_N`.
pub fn parse(text: &str) -> Option<u32> {
    // The standard parser would accept a leading plus.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|n| digits && *n <= LARGEST_N)
}

/// 1 to n, joined with a space.
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

/// F(0) to F(n), joined with a space.
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
