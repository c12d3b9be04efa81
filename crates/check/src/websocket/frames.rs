//! Frames and the messages that they make. A library knows their format (RFC 6455, section 5.2); what of it a server must not
//! do is refused here.

use crate::exchange::Fault;
use prony_config::contract::{Frame, FrameKind};
use std::io::Cursor;
use tungstenite::Bytes;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tungstenite::protocol::frame::{Frame as Written, FrameHeader};

/// Longest payload of a control frame, bytes (section 5.5).
const LONGEST_CONTROL: u64 = 125;
/// Longest message that is waited for, bytes: more than any that is sent.
const LONGEST: u64 = 64 << 20;

/// What a message is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Binary,
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Came {
    Message(Kind, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    /// With its code, where it has one.
    Close(Option<u16>),
}

/// Appends a frame as it is told, masked with a random key.
pub(super) fn write(frame: &Frame, out: &mut Vec<u8>) {
    let header = FrameHeader {
        is_final: frame.is_final,
        opcode: match frame.kind {
            FrameKind::Text => OpCode::Data(Data::Text),
            FrameKind::Binary => OpCode::Data(Data::Binary),
            FrameKind::More => OpCode::Data(Data::Continue),
            FrameKind::Ping => OpCode::Control(Control::Ping),
            FrameKind::Pong => OpCode::Control(Control::Pong),
            FrameKind::Close => OpCode::Control(Control::Close),
        },
        mask: frame.is_masked.then(rand::random),
        ..FrameHeader::default()
    };
    Written::from_payload(header, Bytes::copy_from_slice(&frame.payload))
        .format(out)
        .expect("invariant: a vector takes all that is written");
}

/// What comes on one connection.
#[derive(Default)]
pub(super) struct Frames {
    /// The message whose last fragment has not come yet.
    partial: Option<(Kind, Vec<u8>)>,
}

impl Frames {
    /// Takes from the front of `received` what came next; `None`: it is not there as a whole.
    pub(super) fn take(&mut self, received: &mut Vec<u8>) -> Result<Option<Came>, Fault> {
        while let Some((header, payload)) = frame(received)? {
            let kind = match header.opcode {
                OpCode::Control(control) => return self.control(control, payload).map(Some),
                OpCode::Data(Data::Text) => Some(Kind::Text),
                OpCode::Data(Data::Binary) => Some(Kind::Binary),
                OpCode::Data(_) => None,
            };
            let (kind, mut message) = match (kind, self.partial.take()) {
                (Some(kind), None) => (kind, Vec::new()),
                (None, Some(partial)) => partial,
                (Some(_), Some(_)) => {
                    return Err(broken("a message begins before the one before it is over"));
                }
                (None, None) => return Err(broken("a fragment of no message")),
            };
            message.extend_from_slice(&payload);
            if !header.is_final {
                self.partial = Some((kind, message));
                continue;
            }
            if kind == Kind::Text && std::str::from_utf8(&message).is_err() {
                return Err(broken("a text that is not UTF-8"));
            }
            return Ok(Some(Came::Message(kind, message)));
        }
        Ok(None)
    }

    fn control(&self, control: Control, payload: Vec<u8>) -> Result<Came, Fault> {
        match control {
            Control::Ping => return Ok(Came::Ping(payload)),
            Control::Pong => return Ok(Came::Pong(payload)),
            _ if self.partial.is_some() => return Err(broken("a close in the middle of a message")),
            _ => {}
        }
        match payload.as_slice() {
            [] => Ok(Came::Close(None)),
            [high, low, reason @ ..] if std::str::from_utf8(reason).is_ok() => {
                Ok(Came::Close(Some(u16::from_be_bytes([*high, *low]))))
            }
            [_, _, ..] => Err(broken("a close whose reason is not UTF-8")),
            [_] => Err(broken("a close with half a code")),
        }
    }
}

/// Takes one frame from the front.
fn frame(received: &mut Vec<u8>) -> Result<Option<(FrameHeader, Vec<u8>)>, Fault> {
    let mut cursor = Cursor::new(received.as_slice());
    let parsed = FrameHeader::parse(&mut cursor).map_err(|error| broken(&error.to_string()))?;
    let Some((header, length)) = parsed else {
        return Ok(None);
    };
    let begin = cursor.position() as usize;
    if header.mask.is_some() {
        return Err(broken("a masked frame: only clients mask"));
    }
    if header.rsv1 || header.rsv2 || header.rsv3 {
        return Err(broken(
            "a frame with a reserved bit, as compressed ones have: nobody asked for an extension",
        ));
    }
    if header.len(length) != begin {
        return Err(broken("the length of a frame in more bytes than it needs"));
    }
    if matches!(header.opcode, OpCode::Control(_)) && (!header.is_final || length > LONGEST_CONTROL) {
        return Err(broken("a control frame in fragments, or of more than 125 bytes"));
    }
    if length > LONGEST {
        return Err(broken("a frame longer than any that was sent"));
    }
    let end = begin + length as usize;
    if received.len() < end {
        return Ok(None);
    }
    let payload = received[begin..end].to_vec();
    received.drain(..end);
    Ok(Some((header, payload)))
}

fn broken(reason: &str) -> Fault {
    Fault::malformed(format!("no WebSocket: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All that comes of bytes that arrive in pieces, and the fault that ends it.
    fn came<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Came>, Option<String>) {
        let (mut frames, mut received, mut all) = (Frames::default(), Vec::new(), Vec::new());
        for piece in pieces {
            received.extend_from_slice(piece);
            loop {
                match frames.take(&mut received) {
                    Ok(Some(came)) => all.push(came),
                    Ok(None) => break,
                    Err(fault) => return (all, Some(fault.to_string())),
                }
            }
        }
        (all, None)
    }

    fn from_server(kind: FrameKind, payload: &[u8], is_final: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let frame = Frame {
            kind,
            payload: payload.to_vec(),
            is_final,
            is_masked: false,
        };
        write(&frame, &mut out);
        out
    }

    #[test]
    fn fragments_are_joined_around_control_frames() {
        let long = vec![7; 70_000];
        let bytes = [
            from_server(FrameKind::Text, b"\xe2\x82", false),
            from_server(FrameKind::Ping, b"?", true),
            from_server(FrameKind::More, b"\xac", true),
            from_server(FrameKind::Binary, &long, true),
            from_server(FrameKind::Pong, b"", true),
            from_server(FrameKind::Close, b"\x03\xe8bye", true),
        ]
        .concat();
        let expected = vec![
            Came::Ping(b"?".to_vec()),
            Came::Message(Kind::Text, "\u{20ac}".into()),
            Came::Message(Kind::Binary, long),
            Came::Pong(Vec::new()),
            Came::Close(Some(1000)),
        ];
        assert_eq!(came([bytes.as_slice()]), (expected.clone(), None));
        assert_eq!(came(bytes.chunks(1)), (expected, None));
    }

    #[test]
    fn what_a_server_must_not_send_is_refused() {
        let wrong: [(&[u8], &str); 13] = [
            (b"\x81\x81\x00\x00\x00\x00a", "masked"),
            (b"\xc1\x01a", "reserved bit"),
            (b"\x91\x01a", "reserved bit"),
            (b"\x83\x00", "opcode"),
            (b"\x80\x00", "a fragment of no message"),
            (b"\x01\x00\x81\x00", "before the one before it is over"),
            (b"\x81\x7e\x00\x01a", "more bytes than it needs"),
            (
                b"\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x01a",
                "more bytes than it needs",
            ),
            (b"\x09\x00", "a control frame in fragments"),
            (b"\x81\x01\xff", "not UTF-8"),
            (b"\x88\x01\x03", "half a code"),
            (b"\x88\x03\x03\xe8\xff", "reason is not UTF-8"),
            (b"\x01\x00\x88\x00", "a close in the middle"),
        ];
        for (bytes, reason) in wrong {
            for size in [1, bytes.len()] {
                let (_, fault) = came(bytes.chunks(size));
                let fault = fault.unwrap_or_else(|| panic!("{reason}: no fault"));
                assert!(fault.contains(reason), "{reason}: {fault}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_mean_the_same_however_they_are_cut(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
            size in 1..9_usize,
        ) {
            let whole = came([bytes.as_slice()]);
            prop_assert_eq!(&came(bytes.chunks(size)), &whole);
            prop_assert_eq!(&came(bytes.chunks(1)), &whole);
        }
    }
}
