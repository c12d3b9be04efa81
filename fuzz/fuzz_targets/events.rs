//! Streams of events and of JSON Lines with arbitrary bytes: however they are cut into pieces, the messages are the same, the
//! stream ends the same way, and the memory is bounded by the longest allowed message.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::events::{Chat, EventFault, EventStream, Events, Format, Message, Reader};
use std::ops::ControlFlow;

type Owned = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

fn read<'a>(
    format: Format,
    longest: u64,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Owned>, Result<(), EventFault>) {
    let mut reader = Reader::new(format, longest, true);
    let mut found = Vec::new();
    let mut each = |message: &Message<'_>| {
        found.push((
            message.name.to_vec(),
            message.data.to_vec(),
            message.id.map(<[u8]>::to_vec),
        ));
        ControlFlow::Continue(())
    };
    let mut result = Ok(());
    for piece in pieces {
        result = result.and_then(|()| reader.read(piece, &mut each));
        // Four kinds of values of an event, each in a buffer that may have grown to twice its need.
        assert!(reader.allocated() as u64 <= 8 * longest + 4 * 16 * 1024);
    }
    let result = result.and_then(|()| reader.end(&mut each));
    (found, result)
}

// The first byte is the format and the longest message, the second one the length of the pieces, the rest is the stream.
fuzz_target!(|data: &[u8]| {
    let [kind, length, stream @ ..] = data else { return };
    let format = if kind & 1 == 0 {
        Format::ServerSentEvents
    } else {
        Format::JsonLines
    };
    let longest = if kind & 2 == 0 {
        1 << 20
    } else {
        u64::from(kind >> 2)
    };
    let whole = read(format, longest, std::iter::once(stream));
    let pieces = stream.chunks(usize::from(*length).max(1));
    assert_eq!(read(format, longest, pieces), whole);
    assert_eq!(read(format, longest, stream.chunks(1)), whole);
    // As in the generator: judged, with ids.
    let rules = ["event:a", "json:/a=1", "a"].map(|rule| rule.parse().expect("a rule"));
    let events = Events {
        some: rules.to_vec(),
        longest,
        ..Events::default()
    };
    let compiled = events.compile().expect("rules");
    let mut judged = EventStream::new(&compiled, format, |_, _| {});
    let read = judged.read(&compiled, (stream, 0), |_| {});
    let end = read.and_then(|_| judged.end(&compiled, 0, |_| {}));
    assert!(end.is_err() || whole.1.is_ok());
    assert_eq!(judged.count() as usize, whole.0.len());
    // As in the reply of a language model.
    let events = Events {
        chat: Some(Chat::default()),
        longest,
        ..Events::default()
    };
    let compiled = events.compile().expect("rules");
    let answered = |size: usize| {
        let mut answer = EventStream::new(&compiled, format, |_, _| {});
        let mut count = 0;
        let mut pieces = stream.chunks(size);
        let read = pieces.try_for_each(|piece| answer.read_chat(&compiled, piece, || count += 1));
        let end = read.and_then(|()| answer.end_chat());
        (count, end.is_ok(), *answer.answer())
    };
    assert_eq!(answered(1), answered(stream.len().max(1)));
});
