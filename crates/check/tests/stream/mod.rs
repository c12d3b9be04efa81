//! Faulty servers of `stream`, over gRPC.

mod server;

use crate::{assert_none_survives, check_and_recheck, contract, failures_of, request, survival, target};
use prony_check::check;
use prony_load::Protocol;
use server::{
    CANCELLED, FaultMode, INTERNAL, INVALID_ARGUMENT, Reply, Service, UNIMPLEMENTED, UNKNOWN, message, ticks,
};
use std::time::Duration;

/// The expected failure, and the service that must cause it.
type Mutant = (&'static str, Service);

/// Changes correct replies.
fn wrong_reply(
    expected: &'static str,
    change: impl Fn(&str, &[i64], &mut Reply) + Send + Sync + 'static,
) -> Mutant {
    let service = Service {
        change: Box::new(change),
        ..Service::right()
    };
    (expected, service)
}

/// Changes correct streams of ticks.
fn wrong_ticks(expected: &'static str, change: impl Fn(&mut Reply) + Send + Sync + 'static) -> Mutant {
    wrong_reply(expected, move |method, _, reply| {
        if method == "tick" && reply.is_ok() {
            change(reply);
        }
    })
}

/// Changes the numbers of each tick, given its number and the number of ticks.
fn wrong_numbers(
    expected: &'static str,
    other: impl Fn(i64, i64) -> [i64; 2] + Send + Sync + 'static,
) -> Mutant {
    wrong_ticks(expected, move |reply| {
        let of = reply.steps.len() as i64;
        for (n, step) in (1..).zip(&mut reply.steps) {
            step.1 = message(&other(n, of));
        }
    })
}

/// Changes the pauses.
fn wrong_pauses(
    expected: &'static str,
    other: impl Fn(Duration) -> Duration + Send + Sync + 'static,
) -> Mutant {
    wrong_ticks(expected, move |reply| {
        for (pause, _) in &mut reply.steps {
            *pause = other(*pause);
        }
    })
}

/// Changes the sums.
fn wrong_sum(expected: &'static str, sum: impl Fn(&[i64]) -> [i64; 2] + Send + Sync + 'static) -> Mutant {
    wrong_reply(expected, move |method, numbers, reply| {
        if method == "sum" {
            reply.steps[0].1 = message(&sum(numbers));
        }
    })
}

/// Replaces replies that refuse the numbers of a request.
fn wrong_acceptance(
    expected: &'static str,
    other: impl Fn(&[i64]) -> Option<Reply> + Send + Sync + 'static,
) -> Mutant {
    wrong_reply(expected, move |method, numbers, reply| {
        if method == "tick" && reply.status == Some(INVALID_ARGUMENT) {
            *reply = other(numbers).unwrap_or_else(|| reply.clone());
        }
    })
}

fn wrong_echo(
    expected: &'static str,
    echo: impl Fn(usize, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync + 'static,
) -> Mutant {
    let service = Service {
        echo: Box::new(echo),
        ..Service::right()
    };
    (expected, service)
}

fn wrong_mode(expected: &'static str, fault: FaultMode) -> Mutant {
    let service = Service {
        fault,
        ..Service::right()
    };
    (expected, service)
}

fn wrong_streams() -> Vec<Mutant> {
    vec![
        // A message lost, the last one lost, one in a thousand lost.
        wrong_ticks("message 2 at n: expected 2, got 3", |reply| {
            if reply.steps.len() > 2 {
                reply.steps.remove(1);
            }
        }),
        wrong_ticks("messages: too few: expected 10 messages, got 9", |reply| {
            reply.steps.pop();
        }),
        wrong_ticks(
            "one message, a few and a thousand*message 500 at n: expected 500, got 501",
            |reply| {
                if reply.steps.len() > 500 {
                    reply.steps.remove(499);
                }
            },
        ),
        // Doubled, one too many, out of order.
        wrong_ticks("message 2 at n: expected 2, got 1", |reply| {
            let first = reply.steps[0].1.clone();
            reply.steps.insert(1, (Duration::ZERO, first));
        }),
        wrong_ticks("messages: too many: expected 10 messages", |reply| {
            let last = reply.steps[reply.steps.len() - 1].1.clone();
            reply.steps.push((Duration::ZERO, last));
        }),
        wrong_ticks("message 1 at n: expected 1, got 2", |reply| {
            if reply.steps.len() > 1 {
                let first = reply.steps[0].1.clone();
                reply.steps[0].1 = std::mem::replace(&mut reply.steps[1].1, first);
            }
        }),
        // Held back until all are there.
        wrong_ticks(
            "each message is sent when it is due*not flushed one by one",
            |reply| {
                let all = reply.steps.iter().map(|(pause, _)| *pause).sum();
                for step in &mut reply.steps {
                    step.0 = Duration::ZERO;
                }
                reply.steps[0].0 = all;
            },
        ),
        // Counted from 0, another `of`, the numbers in each other's place.
        wrong_numbers("message 1 at n: expected 1, got nothing", |n, of| [n - 1, of]),
        wrong_numbers("message 1 at of: expected 10, got 9", |n, of| [n, of - 1]),
        wrong_numbers("message 1 at n: expected 1, got 10", |n, of| [of, n]),
        // Gaps that are half as long, or none, or in other units.
        wrong_pauses("the longest gap*too soon", |pause| pause / 2),
        wrong_pauses("messages are not sent early*too soon", |_| Duration::ZERO),
        wrong_pauses("the longest gap*too soon", |pause| {
            Duration::from_millis(pause.as_millis() as u64 / 5 * 4)
        }),
        // No status, another one after all messages.
        wrong_ticks("the stream ends without `grpc-status`", |reply| {
            reply.status = None;
        }),
        wrong_ticks("grpc-status: expected 0, got 2", |reply| {
            reply.status = Some(UNKNOWN);
        }),
    ]
}

fn unexpected_replies() -> Vec<Mutant> {
    vec![
        wrong_sum("body at total", |numbers| {
            [numbers.len() as i64, numbers.iter().sum::<i64>() + 1]
        }),
        wrong_sum("body at count", |numbers| {
            [numbers.len() as i64 + 1, numbers.iter().sum()]
        }),
        wrong_sum("body at total", |numbers| {
            let but_last = &numbers[..numbers.len().saturating_sub(1)];
            [numbers.len() as i64, but_last.iter().sum()]
        }),
        wrong_sum("numbers above and below 32 bits*body at total", |numbers| {
            let total = numbers
                .iter()
                .fold(0_i32, |total, n| total.wrapping_add(*n as i32));
            [numbers.len() as i64, i64::from(total)]
        }),
        // The sum of nothing is refused.
        wrong_reply(
            "no number, one, a few, a thousand*grpc-status: expected 0, got 3",
            |method, numbers, reply| {
                if method == "sum" && numbers.is_empty() {
                    *reply = Reply::failed(INVALID_ARGUMENT);
                }
            },
        ),
        wrong_echo("message 1 at bytes", |_, mut message| {
            if let Some(last) = message.last_mut() {
                *last ^= 1;
            }
            vec![message]
        }),
        wrong_echo(
            "messages: too few: expected 1000 messages, got 999",
            |number, message| {
                if number == 1_000 {
                    Vec::new()
                } else {
                    vec![message]
                }
            },
        ),
        wrong_echo("message 2 at bytes", |_, message| vec![message.clone(), message]),
        wrong_echo("empty and other messages*messages: too few", |_, message| {
            if message.is_empty() {
                Vec::new()
            } else {
                vec![message]
            }
        }),
        wrong_reply("echo*grpc-status: expected 0, got 2", |method, _, reply| {
            if method == "echo" {
                reply.status = Some(UNKNOWN);
            }
        }),
        wrong_mode("echo*no complete reply within", FaultMode::Collects),
    ]
}

fn wrong_ends() -> Vec<Mutant> {
    vec![
        wrong_mode(
            "a call ends at its deadline*grpc-status: expected 4, got 0",
            FaultMode::IgnoresDeadlines,
        ),
        wrong_mode(
            "a call ends at its deadline*grpc-status: expected 4, got 1",
            FaultMode::Late(CANCELLED),
        ),
        wrong_mode("calls that are cancelled end", FaultMode::IgnoresCancel),
        wrong_acceptance(
            "count that is not 1 to 10000*grpc-status: expected 3, got 0",
            |numbers| Some(ticks(numbers[0].clamp(1, 10_000), 0)),
        ),
        wrong_acceptance(
            "gap_us that is not 0 to 1000000*grpc-status: expected 3, got 0",
            |numbers| Some(ticks(numbers[0].clamp(1, 10), 0)).filter(|_| numbers[1] != 0),
        ),
        wrong_acceptance("no count*grpc-status: expected 3, got 0", |numbers| {
            Some(ticks(0, 0)).filter(|_| numbers[0] == 0)
        }),
        wrong_acceptance("grpc-status: expected 3, got 13", |_| {
            Some(Reply::failed(INTERNAL))
        }),
        wrong_reply("noSuchMethod: grpc-status: expected 12, got 2", |_, _, reply| {
            if reply.status == Some(UNIMPLEMENTED) {
                reply.status = Some(UNKNOWN);
            }
        }),
    ]
}

#[test]
fn every_wrong_stream_over_grpc_is_rejected() {
    let contract = contract("stream");
    let twin = server::start(Service::right());
    assert_eq!(
        failures_of(&check_and_recheck(&contract, twin.address, Protocol::Grpc)),
        "",
        "the correct server must pass"
    );
    let all = [wrong_streams(), unexpected_replies(), wrong_ends()];
    assert_none_survives(
        all.into_iter().flatten().collect(),
        |(expected, service): Mutant| {
            let server = server::start(service);
            let target = target(server.address);
            let report = check(&request(&contract, &target, Protocol::Grpc));
            survival("gRPC stream", expected, &failures_of(&[report]))
        },
    );
}
