//! The steps of a WebSocket script: frames to send and to expect.

use crate::ConfigError;
use crate::contract::call::{Context, PlaceholderValues};
use crate::contract::template::constant;
use crate::contract::toml::{ExpectedFrameToml, OneOrMany, PayloadToml, ScriptStepToml, TextOrNumber};
use crate::format::Spanned;
use prony_load::{GeneratedBody, Template};
use std::ops::Range;

/// Longest payload of a frame in a script, bytes.
const LONGEST: usize = 16 << 20;
/// Longest payload of a control frame, bytes (RFC 6455, section 5.5).
const LONGEST_CONTROL: usize = 125;

/// One step of a WebSocket script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptStep {
    /// Send this frame.
    Send(Frame),
    /// Wait for this.
    Expect(ExpectedFrame),
    /// The following steps are on this member's connection, which is opened if it is not open yet.
    SwitchTo(Member),
    /// The member stops reading: nothing is expected on its connection from now on.
    StopReading,
    /// The member's connection ends without a close.
    Abort,
}

/// One of several clients of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// The path of its handshake, if it is not the path of the call. Members with the same path receive the same messages.
    pub path: Option<Vec<u8>>,
}

/// A frame that a client sends, valid or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: FrameKind,
    pub payload: Vec<u8>,
    /// Whether it is the last frame of its message.
    pub is_final: bool,
    /// Whether the frame is masked, as required of clients.
    pub is_masked: bool,
}

impl Frame {
    /// A valid, complete frame.
    pub const fn new(kind: FrameKind, payload: Vec<u8>) -> Self {
        Self {
            kind,
            payload,
            is_final: true,
            is_masked: true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// A text message, or its first fragment.
    Text,
    /// A binary message, or its first fragment.
    Binary,
    /// The next fragment of a message.
    More,
    /// A ping, which must be answered with a pong.
    Ping,
    /// An unsolicited pong.
    Pong,
    /// The close of the connection.
    Close,
}

/// What a client must receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedFrame {
    /// All messages that were sent and not echoed yet, unchanged and in order; and a pong for each ping.
    Echo,
    /// The end of the connection, with one of these codes; `None`: without a code.
    Close(Vec<Option<u16>>),
}

/// The step that is read, and the values of its placeholders.
pub(super) struct ErrorLocation<'a> {
    pub(super) span: Range<usize>,
    /// An error of the step.
    pub(super) at: &'a dyn Fn(String) -> ConfigError,
    pub(super) filling: &'a PlaceholderValues<'a>,
}

/// Parses a turn into one or two steps.
pub(super) fn read(
    written: &ScriptStepToml,
    place: &ErrorLocation<'_>,
    turns: &mut Vec<ScriptStep>,
) -> Result<(), ConfigError> {
    if let Some(name) = &written.client {
        turns.push(ScriptStep::SwitchTo(Member {
            name: name.clone(),
            path: written
                .path
                .as_deref()
                .map(|path| path_of(path, place))
                .transpose()?,
        }));
    } else if written.path.is_some() || written.stop_reading || written.abort {
        return Err((place.at)(
            "`path`, `stop_reading` and `abort` need a client: name it with `client`".to_owned(),
        ));
    }
    let said = frame(written, place)?;
    let ends = usize::from(written.stop_reading)
        + usize::from(written.abort)
        + usize::from(written.expect.is_some());
    if ends > 1 {
        return Err((place.at)(
            "more than one of `expect`, `stop_reading` and `abort`: give only one".to_owned(),
        ));
    }
    let idle = said.is_none() && written.expect.is_none();
    let enters = written.client.is_some() || written.stop_reading || written.abort;
    if idle && (!enters || !written.fin || !written.masked) {
        return Err((place.at)(
            "the step is empty: give a frame, or `expect`".to_owned(),
        ));
    }
    turns.extend(said.map(ScriptStep::Send));
    turns.extend(written.stop_reading.then_some(ScriptStep::StopReading));
    turns.extend(written.abort.then_some(ScriptStep::Abort));
    let heard = match &written.expect {
        None => None,
        Some(ExpectedFrameToml::Word(_)) => Some(ExpectedFrame::Echo),
        Some(ExpectedFrameToml::Close(close)) => {
            let OneOrMany(codes) = &close.close;
            let codes = codes.iter().map(|code| code_of(code, place));
            Some(ExpectedFrame::Close(codes.collect::<Result<_, _>>()?))
        }
    };
    turns.extend(heard.map(ScriptStep::Expect));
    Ok(())
}

/// The frame that a turn sends, if any.
fn frame(written: &ScriptStepToml, place: &ErrorLocation<'_>) -> Result<Option<Frame>, ConfigError> {
    let payloads = [
        (FrameKind::Text, &written.text),
        (FrameKind::Binary, &written.binary),
        (FrameKind::More, &written.continuation),
        (FrameKind::Ping, &written.ping),
        (FrameKind::Pong, &written.pong),
    ];
    let mut frames = Vec::new();
    for (kind, given) in payloads {
        if let Some(given) = given {
            frames.push((kind, payload(given, place)?));
        }
    }
    if let Some(payload) = close(written, place)? {
        frames.push((FrameKind::Close, payload));
    }
    let Some((kind, payload)) = frames.pop() else {
        return Ok(None);
    };
    if !frames.is_empty() {
        let known = "`text`, `binary`, `continuation`, `ping`, `pong` and `close`";
        return Err((place.at)(format!("more than one of {known}: give only one")));
    }
    let is_control = matches!(kind, FrameKind::Ping | FrameKind::Pong | FrameKind::Close);
    if is_control && (!written.fin || payload.len() > LONGEST_CONTROL) {
        return Err((place.at)(
            "a ping, pong or close is one frame of at most 125 bytes".to_owned(),
        ));
    }
    Ok(Some(Frame {
        kind,
        payload,
        is_final: written.fin,
        is_masked: written.masked,
    }))
}

/// The payload of a close frame: a code and a reason.
fn close(written: &ScriptStepToml, place: &ErrorLocation<'_>) -> Result<Option<Vec<u8>>, ConfigError> {
    let Some(code) = &written.close else {
        return match written.reason {
            Some(_) => Err((place.at)("`reason` without `close`".to_owned())),
            None => Ok(None),
        };
    };
    let code = code_of(code, place)?.map(u16::to_be_bytes);
    let reason = text(written.reason.as_deref().unwrap_or_default(), place)?;
    if code.is_none() && !reason.is_empty() {
        return Err((place.at)("a `reason` needs a code".to_owned()));
    }
    Ok(Some([code.as_slice().as_flattened(), &reason].concat()))
}

/// The path of a member's handshake.
fn path_of(path: &str, place: &ErrorLocation<'_>) -> Result<Vec<u8>, ConfigError> {
    let path = text(path, place)?;
    if path.starts_with(b"/") && path.iter().all(u8::is_ascii_graphic) {
        return Ok(path);
    }
    let shown = path.escape_ascii();
    Err((place.at)(format!(
        "`path` is `{shown}`: a path starts with `/` and has no spaces"
    )))
}

fn text(text: &str, place: &ErrorLocation<'_>) -> Result<Vec<u8>, ConfigError> {
    let text = Spanned::new(place.span.clone(), text.to_owned());
    Ok(constant(&place.filling.fill(&text, Context::Text)?))
}

fn payload(written: &PayloadToml, place: &ErrorLocation<'_>) -> Result<Vec<u8>, ConfigError> {
    Ok(match written {
        PayloadToml::Text(written) => text(written, place)?,
        PayloadToml::Letters(made) => {
            let made = made_up(length(&made.letters, place)?);
            made.into_iter().map(|byte| b'a' + byte % 26).collect()
        }
        PayloadToml::Bytes(made) => made_up(length(&made.bytes, place)?),
        PayloadToml::Hex(digits) => {
            let digits = text(&digits.hex, place)?;
            let pairs = digits.chunks(2).map(|pair| match pair {
                [_, _] => std::str::from_utf8(pair)
                    .ok()
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok()),
                _ => None,
            });
            let bytes: Option<Vec<u8>> = pairs.collect();
            bytes.ok_or_else(|| (place.at)("`hex` must be pairs of hexadecimal digits".to_owned()))?
        }
    })
}

/// Bytes that do not compress.
fn made_up(length: usize) -> Vec<u8> {
    let generated = GeneratedBody {
        bytes: length as u64 + u64::from(GeneratedBody::end_length(u64::MAX)),
        chunk: None,
        end: Template::default(),
    };
    generated.filler()
}

fn length(written: &TextOrNumber, place: &ErrorLocation<'_>) -> Result<usize, ConfigError> {
    let shown = shown(written, place)?;
    let length = shown.parse::<usize>().ok().filter(|length| *length <= LONGEST);
    length.ok_or_else(|| (place.at)(format!("`{shown}` is not a number of bytes up to {LONGEST}")))
}

/// A close code; `None` for an empty text.
fn code_of(written: &TextOrNumber, place: &ErrorLocation<'_>) -> Result<Option<u16>, ConfigError> {
    let shown = shown(written, place)?;
    if shown.is_empty() {
        return Ok(None);
    }
    let code = shown.parse::<u16>();
    code.map(Some)
        .map_err(|_| (place.at)(format!("`{shown}` is not a close code")))
}

fn shown(written: &TextOrNumber, place: &ErrorLocation<'_>) -> Result<String, ConfigError> {
    Ok(match written {
        TextOrNumber::Number(number) => number.to_string(),
        TextOrNumber::Text(written) => String::from_utf8_lossy(&text(written, place)?).into_owned(),
    })
}
