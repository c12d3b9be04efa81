//! Frames: a length, a kind, a channel, and a payload.

/// Maximum payload of a frame, bytes. Longer messages are split.
pub const MOST_FRAME: usize = 1 << 20;
/// Size of the length field, bytes.
const LENGTH: usize = 4;
/// Size of kind and channel, bytes. The length includes them.
const HEAD: usize = 5;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A part of a message that continues in the next frame.
    Part,
    /// A message, or the last part of one. The channel is the id of the request; 0: not part of a request.
    Message,
    /// Bytes of the stream whose number is the channel.
    Data,
    /// The end of a stream. The payload is the reason if it ended early; empty: the stream is complete.
    End,
    /// The receiver of the stream accepts this many more bytes (four bytes, big-endian).
    Credit,
    /// The receiver of the stream accepts no more bytes.
    Refuse,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    /// The id of the request, or the number of the stream.
    pub channel: u32,
    pub payload: Vec<u8>,
}

/// The received bytes violate the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame is longer than the maximum, or shorter than its head.
    #[error("received a frame with the invalid length {0}")]
    Length(u32),
    /// The kind of a frame is unknown.
    #[error("received a frame of unknown kind {0}")]
    Kind(u8),
    /// A message is longer than the maximum.
    #[error("received a message of more than {0} bytes")]
    LongMessage(usize),
    /// The parts of two messages are mixed.
    #[error("received a message before the previous one was complete")]
    MixedMessages,
    /// A credit is not four bytes long.
    #[error("received a credit of {0} bytes instead of four")]
    Credit(usize),
}

impl Kind {
    const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Part,
            1 => Self::Message,
            2 => Self::Data,
            3 => Self::End,
            4 => Self::Credit,
            5 => Self::Refuse,
            _ => return None,
        })
    }
}

impl Frame {
    /// Appends a frame. The payload must not be longer than [`MOST_FRAME`].
    pub fn write(kind: Kind, channel: u32, payload: &[u8], to: &mut Vec<u8>) {
        assert!(payload.len() <= MOST_FRAME, "invariant: payloads are cut before");
        to.extend_from_slice(&((HEAD + payload.len()) as u32).to_be_bytes());
        to.push(kind as u8);
        to.extend_from_slice(&channel.to_be_bytes());
        to.extend_from_slice(payload);
    }

    /// Appends a message, split into as many frames as necessary.
    pub fn write_message(channel: u32, message: &[u8], to: &mut Vec<u8>) {
        let mut rest = message;
        while rest.len() > MOST_FRAME {
            let (part, after) = rest.split_at(MOST_FRAME);
            Self::write(Kind::Part, channel, part, to);
            rest = after;
        }
        Self::write(Kind::Message, channel, rest, to);
    }
}

/// Splits a stream of bytes into frames. It buffers at most one frame and the bytes that were pushed last.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    read: usize,
}

impl Decoder {
    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        // Drops the consumed bytes here, once for many frames.
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame; `None`: more bytes are needed. After an error the rest of the stream is meaningless.
    pub fn pop(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.bytes[self.read..];
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length);
        if !(HEAD..=HEAD + MOST_FRAME).contains(&(length as usize)) {
            return Err(FrameError::Length(length));
        }
        let Some((head, _)) = rest.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let [kind, channel @ ..] = *head;
        let kind = Kind::of(kind).ok_or(FrameError::Kind(kind))?;
        let Some(payload) = rest.get(HEAD..length as usize) else {
            return Ok(None);
        };
        let frame = Frame {
            kind,
            channel: u32::from_be_bytes(channel),
            payload: payload.to_vec(),
        };
        self.read += LENGTH + length as usize;
        Ok(Some(frame))
    }
}
