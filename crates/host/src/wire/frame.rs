//! Frames: a length, a kind, a channel, and so many bytes.

/// Most bytes that a frame carries. What is longer is sent in parts.
pub const MOST_FRAME: usize = 1 << 20;
/// Bytes of the length.
const LENGTH: usize = 4;
/// Bytes of kind and channel, which the length counts.
const HEAD: usize = 5;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A part of a message, which goes on in the next frame.
    Part,
    /// A message, or the last part of one. The channel is the number of the request; 0: of none.
    Message,
    /// Bytes of the stream that the channel says.
    Data,
    /// The end of the stream. Bytes say why it ended early; none: it is whole.
    End,
    /// The receiver of the stream has room for so many bytes more (four bytes, big-endian).
    Credit,
    /// The receiver of the stream wants no more of it.
    Refuse,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it carries.
    pub kind: Kind,
    /// The request or the stream that it is about.
    pub channel: u32,
    /// The bytes.
    pub payload: Vec<u8>,
}

/// Bytes that are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It would be longer than any frame may be, or shorter than its head.
    #[error("a frame of {0} bytes came, which none may have")]
    Length(u32),
    /// Its kind is not known.
    #[error("a frame of the unknown kind {0} came")]
    Kind(u8),
    /// A message is longer than any may be.
    #[error("a message of more than {0} bytes came")]
    LongMessage(usize),
    /// The parts of two messages are mixed.
    #[error("a message began before another one had ended")]
    MixedMessages,
    /// A credit that is none.
    #[error("a credit of {0} bytes instead of four came")]
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
    /// Appends the frame. The payload must not be longer than [`MOST_FRAME`].
    pub fn write(kind: Kind, channel: u32, payload: &[u8], to: &mut Vec<u8>) {
        assert!(payload.len() <= MOST_FRAME, "invariant: payloads are cut before");
        to.extend_from_slice(&((HEAD + payload.len()) as u32).to_be_bytes());
        to.push(kind as u8);
        to.extend_from_slice(&channel.to_be_bytes());
        to.extend_from_slice(payload);
    }

    /// Appends a message in as many frames as it needs.
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

/// Cuts a stream of bytes into frames. It holds at most one frame and what was pushed last.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    read: usize,
}

impl Decoder {
    /// Takes what came.
    pub fn push(&mut self, bytes: &[u8]) {
        // What was read is dropped here, once for many frames.
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame; `None`: more bytes are needed. After an error nothing that follows means anything.
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
