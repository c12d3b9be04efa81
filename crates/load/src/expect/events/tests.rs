//! Streams as the WHATWG standard defines them, split at every byte, and everything that is not a stream.

use super::reader::sse::Sse;
use super::*;
use crate::expect::Mismatch;
use crate::formula::{Formula, Operator};
use crate::{Bytes, Part, Template};
use proptest::prelude::*;
use std::ops::ControlFlow;

/// A message that owns its memory.
type OwnedMessage = (String, String, Option<String>);

fn owned(message: &Message<'_>) -> OwnedMessage {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(message.name), text(message.data), message.id.map(text))
}

/// The messages of a stream that arrives in these pieces, and how it ends.
fn read<'a>(
    format: Format,
    longest: u64,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<OwnedMessage>, Result<(), EventFault>) {
    let mut reader = Reader::new(format, longest, true);
    let mut found = Vec::new();
    let mut each = |message: &Message<'_>| {
        found.push(owned(message));
        ControlFlow::Continue(())
    };
    let mut result = Ok(());
    for piece in pieces {
        result = result.and_then(|()| reader.read(piece, &mut each));
    }
    let result = result.and_then(|()| reader.end(&mut each));
    (found, result)
}

fn sse(text: &str) -> (Vec<OwnedMessage>, Result<(), EventFault>) {
    read(Format::ServerSentEvents, 1 << 20, [text.as_bytes()])
}

fn event(name: &str, data: &str, id: Option<&str>) -> OwnedMessage {
    (name.to_owned(), data.to_owned(), id.map(str::to_owned))
}

#[test]
fn events_are_read_as_the_text_says() {
    for (text, expected) in [
        // The examples of the standard.
        (
            "data: YHOO\ndata: +2\ndata: 10\n\n",
            vec![event("message", "YHOO\n+2\n10", None)],
        ),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            vec![
                event("message", "first event", Some("1")),
                event("message", "second event", Some("")),
                event("message", " third event", None),
            ],
        ),
        (
            "data\n\ndata\ndata\n\n",
            vec![event("message", "", None), event("message", "\n", None)],
        ),
        (
            "data:test\n\ndata: test\n\n",
            vec![event("message", "test", None), event("message", "test", None)],
        ),
        (
            "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\ndata: x\n\n",
            vec![
                event("add", "73857293", None),
                event("remove", "2153", None),
                event("message", "x", None),
            ],
        ),
        // All three line endings; CR LF counts as one.
        ("data: a\r\rdata: b\r\n\r\ndata: c\n\n", {
            vec![
                event("message", "a", None),
                event("message", "b", None),
                event("message", "c", None),
            ]
        }),
        // One BOM at the very start, but no second one.
        ("\u{feff}data: a\n\n", vec![event("message", "a", None)]),
        ("\u{feff}\u{feff}data: a\n\n", vec![]),
        (
            "data: a\n\n\u{feff}data: b\n\n",
            vec![event("message", "a", None)],
        ),
        // An event without data is dropped, and its name is reset; its id is kept.
        (
            "event: x\nid: 7\n\ndata: a\n\n",
            vec![event("message", "a", Some("7"))],
        ),
        // An id that contains NUL is ignored.
        (
            "id: 1\nid: 2\0\ndata: a\n\n",
            vec![event("message", "a", Some("1"))],
        ),
        // Field names are case-sensitive.
        ("Data: a\ndatas: b\n data: c\n: d\nretry: 100\n\n", vec![]),
        ("data: a: b\n\n", vec![event("message", "a: b", None)]),
        ("", vec![]),
        (":\n", vec![]),
    ] {
        assert_eq!(sse(text), (expected, Ok(())), "{text:?}");
    }
}

#[test]
fn a_stream_that_ends_in_the_middle_of_an_event_is_a_fault() {
    for text in [
        "data: a",
        "data: a\n",
        "data: a\n\ndat",
        "id: 1\n",
        "data: a\n\nevent: b\r\n",
        "data:",
    ] {
        assert_eq!(sse(text).1, Err(EventFault::CutOff), "{text:?}");
    }
    for text in [
        "data: a\n\n",
        "data: a\n\n: bye",
        "data: a\n\nretry: 10\n",
        "data: a\r\r",
    ] {
        assert_eq!(sse(text).1, Ok(()), "{text:?}");
    }
}

#[test]
fn the_time_to_wait_is_digits_alone() {
    let mut reader = Sse::new(1 << 20, true);
    for (text, expected) in [
        ("retry: 15\n", Some(15)),
        ("retry: 2x\n", Some(15)),
        ("retry\n", Some(15)),
        ("retry:30\n", Some(30)),
    ] {
        reader
            .read(text.as_bytes(), |_| ControlFlow::Continue(()))
            .expect("it is short");
        assert_eq!(reader.retry_ms(), expected, "{text}");
    }
}

#[test]
fn lines_of_json_are_messages() {
    let lines = |text: &str| read(Format::JsonLines, 1 << 20, [text.as_bytes()]);
    let all = |data: &[&str]| {
        data.iter()
            .map(|data| event("message", data, None))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lines("{\"a\": 1}\n\n[2]\r\n\"x\""),
        (all(&["{\"a\": 1}", "[2]", "\"x\""]), Ok(()))
    );
    assert_eq!(lines(""), (vec![], Ok(())));
    assert_eq!(lines("1\nno\n2\n"), (all(&["1"]), Err(EventFault::NoJson)));
    assert_eq!(lines("1\n{\"a\":"), (all(&["1"]), Err(EventFault::CutOff)));
}

/// The reader never holds more than the longest allowed event, however long the event is.
#[test]
fn memory_is_bounded() {
    for (format, begin) in [
        (Format::ServerSentEvents, "data: ok\n\ndata: "),
        (Format::ServerSentEvents, "data: ok\n\nid: "),
        (Format::ServerSentEvents, "data: ok\n\nevent: "),
        (Format::JsonLines, "\"ok\"\n\""),
    ] {
        let mut reader = Reader::new(format, 100_000, true);
        let mut count = 0;
        let mut each = |_: &Message<'_>| {
            count += 1;
            ControlFlow::Continue(())
        };
        reader.read(begin.as_bytes(), &mut each).expect("it is short");
        let piece = [b'x'; 8_192];
        let mut sent = 0;
        let fault = loop {
            sent += piece.len();
            if let Err(fault) = reader.read(&piece, &mut each) {
                break fault;
            }
            assert!(sent < 200_000, "{begin:?}");
        };
        assert_eq!((fault, count), (EventFault::TooLong, 1), "{begin:?}");
        assert!(reader.allocated() <= 400_000, "{begin:?}: {}", reader.allocated());
    }
    // Only what is kept counts: comments and unknown fields may have any length.
    let mut reader = Reader::new(Format::ServerSentEvents, 10, true);
    let long = format!(":{0}\nother: {0}\n{0}\ndata: a\n\n", "x".repeat(1_000));
    let mut count = 0;
    let each = |_: &Message<'_>| {
        count += 1;
        ControlFlow::Continue(())
    };
    assert_eq!(reader.read(long.as_bytes(), each), Ok(()));
    assert_eq!((count, reader.allocated() < 64), (1, true));
}

#[test]
fn an_event_of_many_lines_is_as_long_as_all_of_them() {
    let text = "data: 12345\n".repeat(3) + "\n";
    assert_eq!(read(Format::ServerSentEvents, 18, [text.as_bytes()]).1, Ok(()));
    assert_eq!(
        read(Format::ServerSentEvents, 17, [text.as_bytes()]).1,
        Err(EventFault::TooLong)
    );
}

#[test]
fn content_types_name_formats() {
    for (text, format) in [
        ("text/event-stream", Some(Format::ServerSentEvents)),
        (
            "Text/Event-Stream ; charset=utf-8",
            Some(Format::ServerSentEvents),
        ),
        ("application/x-ndjson", Some(Format::JsonLines)),
        ("application/jsonl; charset=utf-8", Some(Format::JsonLines)),
        ("application/json", None),
        ("text/event-streams", None),
        ("", None),
    ] {
        assert_eq!(Format::of(text.as_bytes()), format, "{text}");
    }
}

fn judge(events: &Events, text: &str) -> Result<bool, String> {
    let events = events.compile().expect("rules");
    let mut stream = EventStream::new(&events, Format::ServerSentEvents, |_, _| {});
    let is_done = stream
        .read(&events, (text.as_bytes(), 0), |_| {})
        .map_err(|mismatch| mismatch.what)?;
    let end = if is_done {
        stream.judge(&events)
    } else {
        stream.end(&events, 0, |_| {})
    };
    end.map(|()| is_done)
        .map_err(|mismatch| format!("{} {}", mismatch.what, mismatch.expected))
}

#[test]
fn a_stream_ends_well_by_its_bound_or_by_itself() {
    let ticks = "event: tick\ndata: {\"n\": 1}\n\n".repeat(3) + "event: end\ndata: bye\n\n";
    let rules = |texts: &[&str]| Events {
        some: texts.iter().map(|text| text.parse().expect("a rule")).collect(),
        ..Events::default()
    };
    let until = |count| Events {
        until: Some(count),
        ..Events::default()
    };
    assert_eq!(judge(&until(3), &ticks), Ok(true));
    assert_eq!(judge(&until(4), &ticks), Ok(true));
    assert_eq!(
        judge(&until(5), &ticks),
        Err("events: the stream ended early 5 events".to_owned())
    );
    let all = rules(&[
        "event:end",
        "event:tick",
        "json:/n",
        "json:/n=1",
        "regex:^b.e$",
        "bye",
    ]);
    assert_eq!(judge(&all, &ticks), Ok(false));
    for missing in ["event:tock", "json:/m", "json:/n=2", "regex:^b$", "good"] {
        let result = judge(&rules(&[missing]), &ticks);
        assert!(result.is_err(), "{missing}: {result:?}");
    }
    // The stream has not ended yet when its end condition is reached.
    let bounded = Events {
        until: Some(3),
        ..rules(&["event:end"])
    };
    assert!(judge(&bounded, &ticks).is_err());
    for (text, reason) in [
        ("event:", "nothing follows"),
        ("json:n", "begins with"),
        ("", "empty"),
    ] {
        let error = text.parse::<EventRule>().expect_err("no rule");
        assert!(error.contains(reason), "{error}");
    }
}

/// Three ticks, 10 ms apart, and a final event.
fn ticks() -> Events {
    let text = |text: &str| Some(Template::literal(text));
    Events {
        whole: Some(ExactStream {
            count: Template(vec![Part::Value(0)]),
            each: MessageRule {
                id: Some(Template(vec![Part::Formula(Formula::Item)])),
                name: text("tick"),
                data: Some(Data::Json(Template(vec![
                    Part::Literal(r#"{"n":"#.into()),
                    Part::Formula(Formula::Item),
                    Part::Literal(r#","of":"#.into()),
                    Part::Value(0),
                    Part::Literal("}".into()),
                ]))),
            },
            last: Some(MessageRule {
                name: text("end"),
                ..MessageRule::default()
            }),
            gap_us: text("10000"),
            flushed: true,
            first: Vec::new(),
            closing: Vec::new(),
            separate: false,
        }),
        ..Events::default()
    }
}

/// Pieces of a stream, each with its time after the request, ms.
type TimedEvents = Vec<(String, u64)>;

/// The verdict on a stream that arrives in these pieces.
fn verdict(events: &Events, pieces: &[(String, u64)]) -> String {
    let events = events.compile().expect("formulas");
    let three = |_, out: &mut Vec<u8>| out.push(b'3');
    let mut stream = EventStream::new(&events, Format::ServerSentEvents, three);
    let mut after = 0;
    for (piece, at) in pieces {
        after = at * 1_000_000;
        if let Err(wrong) = stream.read(&events, (piece.as_bytes(), after), |_| {}) {
            return format!("{}: {} / {}", wrong.what, wrong.expected, wrong.got);
        }
    }
    match stream.end(&events, after, |_| {}) {
        Ok(()) => "right".to_owned(),
        Err(wrong) => format!("{}: {} / {}", wrong.what, wrong.expected, wrong.got),
    }
}

fn tick(i: u64) -> (String, u64) {
    let text = format!("id: {i}\nevent: tick\ndata: {{\"n\": {i}, \"of\": 3}}\n\n");
    (text, (i - 1) * 10)
}

#[test]
fn a_stream_whose_every_message_is_known_is_judged_message_by_message() {
    let end = ("event: end\ndata: bye\n\n".to_owned(), 20);
    let right = vec![tick(1), tick(2), tick(3), end.clone()];
    let changed = |change: &dyn Fn(&mut TimedEvents)| {
        let mut pieces = right.clone();
        change(&mut pieces);
        verdict(&ticks(), &pieces)
    };
    let text = |number: usize, from: &str, to: &str| {
        changed(&|pieces| pieces[number].0 = pieces[number].0.replace(from, to))
    };
    assert_eq!(changed(&|_| {}), "right");
    assert_eq!(text(0, ", ", ","), "right");
    assert_eq!(text(0, "\"n\": 1, \"of\": 3", "\"of\":3,\"n\" : 1.0"), "right");
    assert_eq!(
        changed(&|pieces| drop(pieces.pop())),
        "events: too few: 3 events and the last one / 3, and the end of the stream"
    );
    assert_eq!(
        changed(&|pieces| pieces.push(end.clone())),
        "events: too many: 3 events and the last one / one more: bye"
    );
    assert_eq!(changed(&|pieces| drop(pieces.remove(1))), "event 2: id: 2 / 3");
    assert_eq!(changed(&|pieces| pieces.insert(1, tick(1))), "event 2: id: 2 / 1");
    assert_eq!(text(1, "id: 2\n", ""), "event 2: id: 2 / none");
    assert_eq!(text(1, "tick", "tock"), "event 2: name: tick / tock");
    assert_eq!(text(3, "end", "tick"), "event 4: name: end / tick");
    assert_eq!(text(2, "\"of\": 3", "\"of\": 4"), "event 3: data at of: 3 / 4");
    assert!(
        text(2, "3}", "3").starts_with("event 3: data: not JSON"),
        "{}",
        text(2, "3}", "3")
    );
    // A clock with 1 ms resolution may show a tick 1 ms early; a late tick was delayed on its way.
    assert_eq!(changed(&|pieces| pieces[2].1 = 19), "right");
    assert_eq!(changed(&|pieces| pieces[0].1 = 9), "right");
    assert_eq!(
        changed(&|pieces| pieces[2].1 = 18),
        "event 3: too soon: not before 20ms after the request / 18ms"
    );
    assert_eq!(
        changed(&|pieces| pieces.iter_mut().for_each(|(_, at)| *at = 500)),
        "events: not flushed one by one: the last 10ms or more after the first / 0ns"
    );
}

#[test]
fn the_first_and_the_closing_messages_may_differ_and_none_waits_for_others() {
    let named = |name: &str| MessageRule {
        name: Some(Template::literal(name)),
        ..MessageRule::default()
    };
    let mut events = ticks();
    if let Some(whole) = &mut events.whole {
        whole.first = vec![MessageRule {
            data: Some(Data::JsonContains(Template::literal(r#"{"n":1}"#))),
            ..named("first")
        }];
        whole.closing = vec![named("nearly")];
        (whole.flushed, whole.separate) = (false, true);
    }
    let event = |name: &str, at: u64| (format!("event: {name}\ndata: {{\"n\": 1, \"more\": []}}\n\n"), at);
    let right = vec![
        event("first", 0),
        tick(2),
        tick(3),
        event("nearly", 20),
        event("end", 20),
    ];
    let changed = |change: &dyn Fn(&mut TimedEvents)| {
        let mut pieces = right.clone();
        change(&mut pieces);
        verdict(&events, &pieces)
    };
    assert_eq!(changed(&|_| {}), "right");
    assert_eq!(
        changed(&|pieces| pieces[0].0 = pieces[0].0.replace("1,", "2,")),
        "event 1: data at n: 1 / 2"
    );
    assert_eq!(
        changed(&|pieces| drop(pieces.remove(3))),
        "event 4: name: nearly / end"
    );
    assert_eq!(
        changed(&|pieces| drop(pieces.pop())),
        "events: too few: 3 events and the last 2 / 4, and the end of the stream"
    );
    // One of the three may have waited for another one.
    assert_eq!(changed(&|pieces| pieces[1].1 = 20), "right");
    assert_eq!(
        changed(&|pieces| pieces.iter_mut().for_each(|(_, at)| *at = 500)),
        "events: not flushed one by one: 1 or more that arrive 5ms or more after the one before / 0"
    );
}

#[test]
fn a_formula_of_a_stream_uses_the_message_and_the_parameters() {
    let product = Formula::Of(Box::new((Formula::Item, Formula::Value(0))), Operator::Times);
    let events = Events {
        whole: Some(ExactStream {
            count: Template(vec![Part::Formula(Formula::Value(0))]),
            each: MessageRule {
                data: Some(Data::Text(Template(vec![Part::Formula(product)]))),
                ..MessageRule::default()
            },
            last: None,
            gap_us: None,
            flushed: false,
            first: Vec::new(),
            closing: Vec::new(),
            separate: false,
        }),
        ..Events::default()
    };
    let pieces = |texts: [&str; 3]| texts.map(|text| (format!("data: {text}\n\n"), 0));
    assert_eq!(verdict(&events, &pieces(["3", "6", "9"])), "right");
    assert_eq!(verdict(&events, &pieces(["3", "6", "8"])), "event 3: data: 9 / 8");
}

/// The texts of an answer that arrives in pieces of `size` bytes, and how it ends.
fn read_chat_answer(text: &str, size: usize) -> (u32, Result<(), String>, AnswerProgress) {
    let events = Events {
        chat: Some(Chat::default()),
        ..Events::default()
    };
    let events = events.compile().expect("rules");
    let mut stream = EventStream::new(&events, Format::ServerSentEvents, |_, _| {});
    let mut count = 0;
    let mut pieces = text.as_bytes().chunks(size);
    let read = pieces.try_for_each(|piece| stream.read_chat(&events, piece, || count += 1));
    let end = read.and_then(|()| stream.end_chat());
    (count, end.map_err(|mismatch| mismatch.what), *stream.answer())
}

#[test]
fn an_answer_of_a_language_model_is_counted_by_its_texts_and_ends_when_it_says_so() {
    let delta = |delta: &str| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
    let texts = delta(r#"{"role":"assistant","content":""}"#)
        + &delta(r#"{"content":"Hel"}"#)
        + ": still here\n\n"
        + &delta(r#"{"content":"lo\n"}"#)
        + &delta("{}");
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5}}\n\n";
    let behind = "data: [DONE]\n\ndata: ignored\n\n";
    let error = "event: error\ndata: {\"message\":\"no room\"}\n\n";
    for size in [1, 7, 10_000] {
        let (count, end, answer) = read_chat_answer(&[&texts, usage, behind].concat(), size);
        assert_eq!((count, end), (2, Ok(())), "{size}");
        assert_eq!(answer.usage.map(|usage| usage.completion_tokens), Some(5));
        let (count, end, _) = read_chat_answer(&[&texts, usage].concat(), size);
        assert_eq!(
            (count, end),
            (2, Err("events: the stream ended early".to_owned()))
        );
        let (count, end, answer) = read_chat_answer(&[&texts, error, behind].concat(), size);
        assert_eq!(
            (count, end, answer.is_error),
            (2, Err("events: an error in the stream".to_owned()), true)
        );
        let (_, end, answer) = read_chat_answer("data: what\n\n", size);
        assert_eq!((end, answer.is_error), (Err("events".to_owned()), false));
    }
}

/// Lines that a server may send, and some that it must not.
fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "(data|event|id|retry|dat|datas|)(:|: |:  |)[a-c0-9 :\\x00é]{0,6}",
        1 => Just("\u{feff}data: x".to_owned()),
        3 => Just(String::new()),
    ]
}

fn any_stream() -> impl Strategy<Value = String> {
    let end = prop_oneof![Just("\n"), Just("\r"), Just("\r\n")];
    let lines = proptest::collection::vec((any_line(), end), 0..20);
    (any::<bool>(), lines, "[a-z:]{0,5}").prop_map(|(bom, lines, rest)| {
        let text: String = lines
            .iter()
            .flat_map(|(line, end)| [line.as_str(), end])
            .collect();
        format!("{}{text}{rest}", if bom { "\u{feff}" } else { "" })
    })
}

proptest! {
    /// The messages and the end of a stream do not depend on how it is cut into pieces.
    #[test]
    fn pieces_make_no_difference(
        text in any_stream(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        longest in prop_oneof![Just(1_u64 << 20), 0..12_u64],
        lines in any::<bool>(),
    ) {
        let format = if lines { Format::JsonLines } else { Format::ServerSentEvents };
        let bytes = text.as_bytes();
        let whole = read(format, longest, [bytes]);
        // Split at every byte, …
        prop_assert_eq!(&read(format, longest, bytes.chunks(1)), &whole);
        // … at each single position, …
        for place in 0..=bytes.len() {
            let (front, back) = bytes.split_at(place);
            prop_assert_eq!(&read(format, longest, [front, back]), &whole);
        }
        // … and at several.
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(&read(format, longest, pieces), &whole);
    }

    /// A reused reader keeps nothing of the previous reply.
    #[test]
    fn nothing_is_left_of_the_reply_before(first in any_stream(), second in any_stream()) {
        let (expected, end) = sse(&second);
        let mut reader = Reader::new(Format::ServerSentEvents, 1 << 20, true);
        reader.read(first.as_bytes(), |_| ControlFlow::Continue(())).expect("it is short");
        reader.begin(Format::ServerSentEvents, 1 << 20, true);
        let mut found = Vec::new();
        let mut each = |message: &Message<'_>| {
            found.push(owned(message));
            ControlFlow::Continue(())
        };
        reader.read(second.as_bytes(), &mut each).expect("it is short");
        let ended = reader.end(&mut each);
        prop_assert_eq!((found, ended), (expected, end));
    }
}

/// A gRPC stream of the numbers 1 to 3, flushed one by one, 10 ms apart.
fn numbers() -> Events {
    let encoded = EncodedMessages {
        schema: crate::expect::tests::schema(),
        message: "M".to_owned(),
        equals: (1..4_u8).map(|n| Bytes(vec![16, n])).collect(),
    };
    Events {
        whole: Some(ExactStream {
            count: Template::literal("3"),
            each: MessageRule {
                data: Some(Data::Messages(encoded)),
                ..MessageRule::default()
            },
            last: None,
            gap_us: Some(Template::literal("10000")),
            flushed: true,
            first: Vec::new(),
            closing: Vec::new(),
            separate: false,
        }),
        longest: 20,
        ..Events::default()
    }
}

/// The verdict on a gRPC stream of these messages, each with its time after the call, ms.
fn verdict_of_messages(events: &Events, messages: &[(&[u8], u64)]) -> String {
    let events = events.compile().expect("a schema");
    let mut stream = EventStream::new(&events, Format::Messages, |_, _| {});
    let answer = |wrong: Mismatch| format!("{}: {} / {}", wrong.what, wrong.expected, wrong.got);
    let mut last = 0;
    for (message, at) in messages {
        last = at * 1_000_000;
        for piece in message.chunks(1) {
            if let Err(wrong) = stream.read(&events, (piece, last), |_| {}) {
                return answer(wrong);
            }
        }
        match stream.complete(&events, last, |_| {}) {
            Ok(true) => return "at its bound".to_owned(),
            Ok(false) => {}
            Err(wrong) => return answer(wrong),
        }
    }
    match stream.end(&events, last, |_| {}) {
        Ok(()) => "right".to_owned(),
        Err(wrong) => answer(wrong),
    }
}

#[test]
fn messages_of_grpc_are_judged_one_by_one() {
    let verdict = |messages: &[(&[u8], u64)]| verdict_of_messages(&numbers(), messages);
    let [one, two, three] = [&[16, 1][..], &[16, 2], &[16, 3]];
    assert_eq!(verdict(&[(one, 0), (two, 10), (three, 20)]), "right");
    // The same numbers, encoded differently.
    let long: &[u8] = &[16, 0x82, 0];
    assert_eq!(verdict(&[(one, 0), (long, 10), (three, 20)]), "right");
    assert_eq!(verdict(&[(one, 0), (three, 20)]), "message 2 at b: 2 / 3");
    assert_eq!(
        verdict(&[(one, 0), (two, 10)]),
        "messages: too few: 3 messages / 2, and the end of the stream"
    );
    assert_eq!(
        verdict(&[(one, 0), (two, 10), (three, 20), (three, 20)]),
        "messages: too many: 3 messages / one more: \\u{10}\\u{3}"
    );
    assert_eq!(
        verdict(&[(one, 0), (two, 8)]),
        "message 2: too soon: not before 10ms after the request / 8ms"
    );
    assert_eq!(
        verdict(&[(one, 20), (two, 20), (three, 20)]),
        "messages: not flushed one by one: the last 10ms or more after the first / 0ns"
    );
    assert!(verdict(&[(&[17], 0)]).starts_with("message 1: not a `M` message"));
    assert!(verdict(&[(&[0; 21], 0)]).starts_with("events: an event is too long"));
}

#[test]
fn a_stream_of_grpc_ends_at_its_bound() {
    let bounded = Events {
        until: Some(2),
        ..Events::default()
    };
    let verdict = |messages: &[(&[u8], u64)]| verdict_of_messages(&bounded, messages);
    assert_eq!(verdict(&[(b"a", 0), (b"", 1)]), "at its bound");
    assert_eq!(
        verdict(&[(b"a", 0)]),
        "events: the stream ended early: 2 events / 1"
    );
}
