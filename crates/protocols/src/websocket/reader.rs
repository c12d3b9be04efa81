//! Parses frames that arrive in pieces of any size into messages and control frames.

use super::Fault;
use super::frame::{Header, Kind, LONGEST_CONTROL, LONGEST_HEADER, code, opcode};
use super::utf8::{InvalidUtf8, Utf8};

/// The next event on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameEvent<'a> {
    /// A message begins.
    Begin(Kind),
    /// Bytes of the message; at least one.
    Piece(&'a [u8]),
    /// The message is complete.
    End,
    /// A ping, whose payload [`Reader::control`] returns.
    Ping,
    /// A pong; its bytes are there, too.
    Pong,
    /// The end of the connection; its code and reason are there, too.
    Close,
}

/// Receiving state of one connection.
#[derive(Debug)]
pub(crate) struct Reader {
    /// An incomplete header.
    partial: Bytes<LONGEST_HEADER>,
    /// The frame whose payload is being received; its length is the number of bytes still to come.
    frame: Option<Header>,
    control: Bytes<LONGEST_CONTROL>,
    /// The message being received and its length so far, including all of the current frame.
    message: Option<(Kind, u64)>,
    utf8: Utf8,
}

impl Reader {
    pub(crate) const fn new() -> Self {
        Self {
            partial: Bytes::new(),
            frame: None,
            control: Bytes::new(),
            message: None,
            utf8: Utf8::new(),
        }
    }

    /// The payload of the control frame that was seen last.
    pub(crate) fn control(&self) -> &[u8] {
        self.control.get()
    }

    /// Whether a message has begun and is not complete.
    pub(crate) const fn is_within_message(&self) -> bool {
        self.message.is_some()
    }

    /// Reads the next event from the front of `bytes`; `None`: all of them are consumed. No message may be longer than
    /// `longest` bytes.
    #[inline]
    pub(crate) fn next<'a>(
        &mut self,
        bytes: &mut &'a [u8],
        longest: u64,
    ) -> Result<Option<FrameEvent<'a>>, Fault> {
        loop {
            let Some(frame) = &mut self.frame else {
                let Some(header) = self.header(bytes)? else {
                    return Ok(None);
                };
                match self.begin(header, longest)? {
                    Some(kind) => return Ok(Some(FrameEvent::Begin(kind))),
                    None => continue,
                }
            };
            let count = usize::try_from(frame.length).map_or(bytes.len(), |left| left.min(bytes.len()));
            let (piece, rest) = bytes.split_at(count);
            *bytes = rest;
            frame.length -= count as u64;
            let (opcode, is_final, is_over) = (frame.opcode, frame.is_final, frame.length == 0);
            if opcode & CONTROL != 0 {
                self.control.extend(piece);
                if !is_over {
                    return Ok(None);
                }
                self.frame = None;
                match opcode {
                    opcode::PING => return Ok(Some(FrameEvent::Ping)),
                    opcode::PONG => return Ok(Some(FrameEvent::Pong)),
                    _ => return Ok(Some(FrameEvent::Close)),
                }
            }
            if !piece.is_empty() {
                self.check(piece)?;
                return Ok(Some(FrameEvent::Piece(piece)));
            }
            if !is_over {
                return Ok(None);
            }
            self.frame = None;
            if is_final {
                self.message = None;
                self.utf8.end()?;
                return Ok(Some(FrameEvent::End));
            }
        }
    }

    #[inline]
    fn header(&mut self, bytes: &mut &[u8]) -> Result<Option<Header>, Fault> {
        if self.partial.get().is_empty()
            && let Some((header, size)) = Header::parse(bytes)?
        {
            *bytes = &bytes[size..];
            return Ok(Some(header));
        }
        while let Some((byte, rest)) = bytes.split_first() {
            *bytes = rest;
            self.partial.extend(&[*byte]);
            if let Some((header, _)) = Header::parse(self.partial.get())? {
                self.partial = Bytes::new();
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// Starts a frame; returns the type of the message that starts with it.
    #[inline]
    fn begin(&mut self, header: Header, longest: u64) -> Result<Option<Kind>, Fault> {
        self.frame = Some(header);
        let broken = |reason| Fault {
            code: code::PROTOCOL,
            reason,
        };
        let begins = match (header.opcode, self.message) {
            (opcode::TEXT | opcode::BINARY, Some(_)) => {
                return Err(broken("a message starts before the previous one is complete"));
            }
            (opcode::CONTINUATION, None) => return Err(broken("a continuation frame without a message")),
            (opcode::TEXT, None) => Some(Kind::Text),
            (opcode::BINARY, None) => Some(Kind::Binary),
            (opcode::CONTINUATION, Some(_)) => None,
            _ => {
                self.control = Bytes::new();
                return Ok(None);
            }
        };
        if let Some(kind) = begins {
            self.message = Some((kind, 0));
            self.utf8 = Utf8::new();
        }
        if let Some((_, length)) = &mut self.message {
            *length = length.saturating_add(header.length);
            if *length > longest {
                return Err(Fault {
                    code: code::TOO_LONG,
                    reason: "a message longer than --longest-event",
                });
            }
        }
        Ok(begins)
    }

    #[inline]
    fn check(&mut self, piece: &[u8]) -> Result<(), Fault> {
        if let Some((Kind::Text, _)) = self.message {
            self.utf8.take(piece)?;
        }
        Ok(())
    }
}

impl From<InvalidUtf8> for Fault {
    fn from(InvalidUtf8: InvalidUtf8) -> Self {
        Self {
            code: code::NO_TEXT,
            reason: "a text message that is not UTF-8",
        }
    }
}

/// The bit that control frames have.
const CONTROL: u8 = 8;

/// A small inline buffer.
#[derive(Debug, Clone, Copy)]
struct Bytes<const N: usize> {
    bytes: [u8; N],
    length: u8,
}

impl<const N: usize> Bytes<N> {
    const fn new() -> Self {
        Self {
            bytes: [0; N],
            length: 0,
        }
    }

    fn get(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// # Panics
    /// If there is no space left: callers check the length before.
    fn extend(&mut self, bytes: &[u8]) {
        let begin = usize::from(self.length);
        self.bytes[begin..begin + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len() as u8;
    }
}
