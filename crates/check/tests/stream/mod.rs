//! The same for `stream`, over gRPC.

mod server;

use crate::{checked, contract, is_told, request, side_by_side, target, told};
use prony_check::check;
use prony_load::Protocol;
use server::{
    CANCELLED, FaultMode, INTERNAL, INVALID_ARGUMENT, Reply, Service, UNIMPLEMENTED, UNKNOWN, message, ticks,
};
use std::sync::Mutex;
use std::time::Duration;

/// A service that is wrong in one way, and what the check must say of it.
type Mutant = (&'static str, Service);

/// Changes right replies.
fn replies(told: &'static str, change: impl Fn(&str, &[i64], &mut Reply) + Send + Sync + 'static) -> Mutant {
    let service = Service {
        change: Box::new(change),
        ..Service::right()
    };
    (told, service)
}

/// Changes right streams of ticks.
fn ticked(told: &'static str, change: impl Fn(&mut Reply) + Send + Sync + 'static) -> Mutant {
    replies(told, move |method, _, reply| {
        if method == "tick" && reply.is_ok() {
            change(reply);
        }
    })
}

/// Other numbers in each tick, given its number and how many there are.
fn numbered(told: &'static str, other: impl Fn(i64, i64) -> [i64; 2] + Send + Sync + 'static) -> Mutant {
    ticked(told, move |reply| {
        let of = reply.steps.len() as i64;
        for (n, step) in (1..).zip(&mut reply.steps) {
            step.1 = message(&other(n, of));
        }
    })
}

/// Other pauses.
fn paced(told: &'static str, other: impl Fn(Duration) -> Duration + Send + Sync + 'static) -> Mutant {
    ticked(told, move |reply| {
        for (pause, _) in &mut reply.steps {
            *pause = other(*pause);
        }
    })
}

/// Other sums.
fn summed(told: &'static str, sum: impl Fn(&[i64]) -> [i64; 2] + Send + Sync + 'static) -> Mutant {
    replies(told, move |method, numbers, reply| {
        if method == "sum" {
            reply.steps[0].1 = message(&sum(numbers));
        }
    })
}

/// Another reply where numbers are refused.
fn instead(told: &'static str, other: impl Fn(&[i64]) -> Option<Reply> + Send + Sync + 'static) -> Mutant {
    replies(told, move |method, numbers, reply| {
        if method == "tick" && reply.status == Some(INVALID_ARGUMENT) {
            *reply = other(numbers).unwrap_or_else(|| reply.clone());
        }
    })
}

fn echoes(
    told: &'static str,
    echo: impl Fn(usize, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync + 'static,
) -> Mutant {
    let service = Service {
        echo: Box::new(echo),
        ..Service::right()
    };
    (told, service)
}

fn habit(told: &'static str, habit: FaultMode) -> Mutant {
    let service = Service {
        habit,
        ..Service::right()
    };
    (told, service)
}

fn wrong_streams() -> Vec<Mutant> {
    vec![
        // A message lost, the last one lost, one in a thousand lost.
        ticked("message 2 at n: expected 2, got 3", |reply| {
            if reply.steps.len() > 2 {
                reply.steps.remove(1);
            }
        }),
        ticked("messages: too few: expected 10 messages, got 9", |reply| {
            reply.steps.pop();
        }),
        ticked(
            "one message, a few and a thousand*message 500 at n: expected 500, got 501",
            |reply| {
                if reply.steps.len() > 500 {
                    reply.steps.remove(499);
                }
            },
        ),
        // Doubled, one too many, out of order.
        ticked("message 2 at n: expected 2, got 1", |reply| {
            let first = reply.steps[0].1.clone();
            reply.steps.insert(1, (Duration::ZERO, first));
        }),
        ticked("messages: too many: expected 10 messages", |reply| {
            let last = reply.steps[reply.steps.len() - 1].1.clone();
            reply.steps.push((Duration::ZERO, last));
        }),
        ticked("message 1 at n: expected 1, got 2", |reply| {
            if reply.steps.len() > 1 {
                let first = reply.steps[0].1.clone();
                reply.steps[0].1 = std::mem::replace(&mut reply.steps[1].1, first);
            }
        }),
        // Held back until all are there.
        ticked(
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
        numbered("message 1 at n: expected 1, got nothing", |n, of| [n - 1, of]),
        numbered("message 1 at of: expected 10, got 9", |n, of| [n, of - 1]),
        numbered("message 1 at n: expected 1, got 10", |n, of| [of, n]),
        // Gaps that are half as long, or none, or in other units.
        paced("the longest gap*too soon", |pause| pause / 2),
        paced("messages are not sent early*too soon", |_| Duration::ZERO),
        paced("the longest gap*too soon", |pause| {
            Duration::from_millis(pause.as_millis() as u64 / 5 * 4)
        }),
        // No status, another one after all messages.
        ticked("the stream ends without `grpc-status`", |reply| {
            reply.status = None;
        }),
        ticked("grpc-status: expected 0, got 2", |reply| {
            reply.status = Some(UNKNOWN);
        }),
    ]
}

fn unexpected_replies() -> Vec<Mutant> {
    vec![
        summed("body at total", |numbers| {
            [numbers.len() as i64, numbers.iter().sum::<i64>() + 1]
        }),
        summed("body at count", |numbers| {
            [numbers.len() as i64 + 1, numbers.iter().sum()]
        }),
        summed("body at total", |numbers| {
            let but_last = &numbers[..numbers.len().saturating_sub(1)];
            [numbers.len() as i64, but_last.iter().sum()]
        }),
        summed("numbers above and below 32 bits*body at total", |numbers| {
            let total = numbers
                .iter()
                .fold(0_i32, |total, n| total.wrapping_add(*n as i32));
            [numbers.len() as i64, i64::from(total)]
        }),
        // The sum of nothing is refused.
        replies(
            "no number, one, a few, a thousand*grpc-status: expected 0, got 3",
            |method, numbers, reply| {
                if method == "sum" && numbers.is_empty() {
                    *reply = Reply::failed(INVALID_ARGUMENT);
                }
            },
        ),
        echoes("message 1 at bytes", |_, mut message| {
            if let Some(last) = message.last_mut() {
                *last ^= 1;
            }
            vec![message]
        }),
        echoes(
            "messages: too few: expected 1000 messages, got 999",
            |number, message| {
                if number == 1_000 {
                    Vec::new()
                } else {
                    vec![message]
                }
            },
        ),
        echoes("message 2 at bytes", |_, message| vec![message.clone(), message]),
        echoes("empty and other messages*messages: too few", |_, message| {
            if message.is_empty() {
                Vec::new()
            } else {
                vec![message]
            }
        }),
        replies("echo*grpc-status: expected 0, got 2", |method, _, reply| {
            if method == "echo" {
                reply.status = Some(UNKNOWN);
            }
        }),
        habit("echo*no complete reply within", FaultMode::Collects),
    ]
}

fn wrong_ends() -> Vec<Mutant> {
    vec![
        habit(
            "a call ends at its deadline*grpc-status: expected 4, got 0",
            FaultMode::IgnoresDeadlines,
        ),
        habit(
            "a call ends at its deadline*grpc-status: expected 4, got 1",
            FaultMode::Late(CANCELLED),
        ),
        habit("calls that are cancelled end", FaultMode::IgnoresCancel),
        instead(
            "count that is not 1 to 10000*grpc-status: expected 3, got 0",
            |numbers| Some(ticks(numbers[0].clamp(1, 10_000), 0)),
        ),
        instead(
            "gap_us that is not 0 to 1000000*grpc-status: expected 3, got 0",
            |numbers| Some(ticks(numbers[0].clamp(1, 10), 0)).filter(|_| numbers[1] != 0),
        ),
        instead("no count*grpc-status: expected 3, got 0", |numbers| {
            Some(ticks(0, 0)).filter(|_| numbers[0] == 0)
        }),
        instead("grpc-status: expected 3, got 13", |_| {
            Some(Reply::failed(INTERNAL))
        }),
        replies("noSuchMethod: grpc-status: expected 12, got 2", |_, _, reply| {
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
        told(&checked(&contract, twin.address, Protocol::Grpc)),
        "",
        "the right twin must pass"
    );
    let all = [wrong_streams(), unexpected_replies(), wrong_ends()];
    let waiting: Mutex<Vec<Mutant>> = Mutex::new(all.into_iter().flatten().collect());
    side_by_side(|| {
        let (text, service) = waiting.lock().expect("no panic").pop()?;
        let server = server::start(service);
        let target = target(server.address);
        let said = told(&[check(&request(&contract, &target, Protocol::Grpc))]);
        if said.lines().any(|line| is_told(line, text)) {
            return Some(None);
        }
        let said: String = said.chars().take(500).collect();
        Some(Some(format!("nothing says `{text}`; said was:\n{said}")))
    });
}
