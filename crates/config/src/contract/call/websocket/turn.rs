//! What is said and heard on a WebSocket, step by step.

use crate::contract::ContractError;
use crate::contract::call::Filling;
use crate::contract::template::constant;
use crate::contract::toml::{OneOrMany, TextOrNumber, WrittenHeard, WrittenPayload, WrittenTurn};
use prony_load::{Generated, Template};

/// Longest payload of a frame in a talk, bytes.
const LONGEST: usize = 16 << 20;
/// Longest payload of a control frame, bytes (RFC 6455, section 5.5).
const LONGEST_CONTROL: usize = 125;

/// One step of a talk over a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// This frame is sent.
    Say(Frame),
    /// This must come.
    Hear(Heard),
    /// What follows is said and heard by this member, who comes in where it is not there yet.
    By(Member),
    /// The member reads nothing any more: nothing is expected of its connection.
    Deaf,
    /// The member's connection ends without a close.
    Cut,
}

/// One of several clients in a talk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name in the talk.
    pub name: String,
    /// The path that it comes in by, where that is not the call's: who came in by the same one hears the same.
    pub path: Option<Vec<u8>>,
}

/// A frame as a client sends it, rightly or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: FrameKind,
    /// What it carries.
    pub payload: Vec<u8>,
    /// Whether its message ends with it.
    pub is_final: bool,
    /// Whether it has a mask, as frames of clients must.
    pub is_masked: bool,
}

impl Frame {
    /// A whole frame as it must be.
    pub const fn new(kind: FrameKind, payload: Vec<u8>) -> Self {
        Self {
            kind,
            payload,
            is_final: true,
            is_masked: true,
        }
    }
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// A text, or its first fragment.
    Text,
    /// A binary message, or its first fragment.
    Binary,
    /// The next fragment of a message.
    More,
    /// A ping, which is answered by a pong.
    Ping,
    /// A pong that nobody asked for.
    Pong,
    /// The end of the connection.
    Close,
}

/// What must come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// All messages that were sent and have not come back yet, equal and in their order; and a pong for each ping.
    Echo,
    /// The end of the connection, with one of these codes; `None`: without a code.
    Close(Vec<Option<u16>>),
}

/// How a turn is filled: the text of each error gets its place.
pub(super) type Place<'a> = (&'a dyn Fn(String) -> ContractError, &'a Filling<'a>);

/// Reads a turn as it is written: one or two steps.
pub(super) fn read(
    written: &WrittenTurn,
    place: Place<'_>,
    turns: &mut Vec<Turn>,
) -> Result<(), ContractError> {
    if let Some(name) = &written.by {
        turns.push(Turn::By(Member {
            name: name.clone(),
            path: written
                .at
                .as_deref()
                .map(|path| path_of(path, place))
                .transpose()?,
        }));
    } else if written.at.is_some() || written.deaf || written.cut {
        return Err(place.0(
            "`at`, `deaf` and `cut` are about a member: say whose turn it is with `by`".to_owned(),
        ));
    }
    let said = frame(written, place)?;
    let ends = usize::from(written.deaf) + usize::from(written.cut) + usize::from(written.expect.is_some());
    if ends > 1 {
        return Err(place.0(
            "more than one of `expect`, `deaf` and `cut`: a turn ends in one way".to_owned(),
        ));
    }
    let idle = said.is_none() && written.expect.is_none();
    let enters = written.by.is_some() || written.deaf || written.cut;
    if idle && (!enters || written.unfinished || written.unmasked) {
        return Err(place.0("it says nothing: give a frame, or `expect`".to_owned()));
    }
    turns.extend(said.map(Turn::Say));
    turns.extend(written.deaf.then_some(Turn::Deaf));
    turns.extend(written.cut.then_some(Turn::Cut));
    let heard = match &written.expect {
        None => None,
        Some(WrittenHeard::Word(_)) => Some(Heard::Echo),
        Some(WrittenHeard::Close(close)) => {
            let OneOrMany(codes) = &close.close;
            let codes = codes.iter().map(|code| code_of(code, place));
            Some(Heard::Close(codes.collect::<Result<_, _>>()?))
        }
    };
    turns.extend(heard.map(Turn::Hear));
    Ok(())
}

/// The frame that a turn sends, if it does.
fn frame(written: &WrittenTurn, (at, filling): Place<'_>) -> Result<Option<Frame>, ContractError> {
    let payloads = [
        (FrameKind::Text, &written.text),
        (FrameKind::Binary, &written.binary),
        (FrameKind::More, &written.more),
        (FrameKind::Ping, &written.ping),
        (FrameKind::Pong, &written.pong),
    ];
    let mut frames = Vec::new();
    for (kind, given) in payloads {
        if let Some(given) = given {
            frames.push((kind, payload(given, (at, filling))?));
        }
    }
    if let Some(payload) = close(written, (at, filling))? {
        frames.push((FrameKind::Close, payload));
    }
    let Some((kind, payload)) = frames.pop() else {
        return Ok(None);
    };
    if !frames.is_empty() {
        let known = "`text`, `binary`, `more`, `ping`, `pong` and `close`";
        return Err(at(format!("more than one of {known}: a turn sends one frame")));
    }
    let is_control = matches!(kind, FrameKind::Ping | FrameKind::Pong | FrameKind::Close);
    if is_control && (written.unfinished || payload.len() > LONGEST_CONTROL) {
        return Err(at(
            "a ping, pong or close is one frame of at most 125 bytes".to_owned()
        ));
    }
    Ok(Some(Frame {
        kind,
        payload,
        is_final: !written.unfinished,
        is_masked: !written.unmasked,
    }))
}

/// What a close frame carries: a code and a reason.
fn close(written: &WrittenTurn, place: Place<'_>) -> Result<Option<Vec<u8>>, ContractError> {
    let Some(code) = &written.close else {
        return match written.reason {
            Some(_) => Err(place.0("`reason` without `close`".to_owned())),
            None => Ok(None),
        };
    };
    let code = code_of(code, place)?.map(u16::to_be_bytes);
    let reason = text(written.reason.as_deref().unwrap_or_default(), place)?;
    if code.is_none() && !reason.is_empty() {
        return Err(place.0("a `reason` stands behind a code".to_owned()));
    }
    Ok(Some([code.as_slice().as_flattened(), &reason].concat()))
}

/// The path of a member's handshake.
fn path_of(path: &str, place: Place<'_>) -> Result<Vec<u8>, ContractError> {
    let path = text(path, place)?;
    if path.starts_with(b"/") && path.iter().all(u8::is_ascii_graphic) {
        return Ok(path);
    }
    let shown = path.escape_ascii();
    Err(place.0(format!(
        "`at` is `{shown}`: a path begins with `/` and has no blanks"
    )))
}

fn text(text: &str, (at, filling): Place<'_>) -> Result<Vec<u8>, ContractError> {
    let filled = filling.fill(text, str::to_owned).map_err(at)?;
    Ok(constant(&filled))
}

fn payload(written: &WrittenPayload, place: Place<'_>) -> Result<Vec<u8>, ContractError> {
    Ok(match written {
        WrittenPayload::Text(written) => text(written, place)?,
        WrittenPayload::Letters(made) => {
            let made = made_up(length(&made.letters, place)?);
            made.into_iter().map(|byte| b'a' + byte % 26).collect()
        }
        WrittenPayload::Bytes(made) => made_up(length(&made.bytes, place)?),
        WrittenPayload::Hex(digits) => {
            let digits = text(&digits.hex, place)?;
            let pairs = digits.chunks(2).map(|pair| match pair {
                [_, _] => std::str::from_utf8(pair)
                    .ok()
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok()),
                _ => None,
            });
            let bytes: Option<Vec<u8>> = pairs.collect();
            bytes.ok_or_else(|| place.0("`hex` is pairs of hexadecimal digits".to_owned()))?
        }
    })
}

/// So many bytes that do not compress.
fn made_up(length: usize) -> Vec<u8> {
    let generated = Generated {
        bytes: length as u64 + u64::from(Generated::end_length(u64::MAX)),
        chunk: None,
        end: Template::default(),
    };
    generated.filler()
}

fn length(written: &TextOrNumber, place: Place<'_>) -> Result<usize, ContractError> {
    let shown = shown(written, place)?;
    let length = shown.parse::<usize>().ok().filter(|length| *length <= LONGEST);
    length.ok_or_else(|| place.0(format!("`{shown}` is no number of bytes up to {LONGEST}")))
}

/// A code; an empty text: none.
fn code_of(written: &TextOrNumber, place: Place<'_>) -> Result<Option<u16>, ContractError> {
    let shown = shown(written, place)?;
    if shown.is_empty() {
        return Ok(None);
    }
    let code = shown.parse::<u16>();
    code.map(Some)
        .map_err(|_| place.0(format!("`{shown}` is no code of a close")))
}

fn shown(written: &TextOrNumber, place: Place<'_>) -> Result<String, ContractError> {
    Ok(match written {
        TextOrNumber::Number(number) => number.to_string(),
        TextOrNumber::Text(written) => String::from_utf8_lossy(&text(written, place)?).into_owned(),
    })
}
