//! The chunked transfer coding (RFC 9112 §7.1), read in pieces of any size.

/// Position of the next byte within a chunked body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunks {
    state: State,
    /// Bytes of chunk extensions and trailers read so far.
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
    /// At the start of a trailer line.
    TrailerStart,
    Trailer,
    TrailerEnd,
    /// After the CR of the final empty line.
    LastEnd,
}

/// Limit on the bytes of extensions and trailers: reading garbage must end.
const MAX_OVERHEAD: u32 = 64 * 1024;

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
                let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
                data(&bytes[..taken]);
                bytes = &bytes[taken..];
                let left = left - taken as u64;
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
            State::Size { value, any } => match (byte, any) {
                (b'\r', true) => State::SizeEnd { value },
                (b';' | b' ' | b'\t', true) => State::Extension { value },
                _ => State::Size {
                    value: push_digit(value, byte)?,
                    any: true,
                },
            },
            State::Extension { value } => {
                self.count()?;
                match byte {
                    b'\r' => State::SizeEnd { value },
                    b'\n' => return Err("a chunk-size line does not end with CR LF"),
                    _ => State::Extension { value },
                }
            }
            State::SizeEnd { value } => match (byte, value) {
                (b'\n', 0) => State::TrailerStart,
                (b'\n', left) => State::Data { left },
                _ => return Err("a chunk-size line does not end with CR LF"),
            },
            State::DataCr if byte == b'\r' => State::DataEnd,
            State::DataEnd if byte == b'\n' => State::Size { value: 0, any: false },
            State::DataCr | State::DataEnd => return Err("a chunk is longer than its size"),
            State::TrailerStart if byte == b'\r' => State::LastEnd,
            State::TrailerStart | State::Trailer => {
                self.count()?;
                match byte {
                    b'\r' => State::TrailerEnd,
                    b'\n' => return Err("a trailer line does not end with CR LF"),
                    _ => State::Trailer,
                }
            }
            State::TrailerEnd if byte == b'\n' => State::TrailerStart,
            State::TrailerEnd => return Err("a trailer line does not end with CR LF"),
            State::Data { .. } | State::LastEnd => self.state,
        })
    }

    fn count(&mut self) -> Result<(), &'static str> {
        self.overhead += 1;
        if self.overhead > MAX_OVERHEAD {
            return Err("chunk extensions and trailers are longer than 64 KiB");
        }
        Ok(())
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
