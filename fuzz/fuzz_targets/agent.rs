//! The input of an agent and its controller: however it is cut, the result is the same, and nothing crashes the reader.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_host::wire::{
    AgentEvent, AgentHello, AgentRequest, AgentResponse, ControllerHello, Entry, GreetingReader, Inbox, Item,
};

/// The items, and the error at the end, if any.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Item>, Option<String>) {
    let (mut inbox, mut items) = (Inbox::default(), Vec::new());
    for piece in pieces {
        inbox.push(piece);
        loop {
            match inbox.pop() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(error) => return (items, Some(error.to_string())),
            }
        }
    }
    (items, None)
}

fn parse(json: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<AgentRequest>(json) {
        let again = serde_json::to_vec(&request).expect("what was read can be written");
        assert_eq!(
            serde_json::from_slice::<AgentRequest>(&again).expect("and read again"),
            request
        );
    }
    let _ = serde_json::from_slice::<AgentResponse>(json);
    let _ = serde_json::from_slice::<AgentHello>(json);
    let _ = serde_json::from_slice::<ControllerHello>(json);
    let _ = serde_json::from_slice::<AgentEvent>(json);
    let _ = serde_json::from_slice::<Entry>(json);
}

fuzz_target!(|input: &[u8]| {
    // The first byte is the length of the pieces.
    let Some((&size, input)) = input.split_first() else {
        return;
    };
    let whole = read(std::iter::once(input));
    assert_eq!(read(input.chunks(usize::from(size).max(1))), whole);
    for item in &whole.0 {
        if let Item::Message { json, .. } = item {
            parse(json);
        }
    }
    parse(input);
    let mut greeting = GreetingReader::default();
    for piece in input.chunks(usize::from(size).max(1)) {
        if !matches!(greeting.push(piece), Ok(None)) {
            break;
        }
    }
    let _ = greeting.junk();
});
