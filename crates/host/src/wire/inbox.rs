//! What comes in: frames, with the parts of messages put together.

use super::frame::{Decoder, Frame, FrameError, Kind};

/// Most bytes of a message: the usage of a trial of hours with all its samples is smaller.
pub const MOST_MESSAGE: usize = 16 << 20;

/// One thing that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A message, whole.
    Message {
        /// The request that it is or answers; 0: none.
        id: u32,
        /// JSON.
        json: Vec<u8>,
    },
    /// Bytes of a stream.
    Data {
        /// Which.
        stream: u32,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The end of a stream.
    End {
        /// Which.
        stream: u32,
        /// Why it is not whole, where it is not.
        broken: Option<String>,
    },
    /// More of a stream may be sent.
    Credit {
        /// Which.
        stream: u32,
        /// So many bytes.
        bytes: u32,
    },
    /// No more of a stream is wanted.
    Refuse {
        /// Which.
        stream: u32,
    },
}

/// Bytes in, items out. It holds one message and one frame at most.
#[derive(Debug, Default)]
pub struct Inbox {
    frames: Decoder,
    /// The message of which only parts came so far.
    begun: Option<(u32, Vec<u8>)>,
}

impl Inbox {
    /// Takes what came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    /// The next item; `None`: more bytes are needed.
    pub fn pop(&mut self) -> Result<Option<Item>, FrameError> {
        while let Some(frame) = self.frames.pop()? {
            if let Some(item) = self.take(frame)? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    fn take(&mut self, frame: Frame) -> Result<Option<Item>, FrameError> {
        let Frame {
            kind,
            channel: stream,
            payload,
        } = frame;
        Ok(Some(match kind {
            Kind::Part => {
                let begun = self.join(stream, payload)?;
                self.begun = Some((stream, begun));
                return Ok(None);
            }
            Kind::Message => Item::Message {
                id: stream,
                json: self.join(stream, payload)?,
            },
            Kind::Data => Item::Data {
                stream,
                bytes: payload,
            },
            Kind::End => Item::End {
                stream,
                broken: (!payload.is_empty()).then(|| String::from_utf8_lossy(&payload).into_owned()),
            },
            Kind::Credit => {
                let bytes = <[u8; 4]>::try_from(payload.as_slice());
                let bytes = bytes.map_err(|_| FrameError::Credit(payload.len()))?;
                Item::Credit {
                    stream,
                    bytes: u32::from_be_bytes(bytes),
                }
            }
            Kind::Refuse => Item::Refuse { stream },
        }))
    }

    fn join(&mut self, id: u32, payload: Vec<u8>) -> Result<Vec<u8>, FrameError> {
        let Some((of, mut begun)) = self.begun.take() else {
            return Ok(payload);
        };
        if of != id {
            return Err(FrameError::MixedMessages);
        }
        if begun.len() + payload.len() > MOST_MESSAGE {
            return Err(FrameError::LongMessage(MOST_MESSAGE));
        }
        begun.extend_from_slice(&payload);
        Ok(begun)
    }
}
