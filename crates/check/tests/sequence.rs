#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::toy::{Call, FaultMode, ScriptedReply};
use crate::{assert_mutants_rejected, right, wrong_mode, wrong_reply};

fn n(call: &Call) -> Option<u64> {
    call.segments().last()?.parse().ok()
}

fn is(operation: &'static str, call: &Call) -> bool {
    call.path.contains(operation)
}

/// Changes the text of the correct replies of one operation.
fn text(
    operation: &'static str,
    change: impl Fn(&str, u64) -> String + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if let Some(n) = n(call).filter(|_| answer.status == 200 && is(operation, call)) {
            answer.body = change(&answer.text(), n).into_bytes();
        }
    }
}

/// The text with every number changed.
fn each(text: &str, change: impl Fn(&str) -> String) -> String {
    text.split(' ').map(change).collect::<Vec<_>>().join(" ")
}

/// Accepts what `read` makes of the last segment.
fn accepts(read: fn(&str) -> Option<u64>) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if answer.status == 400
            && let Some(n) = call.segments().last().and_then(|segment| read(segment))
        {
            *answer = ScriptedReply::of(200, "text/plain", right::numbers("count", n));
        }
    }
}

#[test]
fn every_wrong_sequence_is_rejected() {
    assert_mutants_rejected(
        "sequence",
        right::sequence,
        vec![
            wrong_reply(
                "counts from 0",
                "number 1 of the integers: expected 1, got 0",
                text("count", |text, _| format!("0 {text}")),
            ),
            wrong_reply(
                "stops before n",
                "too few numbers",
                text("count", |_, n| right::numbers("count", n.saturating_sub(1))),
            ),
            wrong_reply(
                "goes beyond n",
                "too many numbers",
                text("count", |_, n| right::numbers("count", n + 1)),
            ),
            wrong_reply(
                "commas",
                "count 1 to 500: GET /api/count/2: body: differs at byte 1",
                text("count", |text, _| text.replace(' ', ",")),
            ),
            wrong_reply(
                "a space at the end",
                "extra white space at the end",
                text("count", |text, _| format!("{text} ")),
            ),
            wrong_reply(
                "a newline",
                "fib 0 to 100: GET /api/fib/0: body: an extra newline",
                text("fib", |text, _| format!("{text}\n")),
            ),
            wrong_reply(
                "0 for nothing",
                "GET /api/count/0: body: too many numbers",
                text(
                    "count",
                    |text, n| {
                        if n == 0 { "0".into() } else { text.to_owned() }
                    },
                ),
            ),
            wrong_reply(
                "64 bits signed",
                "number 94 of the Fibonacci numbers: not exact beyond 64 bits",
                text("fib", |text, _| {
                    each(text, |number| match number.parse::<u128>() {
                        Ok(number) => (number as i64).to_string(),
                        Err(_) => "0".into(),
                    })
                }),
            ),
            wrong_reply(
                "64 bits unsigned",
                "number 95 of the Fibonacci numbers: not exact beyond 64 bits",
                text("fib", |text, _| {
                    each(text, |number| match number.parse::<u128>() {
                        Ok(number) => (number as u64).to_string(),
                        Err(_) => "0".into(),
                    })
                }),
            ),
            wrong_reply(
                "128 bits",
                "number 188 of the Fibonacci numbers",
                text("fib", |text, _| {
                    each(text, |number| {
                        number
                            .parse::<u128>()
                            .map_or("340282366920938463463374607431768211455".into(), |number| {
                                number.to_string()
                            })
                    })
                }),
            ),
            wrong_reply(
                "floats",
                "written as a floating-point number",
                text("fib", |text, _| {
                    each(text, |number| {
                        if number.len() > 16 {
                            format!("{:e}", number.parse::<f64>().unwrap_or_default())
                        } else {
                            number.into()
                        }
                    })
                }),
            ),
            wrong_reply(
                "begins with 1 1",
                "number 1 of the Fibonacci numbers: expected 0, got 1",
                text("fib", |text, _| text.replacen("0 1", "1 1", 1)),
            ),
            wrong_reply("knows 500 numbers", "count of random numbers", |call, answer| {
                if n(call).is_some_and(|n| n > 500) {
                    *answer = ScriptedReply::new(404);
                }
            }),
            wrong_reply(
                "remembers the first reply of fib",
                "fib 0 to 100: GET /api/fib/1",
                text("fib", |_, _| "0".into()),
            ),
            wrong_reply(
                "500 on bad input",
                "count of values that are not numbers from 0 to 10000: GET /api/count/-1: status: expected 400 or 404, got 500",
                |call, answer| {
                    if answer.status == 400 && is("count", call) {
                        answer.status = 500;
                    }
                },
            ),
            wrong_reply(
                "500 on a large number",
                "GET /api/fib/10001: status: expected 400 or 404, got 500",
                |call, answer| {
                    if answer.status == 400 && is("fib", call) && n(call).is_some() {
                        answer.status = 500;
                    }
                },
            ),
            wrong_reply(
                "takes 10001",
                "GET /api/count/10001: status: expected 400 or 404, got 200",
                accepts(|text| text.parse().ok().filter(|n| *n == 10_001)),
            ),
            wrong_reply(
                "takes the beginning of 12a",
                "GET /api/count/12a: status: expected 400 or 404, got 200",
                accepts(|text| text.strip_suffix('a').and_then(|digits| digits.parse().ok())),
            ),
            wrong_reply(
                "takes 1.5",
                "GET /api/count/1.5: status: expected 400 or 404, got 200",
                accepts(|text| {
                    text.parse::<f64>()
                        .ok()
                        .filter(|number| number.fract() != 0.0)
                        .map(|number| number as u64)
                }),
            ),
            wrong_reply(
                "takes -1 for nothing",
                "GET /api/count/-1: status: expected 400 or 404, got 200",
                accepts(|text| text.starts_with('-').then_some(0)),
            ),
            wrong_reply(
                "takes one more segment",
                "GET /api/count/3/4: status: expected 400 or 404, got 200",
                |call, answer| {
                    if call.segments().len() == 4 {
                        *answer = ScriptedReply::of(200, "text/plain", "1 2 3");
                    }
                },
            ),
            wrong_reply(
                "answers prime like count",
                "GET /api/prime/7: status",
                |call, answer| {
                    if is("prime", call) {
                        *answer = ScriptedReply::of(200, "text/plain", "1 2 3 4 5 6 7");
                    }
                },
            ),
            wrong_reply(
                "mixes replies up under load",
                "many connections: GET /api/",
                |call, answer| {
                    if call.number > 700 && call.number.is_multiple_of(3) && answer.status == 200 {
                        answer.body = b"1 2 3".to_vec();
                    }
                },
            ),
            wrong_reply(
                "no type for fib",
                "GET /api/fib/0: header content-type",
                |call, answer| {
                    if is("fib", call) {
                        answer.remove("Content-Type");
                    }
                },
            ),
            wrong_mode("swaps pairs", "one packet: GET /api/", FaultMode::SwapsPairs),
        ],
    );
}
