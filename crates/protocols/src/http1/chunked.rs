//! The chunked transfer coding (RFC 9112, section 7.1), read in pieces of any size.

use crate::request_rules::is_token;

/// Position of the next byte within a chunked body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunks {
    state: State,
    /// Bytes of sizes, chunk extensions and the trailer section so far.
    overhead: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Inside a chunk size: the value so far, and whether any digit was read.
    Size {
        value: u64,
        any: bool,
    },
    /// After the size, before the end of its line.
    Extension {
        value: u64,
        at: Extension,
    },
    /// After the CR of the chunk-size line.
    SizeEnd {
        value: u64,
    },
    Data {
        left: u64,
    },
    DataCr,
    DataEnd,
    Trailer(Trailer),
    /// After the CR of the empty line that ends it all.
    LastEnd,
}

/// Where in the extensions of a chunk (RFC 9112, section 7.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    /// White space after the size or a value, which `;` must follow.
    Space,
    /// After `;`, before the name.
    BeforeName,
    Name,
    /// White space after a name.
    AfterName,
    /// After `=`, before the value.
    BeforeValue,
    Value,
    Quoted,
    /// After a backslash within quotes.
    Escaped,
    /// After the closing quote.
    AfterQuoted,
}

/// Where in the trailer section (section 7.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trailer {
    /// At the start of a line; `first`: no field was there yet, so that white space continues none.
    Start {
        first: bool,
    },
    Name,
    Value,
    /// After the CR of a field.
    End,
}

/// Most bytes of sizes, extensions and trailers, so that garbage ends.
const MAX_OVERHEAD: u32 = 64 * 1024;

const SIZE_LINE: &str = "the line of a chunk's size does not end with CR LF";
const TRAILER_LINE: &str = "a line of the trailer does not end with CR LF";

impl Chunks {
    pub(super) const fn new() -> Self {
        Self {
            state: State::Size { value: 0, any: false },
            overhead: 0,
        }
    }

    /// Reads from the front of `bytes` and passes body data to `data`. Returns the unread bytes and whether the body is
    /// complete.
    pub(super) fn read<'a>(
        &mut self,
        mut bytes: &'a [u8],
        mut data: impl FnMut(&[u8]),
    ) -> Result<(&'a [u8], bool), &'static str> {
        while let Some((&byte, rest)) = bytes.split_first() {
            if let State::Data { left } = self.state {
                let length = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
                data(&bytes[..length]);
                bytes = &bytes[length..];
                let left = left - length as u64;
                self.state = if left == 0 {
                    State::DataCr
                } else {
                    State::Data { left }
                };
                continue;
            }
            bytes = rest;
            if self.state == State::LastEnd {
                return match byte {
                    b'\n' => Ok((bytes, true)),
                    _ => Err("the chunked body does not end with CR LF"),
                };
            }
            self.state = self.step(byte)?;
        }
        Ok((bytes, false))
    }

    fn step(&mut self, byte: u8) -> Result<State, &'static str> {
        Ok(match self.state {
            State::Size { value, any } => match byte {
                b'\r' if any => State::SizeEnd { value },
                b'\n' if any => return Err(SIZE_LINE),
                b';' if any => self.extension(value, Extension::BeforeName)?,
                b' ' | b'\t' if any => self.extension(value, Extension::Space)?,
                _ => {
                    // Any number of zeros may come first.
                    self.count()?;
                    State::Size {
                        value: push_digit(value, byte)?,
                        any: true,
                    }
                }
            },
            State::Extension { value, at } => match byte {
                b'\r' if at.may_end() => State::SizeEnd { value },
                b'\n' => return Err(SIZE_LINE),
                _ => self.extension(value, at.next(byte)?)?,
            },
            State::SizeEnd { value } => match (byte, value) {
                (b'\n', 0) => State::Trailer(Trailer::Start { first: true }),
                (b'\n', left) => State::Data { left },
                _ => return Err(SIZE_LINE),
            },
            State::DataCr if byte == b'\r' => State::DataEnd,
            State::DataEnd if byte == b'\n' => State::Size { value: 0, any: false },
            State::DataCr | State::DataEnd => return Err("a chunk is longer than its size says"),
            State::Trailer(Trailer::Start { .. }) if byte == b'\r' => State::LastEnd,
            State::Trailer(at) => {
                self.count()?;
                State::Trailer(at.next(byte)?)
            }
            State::Data { .. } | State::LastEnd => self.state,
        })
    }

    fn extension(&mut self, value: u64, at: Extension) -> Result<State, &'static str> {
        self.count()?;
        Ok(State::Extension { value, at })
    }

    fn count(&mut self) -> Result<(), &'static str> {
        self.overhead += 1;
        if self.overhead > MAX_OVERHEAD {
            return Err("chunk sizes, extensions and trailers are longer than 64 KiB");
        }
        Ok(())
    }
}

impl Extension {
    /// Whether the line may end here.
    const fn may_end(self) -> bool {
        matches!(self, Self::Name | Self::Value | Self::AfterQuoted)
    }

    fn next(self, byte: u8) -> Result<Self, &'static str> {
        let is_space = matches!(byte, b' ' | b'\t');
        Ok(match (self, byte) {
            (Self::Space | Self::Name | Self::AfterName | Self::Value | Self::AfterQuoted, b';') => {
                Self::BeforeName
            }
            (Self::Space | Self::BeforeName | Self::AfterName | Self::BeforeValue, _) if is_space => self,
            (Self::BeforeName | Self::Name, _) if is_token(byte) => Self::Name,
            (Self::Name, _) if is_space => Self::AfterName,
            (Self::Name | Self::AfterName, b'=') => Self::BeforeValue,
            (Self::BeforeValue, b'"') => Self::Quoted,
            (Self::BeforeValue | Self::Value, _) if is_token(byte) => Self::Value,
            (Self::Value | Self::AfterQuoted, _) if is_space => Self::Space,
            (Self::Quoted, b'"') => Self::AfterQuoted,
            (Self::Quoted, b'\\') => Self::Escaped,
            (Self::Quoted | Self::Escaped, b'\t' | b' '..=0x7e | 0x80..) => Self::Quoted,
            _ => return Err("a chunk's extension is not `;name`, `;name=token` or `;name=\"text\"`"),
        })
    }
}

impl Trailer {
    fn next(self, byte: u8) -> Result<Self, &'static str> {
        Ok(match (self, byte) {
            (Self::Start { first: false }, b' ' | b'\t') | (Self::Name, b':') => Self::Value,
            (Self::Start { .. } | Self::Name, _) if is_token(byte) => Self::Name,
            (Self::Name, b'\r') => return Err("a field of the trailer has no colon"),
            (Self::Start { .. } | Self::Name | Self::Value, b'\n') => return Err(TRAILER_LINE),
            (Self::Start { .. } | Self::Name, _) => {
                return Err("the name of a field of the trailer is no token");
            }
            (Self::Value, 0) => return Err("the value of a field of the trailer holds NUL"),
            (Self::Value, b'\r') => Self::End,
            (Self::Value, _) => Self::Value,
            (Self::End, b'\n') => Self::Start { first: false },
            (Self::End, _) => return Err(TRAILER_LINE),
        })
    }
}

fn push_digit(value: u64, byte: u8) -> Result<u64, &'static str> {
    let digit = char::from(byte)
        .to_digit(16)
        .ok_or("a chunk size is not a hexadecimal number")?;
    if value >> 56 != 0 {
        return Err("a chunk size is impossibly large");
    }
    Ok(value << 4 | u64::from(digit))
}
