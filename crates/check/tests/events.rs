#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::right::{parameter, within};
use crate::toy::{Call, ScriptedReply};
use crate::{assert_mutants_rejected, wrong_reply};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Pauses, and the events that come after them.
type TimedEvents = Vec<(Duration, String)>;

/// How many events are asked for, and how far apart.
fn asked(call: &Call) -> Option<(u64, u64)> {
    let count = within(&parameter(call, "count")?, 1, 10_000)?;
    Some((count, within(&parameter(call, "gap_us")?, 0, 1_000_000)?))
}

fn tick(i: u64, of: u64) -> String {
    format!("id: {i}\nevent: tick\ndata: {{\"n\": {i}, \"of\": {of}}}\n\n")
}

fn stream(count: u64, gap_us: u64) -> ScriptedReply {
    let gap = Duration::from_micros(gap_us);
    let pause = |i| if i == 1 { Duration::ZERO } else { gap };
    let mut pieces: TimedEvents = (1..=count).map(|i| (pause(i), tick(i, count))).collect();
    pieces.push((Duration::ZERO, "event: end\ndata: bye\n\n".to_owned()));
    let mut answer = ScriptedReply::of(200, "text/event-stream", "");
    answer.stream = pieces;
    answer
}

fn right(call: &Call) -> ScriptedReply {
    match (call.path.as_str(), call.method.as_str()) {
        ("/events", "GET") => match asked(call) {
            None => ScriptedReply::of(400, "text/plain", "count 1 to 10000, gap_us 0 to 1000000"),
            Some((count, gap_us)) => stream(count, gap_us),
        },
        ("/events", _) => ScriptedReply::new(405),
        _ => ScriptedReply::new(404),
    }
}

/// Changes right streams.
fn of(
    change: impl Fn(&mut TimedEvents) + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |_, answer| {
        if answer.status == 200 {
            change(&mut answer.stream);
        }
    }
}

/// Changes the text of each event but the last one.
fn each(
    change: impl Fn(String) -> String + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    of(move |pieces| {
        let ticks = pieces.len() - 1;
        for (_, text) in &mut pieces[..ticks] {
            *text = change(std::mem::take(text));
        }
    })
}

/// Changes the pauses.
fn pauses(
    change: impl Fn(Duration) -> Duration + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    of(move |pieces| {
        for (pause, _) in pieces {
            *pause = change(*pause);
        }
    })
}

/// Streams where the request is refused.
fn instead(
    asked: impl Fn(&Call) -> Option<(u64, u64)> + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if let Some((count, gap_us)) = asked(call).filter(|_| answer.status == 400) {
            *answer = stream(count, gap_us);
        }
    }
}

#[test]
fn every_wrong_stream_is_rejected() {
    let first: Mutex<Option<u64>> = Mutex::default();
    let places = AtomicUsize::new(0);
    assert_mutants_rejected(
        "events",
        right,
        vec![
            wrong_reply(
                "an event lost",
                "event 2: id: expected 2, got 3",
                of(|pieces| {
                    if pieces.len() > 3 {
                        pieces.remove(1);
                    }
                }),
            ),
            wrong_reply(
                "the last event lost",
                "name: expected tick, got end",
                of(|pieces| {
                    let last = pieces.len() - 2;
                    pieces.remove(last);
                }),
            ),
            wrong_reply(
                "one event in a thousand lost",
                "one event, a few and the maximum*event 1000: id: expected 1000, got 1001",
                of(|pieces| {
                    if pieces.len() > 1_001 {
                        pieces.remove(999);
                    }
                }),
            ),
            wrong_reply(
                "an event doubled",
                "event 2: id: expected 2, got 1",
                of(|pieces| pieces.insert(1, (Duration::ZERO, pieces[0].1.clone()))),
            ),
            wrong_reply(
                "two events in the wrong order",
                "event 1: id: expected 1, got 2",
                of(|pieces| {
                    if let [(_, one), (_, two), _, ..] = pieces.as_mut_slice() {
                        std::mem::swap(one, two);
                    }
                }),
            ),
            wrong_reply(
                "all events in one packet at the end",
                "each event is sent when it is due: *: events: not flushed one by one",
                of(|pieces| {
                    let all: Duration = pieces.iter().map(|(pause, _)| *pause).sum();
                    for (pause, _) in pieces.iter_mut() {
                        *pause = Duration::ZERO;
                    }
                    pieces[0].0 = all;
                }),
            ),
            wrong_reply(
                "all events in one packet at the start",
                "too soon: expected not before",
                pauses(|_| Duration::ZERO),
            ),
            wrong_reply(
                "half the gap",
                "too soon: expected not before",
                pauses(|pause| pause / 2),
            ),
            wrong_reply(
                "milliseconds cut off",
                "too soon: expected not before",
                pauses(|pause| Duration::from_millis(pause.as_millis() as u64)),
            ),
            wrong_reply(
                "no pause is longer than 100 ms",
                "the longest gap: *too soon",
                pauses(|pause| pause.min(Duration::from_millis(100))),
            ),
            wrong_reply("of one too many", "event 1: data at of", |call, answer| {
                if let Some((count, gap_us)) = asked(call).filter(|_| answer.status == 200) {
                    let wrong = tick(1, count + 1);
                    *answer = stream(count, gap_us);
                    answer.stream[0].1 = wrong;
                }
            }),
            wrong_reply(
                "of from the first request",
                "event 1: data at of",
                move |call, answer| {
                    if let Some((count, _)) = asked(call).filter(|_| answer.status == 200) {
                        let of = *first.lock().expect("no panic").get_or_insert(count);
                        answer.stream[0].1 = tick(1, of);
                    }
                },
            ),
            wrong_reply(
                "numbers as texts",
                "event 1: data at n: expected 1, got \"1\"",
                each(|text| text.replace("\"n\": 1,", "\"n\": \"1\",")),
            ),
            wrong_reply(
                "data that is no JSON",
                "event 1: data: not JSON",
                each(|text| text.replace('}', "")),
            ),
            wrong_reply(
                "data in two lines",
                "event 1: data: not JSON",
                each(|text| text.replace("\"of\"", "\"o\ndata: f\"")),
            ),
            wrong_reply(
                "no id",
                "event 1: id: expected 1, got none",
                each(|text| {
                    text.lines()
                        .skip(1)
                        .fold(String::new(), |all, line| all + line + "\n")
                }),
            ),
            wrong_reply(
                "ids from 0",
                "event 1: id: expected 1, got 0",
                each(|text| text.replace("id: 1\n", "id: 0\n")),
            ),
            wrong_reply(
                "no name",
                "event 1: name: expected tick, got message",
                each(|text| text.replace("event: tick\n", "")),
            ),
            wrong_reply(
                "an unknown field in place of data",
                "event 1: name: expected tick, got end",
                each(|text| text.replace("data:", "Data:")),
            ),
            wrong_reply("no end", "events: too few", of(|pieces| drop(pieces.pop()))),
            wrong_reply(
                "an end without data, which is none",
                "events: too few",
                of(|pieces| {
                    let last = pieces.len() - 1;
                    pieces[last].1 = "event: end\n\n".to_owned();
                }),
            ),
            wrong_reply(
                "an end in the middle of an event",
                "events: the stream ends in the middle of an event",
                of(|pieces| {
                    let last = pieces.len() - 1;
                    pieces[last].1 = "event: end\ndata: bye\n".to_owned();
                }),
            ),
            wrong_reply(
                "an event after the end",
                "events: too many",
                of(|pieces| pieces.push(pieces[0].clone())),
            ),
            wrong_reply(
                "goes on after the end",
                "one event, a few and the maximum*no complete reply within",
                of(|pieces| {
                    if pieces.len() == 10_001 {
                        pieces.push((Duration::from_secs(12), ": still here\n\n".to_owned()));
                    }
                }),
            ),
            wrong_reply(
                "the connection ends before the reply does",
                "the service closed the connection within a reply",
                |_, answer| answer.hang_up = answer.status == 200,
            ),
            wrong_reply(
                "another type",
                "header content-type: expected text/event-stream",
                |_, answer| {
                    if answer.status == 200 {
                        answer.set("Content-Type", "text/plain");
                    }
                },
            ),
            wrong_reply(
                "a list in place of a stream",
                "header content-type: expected text/event-stream",
                |call, answer| {
                    if let Some((count, _)) = asked(call).filter(|_| answer.status == 200) {
                        let all: Vec<u64> = (1..=count).collect();
                        *answer = ScriptedReply::of(200, "application/json", format!("{all:?}"));
                    }
                },
            ),
            wrong_reply(
                "numbers are brought into range",
                "count is not a number from 1 to 10000: GET /events?count=0&gap_us=0: status",
                instead(|call| {
                    let count: i64 = parameter(call, "count")?.parse().ok()?;
                    Some((count.clamp(1, 10_000) as u64, 0))
                }),
            ),
            wrong_reply(
                "a gap is brought into range",
                "GET /events?count=2&gap_us=-1: status: expected 400, got 200",
                instead(|call| {
                    let gap: i64 = parameter(call, "gap_us")?.parse().ok()?;
                    Some((2, gap.clamp(0, 1_000_000) as u64))
                }),
            ),
            wrong_reply(
                "reads as much of a number as it can",
                "count=12a&gap_us=0: status: expected 400, got 200",
                instead(|call| {
                    let text = parameter(call, "count")?;
                    let digits = text.split(|letter: char| !letter.is_ascii_digit()).next()?;
                    Some((digits.parse().ok().filter(|count| *count > 0)?, 0))
                }),
            ),
            wrong_reply(
                "no gap by default",
                "no count, no gap_us: GET /events?count=3: status",
                instead(|call| {
                    let none = parameter(call, "gap_us").is_none();
                    let count = within(&parameter(call, "count")?, 1, 10_000)?;
                    none.then_some((count, 0))
                }),
            ),
            wrong_reply("500 for a bad number", "got 500", |_, answer| {
                if answer.status == 400 {
                    answer.status = 500;
                }
            }),
            wrong_reply(
                "a stream that says of what is wrong",
                "expected 400, got 200",
                |_, answer| {
                    if answer.status == 400 {
                        *answer = ScriptedReply::of(200, "text/event-stream", "event: error\ndata: no\n\n");
                    }
                },
            ),
            wrong_reply(
                "parameters by their place",
                "the order of parameters",
                |call, answer| {
                    if !call.target.starts_with("/events?count=") && answer.status == 200 {
                        *answer = ScriptedReply::new(400);
                    }
                },
            ),
            wrong_reply(
                "a type must be asked for",
                "clients that accept anything, or send no Accept header",
                |call, answer| {
                    if answer.status == 200 && call.header("accept") != Some(&b"text/event-stream"[..]) {
                        *answer = ScriptedReply::new(406);
                    }
                },
            ),
            wrong_reply("streams on other paths", "other paths", |call, answer| {
                if answer.status == 404 && call.path.starts_with("/events") {
                    *answer = stream(1, 0);
                }
            }),
            wrong_reply(
                "a client that leaves keeps its place until its stream would have ended",
                "clients that leave are noticed",
                move |call, answer| {
                    let lasts = asked(call).is_some_and(|(count, gap_us)| count * gap_us > 5_000_000);
                    if lasts && places.fetch_add(1, Ordering::SeqCst) >= 100 {
                        *answer = ScriptedReply::new(503);
                    }
                },
            ),
        ],
    );
}
