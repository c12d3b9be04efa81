//! The frame format (RFC 6455, section 5.2) in both directions: frames of a client are masked, those of a server are
//! not.

use super::Fault;

/// Frame types.
pub(super) mod opcode {
    pub(in crate::websocket) const CONTINUATION: u8 = 0;
    pub(in crate::websocket) const TEXT: u8 = 1;
    pub(in crate::websocket) const BINARY: u8 = 2;
    pub(in crate::websocket) const CLOSE: u8 = 8;
    pub(in crate::websocket) const PING: u8 = 9;
    pub(in crate::websocket) const PONG: u8 = 10;
}

/// Close codes (section 7.4.1).
pub(super) mod code {
    pub(in crate::websocket) const NORMAL: u16 = 1000;
    pub(in crate::websocket) const PROTOCOL: u16 = 1002;
    pub(in crate::websocket) const NO_TEXT: u16 = 1007;
    pub(in crate::websocket) const POLICY: u16 = 1008;
    pub(in crate::websocket) const TOO_LONG: u16 = 1009;
}

/// Message types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Binary,
}

impl Kind {
    pub(super) const fn opcode(self) -> u8 {
        match self {
            Self::Text => opcode::TEXT,
            Self::Binary => opcode::BINARY,
        }
    }
}

/// Maximum length of a control frame's payload, bytes.
pub(super) const LONGEST_CONTROL: usize = 125;
/// Maximum length of the header of a server's frame, bytes: it has no masking key.
pub(super) const LONGEST_HEADER: usize = 10;

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
/// The length is in the next two or the next eight bytes.
const IN_TWO: u8 = 126;
const IN_EIGHT: u8 = 127;

/// The header of a frame from a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(super) opcode: u8,
    /// Whether the frame ends its message.
    pub(super) is_final: bool,
    /// Length of the payload, bytes.
    pub(super) length: u64,
}

const fn broken(reason: &'static str) -> Fault {
    Fault {
        code: code::PROTOCOL,
        reason,
    }
}

impl Header {
    /// Parses the header at the start of `bytes`. Returns it with its length, or `None` if it is incomplete.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Fault> {
        let [first, second, rest @ ..] = bytes else {
            return Ok(None);
        };
        if first & RESERVED != 0 {
            return Err(broken(
                "a frame with a reserved bit, as compressed ones have, but no extension was requested",
            ));
        }
        if second & MASKED != 0 {
            return Err(broken("a masked frame: only clients mask"));
        }
        let (opcode, is_final) = (first & 0x0f, first & FINAL != 0);
        match opcode {
            opcode::CONTINUATION | opcode::TEXT | opcode::BINARY => {}
            opcode::CLOSE | opcode::PING | opcode::PONG => {
                if !is_final {
                    return Err(broken("a fragmented control frame"));
                }
                if usize::from(*second) > LONGEST_CONTROL {
                    return Err(broken("a control frame longer than 125 bytes"));
                }
            }
            _ => return Err(broken("a frame with an unknown opcode")),
        }
        let (length, least, size) = match *second {
            IN_TWO => match rest.first_chunk() {
                Some(length) => (u64::from(u16::from_be_bytes(*length)), u64::from(IN_TWO), 4),
                None => return Ok(None),
            },
            IN_EIGHT => match rest.first_chunk() {
                Some(length) => (u64::from_be_bytes(*length), 1 << 16, 10),
                None => return Ok(None),
            },
            short => (u64::from(short), 0, 2),
        };
        if length < least {
            return Err(broken("a frame length encoded in more bytes than it needs"));
        }
        if length > i64::MAX as u64 {
            return Err(broken("a frame length with its highest bit set"));
        }
        let header = Self {
            opcode,
            is_final,
            length,
        };
        Ok(Some((header, size)))
    }
}

/// Appends one complete, masked frame.
pub(super) fn write(opcode: u8, payload: &[u8], key: [u8; 4], out: &mut Vec<u8>) {
    fill(opcode, key, payload.len(), out, |out| {
        out.extend_from_slice(payload);
    });
}

/// Appends one complete, masked frame with the payload that `payload` appends. `about` is the estimated length of the
/// payload in bytes: it decides where the payload starts, since its length is not known yet.
#[inline]
pub(super) fn fill(
    opcode: u8,
    key: [u8; 4],
    about: usize,
    out: &mut Vec<u8>,
    payload: impl FnOnce(&mut Vec<u8>),
) {
    let (begin, guess) = (out.len(), LengthEncoding::of(about));
    out.resize(begin + guess.header(), 0);
    payload(out);
    let length = out.len() - begin - guess.header();
    let extent = LengthEncoding::of(length);
    if extent != guess {
        let header = std::iter::repeat_n(0, extent.header());
        out.splice(begin..begin + guess.header(), header);
    }
    let (header, payload) = out[begin..].split_at_mut(extent.header());
    let (head, length_and_key) = header.split_at_mut(2);
    let (long, own_key) = length_and_key.split_at_mut(extent.more());
    let short = match extent {
        LengthEncoding::One => length as u8,
        LengthEncoding::Two => IN_TWO,
        LengthEncoding::Eight => IN_EIGHT,
    };
    head.copy_from_slice(&[FINAL | opcode, MASKED | short]);
    long.copy_from_slice(&(length as u64).to_be_bytes()[8 - extent.more()..]);
    own_key.copy_from_slice(&key);
    mask(payload, key);
}

/// Appends a frame as it is given, right or wrong.
pub(crate) fn write_as_given(
    (is_final, opcode): (bool, u8),
    key: Option<[u8; 4]>,
    payload: &[u8],
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    write(opcode, payload, key.unwrap_or_default(), out);
    out[begin] = opcode | if is_final { FINAL } else { 0 };
    if key.is_none() {
        // A key of zeros has changed nothing: it is left out.
        out[begin + 1] &= !MASKED;
        let key = begin + 2 + LengthEncoding::of(payload.len()).more();
        out.drain(key..key + 4);
    }
}

/// How many bytes a length takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LengthEncoding {
    One,
    Two,
    Eight,
}

impl LengthEncoding {
    const fn of(length: usize) -> Self {
        if length < IN_TWO as usize {
            Self::One
        } else if length < 1 << 16 {
            Self::Two
        } else {
            Self::Eight
        }
    }

    /// Bytes of the length field after the second byte of the frame.
    const fn more(self) -> usize {
        match self {
            Self::One => 0,
            Self::Two => 2,
            Self::Eight => 8,
        }
    }

    /// Bytes before the payload: two, the rest of the length, the masking key.
    const fn header(self) -> usize {
        2 + self.more() + 4
    }
}

/// Masks bytes, starting with the first byte of the key. Works in chunks of 16, which compile to vector instructions.
fn mask(bytes: &mut [u8], key: [u8; 4]) {
    // The key, repeated four times.
    let wide = u128::from(u32::from_ne_bytes(key)) * 0x0000_0001_0000_0001_0000_0001_0000_0001;
    let (chunks, rest) = bytes.as_chunks_mut::<16>();
    for chunk in chunks {
        *chunk = (u128::from_ne_bytes(*chunk) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// Checks the payload of a close frame: empty, or a code that may be sent and a reason that is text (section 7.4).
pub(crate) fn check_close(payload: &[u8]) -> Result<(), Fault> {
    let (code, reason) = match payload {
        [] => return Ok(()),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        [_] => return Err(broken("a close frame with an incomplete code")),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(broken("a close frame with a code that must not be sent"));
    }
    if std::str::from_utf8(reason).is_err() {
        return Err(Fault {
            code: code::NO_TEXT,
            reason: "a close frame whose reason is not UTF-8",
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masking_takes_each_byte_of_the_key_in_turn() {
        let key = [1, 2, 4, 8];
        for length in 0..100_u8 {
            let payload: Vec<u8> = (0..length).collect();
            let mut masked = payload.clone();
            mask(&mut masked, key);
            for (at, (byte, plain)) in masked.iter().zip(&payload).enumerate() {
                assert_eq!(*byte, plain ^ key[at % 4], "{length} {at}");
            }
            mask(&mut masked, key);
            assert_eq!(masked, payload);
        }
    }

    #[test]
    fn lengths_take_as_few_bytes_as_they_can() {
        for (length, size) in [(0, 6), (125, 6), (126, 8), (65_535, 8), (65_536, 14)] {
            let mut out = Vec::new();
            write(opcode::BINARY, &vec![7; length], [0; 4], &mut out);
            assert_eq!(out.len(), size + length);
            assert_eq!(out[0], 0x82);
            // As a server would send it.
            out[1] &= !MASKED;
            let (header, read) = Header::parse(&out).expect("a header").expect("all of it");
            assert_eq!((header.length, read), (length as u64, size - 4));
        }
    }

    #[test]
    fn a_wrong_guess_of_the_length_changes_nothing() {
        let key = [9, 8, 7, 6];
        for length in [0, 125, 126, 65_535, 65_536] {
            let payload = vec![b'x'; length];
            let mut right = b"before".to_vec();
            write(opcode::TEXT, &payload, key, &mut right);
            for about in [0, 1_000, 100_000] {
                let mut out = b"before".to_vec();
                fill(opcode::TEXT, key, about, &mut out, |out| {
                    out.extend_from_slice(&payload);
                });
                assert_eq!(out, right, "{length} {about}");
            }
        }
    }

    #[test]
    fn close_codes_are_those_that_may_be_sent() {
        let close = |code: u16| check_close(&code.to_be_bytes());
        for code in [1000, 1001, 1003, 1007, 1011, 1014, 3000, 4999] {
            assert_eq!(close(code), Ok(()), "{code}");
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000, u16::MAX] {
            assert_eq!(close(code).expect_err("a fault").code, code::PROTOCOL, "{code}");
        }
        assert_eq!(check_close(&[]), Ok(()));
        assert_eq!(check_close(&[3]).expect_err("a fault").code, code::PROTOCOL);
        assert_eq!(check_close(b"\x03\xe8bye"), Ok(()));
        assert_eq!(
            check_close(b"\x03\xe8\xff").expect_err("a fault").code,
            code::NO_TEXT
        );
    }
}
