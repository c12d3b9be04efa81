//! Decodes received bytes: splits them into frames and reassembles messages.

use super::frame::{Decoder, Frame, FrameError, Kind};

/// Maximum size of a message, bytes: the usage of a trial of hours with all its samples is smaller.
pub const MOST_MESSAGE: usize = 16 << 20;

/// One received item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A complete message.
    Message {
        /// The id of the request that it is or replies to; 0: none.
        id: u32,
        json: Vec<u8>,
    },
    /// Bytes of a stream.
    Data { stream: u32, bytes: Vec<u8> },
    /// The end of a stream.
    End {
        stream: u32,
        /// The reason if it is incomplete.
        broken: Option<String>,
    },
    /// More of a stream may be sent.
    Credit {
        stream: u32,
        /// The number of additional bytes.
        bytes: u32,
    },
    /// No more of a stream may be sent.
    Refuse { stream: u32 },
}

/// Turns bytes into items. It buffers at most one message and one frame.
#[derive(Debug, Default)]
pub struct Inbox {
    frames: Decoder,
    /// A message of which only some parts have arrived.
    begun: Option<(u32, Vec<u8>)>,
}

impl Inbox {
    /// Appends received bytes.
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
