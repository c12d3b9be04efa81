//! Server-sent events, parsed as the WHATWG standard defines ([parsing an event
//! stream](https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream)).
//!
//! Bytes stay bytes: invalid UTF-8 is not replaced, since only excerpts are ever shown.

use super::{EventFault, KEPT, Message, UNNAMED};
use std::ops::ControlFlow;

/// U+FEFF, which is allowed at the start of the stream.
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The longest field name with a meaning is `event`: of a longer name, no more bytes are kept than it takes to see
/// that.
const NAME: usize = 6;

/// Where in the stream the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of the stream, after this number of bytes of a BOM.
    Bom(u8),
    /// In the name of a field, after this number of its bytes, at most [`NAME`].
    Name(u8),
    /// After the colon, where one space is not part of the value.
    Space(Field),
    /// In the value.
    Value(Field),
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
    /// A comment, or a field without a meaning.
    Ignored,
}

/// A reader of server-sent events.
#[derive(Debug)]
pub struct Sse {
    state: State,
    name: [u8; NAME],
    /// Whether the last byte was CR: then a following LF belongs to it.
    after_cr: bool,
    longest: u64,
    keeps: bool,
    /// Bytes of the values of the event so far.
    length: u64,
    /// Whether the event has a line of data.
    has_data: bool,
    /// Whether a field was received since the last empty line.
    is_open: bool,
    data: Vec<u8>,
    event: Vec<u8>,
    /// The id received since the last event, valid if `has_id`.
    id: Vec<u8>,
    has_id: bool,
    /// The value of an `id` line so far: it is ignored if it contains NUL.
    coming_id: Vec<u8>,
    /// The server's last value for the reconnection time, ms.
    retry: Option<u64>,
    coming_retry: Option<u64>,
}

impl Sse {
    pub(in crate::expect::events) const fn new(longest: u64, keeps: bool) -> Self {
        Self {
            state: State::Bom(0),
            name: [0; NAME],
            after_cr: false,
            longest,
            keeps,
            length: 0,
            has_data: false,
            is_open: false,
            data: Vec::new(),
            event: Vec::new(),
            id: Vec::new(),
            has_id: false,
            coming_id: Vec::new(),
            retry: None,
            coming_retry: None,
        }
    }

    pub(in crate::expect::events) fn begin(&mut self, longest: u64, keeps: bool) {
        self.state = State::Bom(0);
        self.after_cr = false;
        (self.longest, self.keeps) = (longest, keeps);
        self.has_id = false;
        self.retry = None;
        self.forget();
    }

    /// The reconnection time that the server requested, ms.
    pub const fn retry_ms(&self) -> Option<u64> {
        self.retry
    }

    pub(in crate::expect::events) const fn allocated(&self) -> usize {
        self.data.capacity() + self.event.capacity() + self.id.capacity() + self.coming_id.capacity()
    }

    pub(in crate::expect::events) fn read(
        &mut self,
        mut piece: &[u8],
        mut each: impl FnMut(&Message<'_>) -> ControlFlow<()>,
    ) -> Result<(), EventFault> {
        while let Some((&byte, rest)) = piece.split_first() {
            if std::mem::take(&mut self.after_cr) && byte == b'\n' {
                piece = rest;
                continue;
            }
            match self.state {
                State::Bom(matched) => {
                    if byte == BOM[usize::from(matched)] {
                        piece = rest;
                        self.state = if matched == 2 {
                            State::Name(0)
                        } else {
                            State::Bom(matched + 1)
                        };
                    } else {
                        // It looked like a BOM, but is the start of a name without a meaning.
                        self.state = State::Name(if matched == 0 { 0 } else { NAME as u8 });
                    }
                }
                State::Name(length) => {
                    piece = rest;
                    if self.name_byte(byte, usize::from(length))? && self.dispatch(&mut each).is_break() {
                        return Ok(());
                    }
                }
                State::Space(field) => {
                    if byte == b' ' {
                        piece = rest;
                    }
                    self.state = State::Value(field);
                }
                State::Value(field) => {
                    let end = memchr::memchr2(b'\n', b'\r', piece);
                    self.value(field, &piece[..end.unwrap_or(piece.len())])?;
                    let Some(end) = end else { return Ok(()) };
                    self.after_cr = piece[end] == b'\r';
                    piece = &piece[end + 1..];
                    self.end_line(field)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the next byte of a line without a colon so far. Returns whether the line is empty, which completes the
    /// event.
    fn name_byte(&mut self, byte: u8, length: usize) -> Result<bool, EventFault> {
        match byte {
            b'\r' | b'\n' => {
                self.after_cr = byte == b'\r';
                if length == 0 {
                    self.state = State::Name(0);
                    return Ok(true);
                }
                // A name without a colon has an empty value.
                let field = self.field(length);
                self.begin_value(field);
                self.end_line(field)?;
            }
            b':' => {
                let field = self.field(length);
                self.begin_value(field);
                self.state = State::Space(field);
            }
            _ => {
                if let Some(place) = self.name.get_mut(length) {
                    *place = byte;
                }
                self.state = State::Name((length + 1).min(NAME) as u8);
            }
        }
        Ok(false)
    }

    fn field(&self, length: usize) -> Field {
        // A name that fills the buffer is longer than any known one.
        match &self.name[..length] {
            b"data" => Field::Data,
            b"event" => Field::Event,
            b"id" => Field::Id,
            b"retry" => Field::Retry,
            _ => Field::Ignored,
        }
    }

    fn begin_value(&mut self, field: Field) {
        match field {
            Field::Event => self.event.clear(),
            Field::Id => self.coming_id.clear(),
            Field::Retry => self.coming_retry = None,
            Field::Data | Field::Ignored => {}
        }
    }

    fn value(&mut self, field: Field, bytes: &[u8]) -> Result<(), EventFault> {
        if field == Field::Ignored {
            return Ok(());
        }
        self.count(bytes.len())?;
        match field {
            Field::Data if self.keeps => self.data.extend_from_slice(bytes),
            Field::Event => self.event.extend_from_slice(bytes),
            Field::Id => self.coming_id.extend_from_slice(bytes),
            Field::Retry => {
                for &byte in bytes {
                    self.coming_retry = Some(digit(self.coming_retry, byte));
                }
            }
            Field::Data | Field::Ignored => {}
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), EventFault> {
        self.length += bytes as u64;
        if self.length > self.longest {
            return Err(EventFault::TooLong);
        }
        Ok(())
    }

    fn end_line(&mut self, field: Field) -> Result<(), EventFault> {
        self.state = State::Name(0);
        match field {
            Field::Data => {
                self.count(1)?;
                self.has_data = true;
                if self.keeps {
                    self.data.push(b'\n');
                }
            }
            Field::Id if !self.coming_id.contains(&0) => {
                std::mem::swap(&mut self.id, &mut self.coming_id);
                self.has_id = true;
            }
            Field::Retry => {
                self.retry = self.coming_retry.filter(|&ms| ms != NO_NUMBER).or(self.retry);
                return Ok(());
            }
            Field::Ignored => return Ok(()),
            Field::Event | Field::Id => {}
        }
        self.is_open = true;
        Ok(())
    }

    /// Handles an empty line: the event is complete if it has data.
    fn dispatch(&mut self, each: &mut impl FnMut(&Message<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        if self.has_data {
            flow = each(&Message {
                name: if self.event.is_empty() {
                    UNNAMED
                } else {
                    &self.event
                },
                data: self.data.strip_suffix(b"\n").unwrap_or_default(),
                id: self.has_id.then_some(self.id.as_slice()),
            });
            self.has_id = false;
        }
        self.forget();
        flow
    }

    fn forget(&mut self) {
        (self.length, self.has_data, self.is_open) = (0, false, false);
        for memory in [&mut self.data, &mut self.event, &mut self.coming_id] {
            memory.clear();
            if memory.capacity() > KEPT {
                memory.shrink_to(KEPT);
            }
        }
    }

    /// Handles the end of the reply: an event without its empty line is dropped.
    pub(in crate::expect::events) fn end(&self) -> Result<(), EventFault> {
        let in_a_line = match self.state {
            State::Name(length) => length > 0,
            State::Space(field) | State::Value(field) => field != Field::Ignored,
            State::Bom(_) => false,
        };
        if in_a_line || self.is_open {
            return Err(EventFault::CutOff);
        }
        Ok(())
    }
}

/// Marks a value of `retry` that is not a number.
const NO_NUMBER: u64 = u64::MAX;

/// Appends a digit to a number.
fn digit(number: Option<u64>, byte: u8) -> u64 {
    if !byte.is_ascii_digit() || number == Some(NO_NUMBER) {
        return NO_NUMBER;
    }
    let number = number.unwrap_or(0).saturating_mul(10);
    number.saturating_add(u64::from(byte - b'0')).min(NO_NUMBER - 1)
}
