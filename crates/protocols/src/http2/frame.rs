//! Frames (RFC 9113, sections 4 and 6): reads their headers and writes the few types that a client sends.

/// Length of a frame header, bytes.
pub const HEADER_LENGTH: usize = 9;

/// The connection preface, which a client sends first (RFC 9113, section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Largest payload that a peer may send while `SETTINGS_MAX_FRAME_SIZE` is left at its default, bytes.
pub const DEFAULT_MAX_FRAME_SIZE: u32 = 16_384;

/// Initial size of a flow-control window, bytes.
pub const DEFAULT_WINDOW: u32 = 65_535;

/// Highest stream identifier.
pub const LAST_STREAM: u32 = (1 << 31) - 1;

/// Frame types (RFC 9113, section 6).
pub mod kind {
    pub(crate) const DATA: u8 = 0x0;
    pub(crate) const HEADERS: u8 = 0x1;
    pub(crate) const PRIORITY: u8 = 0x2;
    pub(crate) const RST_STREAM: u8 = 0x3;
    pub(crate) const SETTINGS: u8 = 0x4;
    pub(crate) const PUSH_PROMISE: u8 = 0x5;
    pub(crate) const PING: u8 = 0x6;
    pub(crate) const GOAWAY: u8 = 0x7;
    pub(crate) const WINDOW_UPDATE: u8 = 0x8;
    pub(crate) const CONTINUATION: u8 = 0x9;
}

/// Frame flags.
pub mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Setting identifiers (RFC 9113, section 6.5.2).
pub mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 0x1;
    pub(crate) const ENABLE_PUSH: u16 = 0x2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 0x3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 0x4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 0x5;
    pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 0x6;
}

/// Error codes (RFC 9113, section 7) that this client sends or checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum ErrorCode {
    /// No error.
    NoError = 0x0,
    /// The peer violated the protocol.
    Protocol = 0x1,
    /// The peer exceeded a flow-control window.
    FlowControl = 0x3,
    /// A frame has an invalid size.
    FrameSize = 0x6,
    /// The stream was not processed.
    RefusedStream = 0x7,
    /// The stream is no longer needed.
    Cancel = 0x8,
    /// The header tables of both sides differ.
    Compression = 0x9,
    /// The peer sends more than a sane one would.
    EnhanceYourCalm = 0xb,
}

/// A protocol violation by the peer; the connection cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Violation {
    /// The error code to send in GOAWAY.
    pub code: ErrorCode,
    /// The reason, for the user.
    pub reason: &'static str,
}

impl Violation {
    pub(super) const fn protocol(reason: &'static str) -> Self {
        Self {
            code: ErrorCode::Protocol,
            reason,
        }
    }

    pub(super) const fn size(reason: &'static str) -> Self {
        Self {
            code: ErrorCode::FrameSize,
            reason,
        }
    }

    pub(super) const fn flow(reason: &'static str) -> Self {
        Self {
            code: ErrorCode::FlowControl,
            reason,
        }
    }
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Length of the payload, bytes.
    pub length: u32,
    /// See [`kind`].
    pub kind: u8,
    /// See [`flag`].
    pub flags: u8,
    /// The stream identifier; 0 for the connection.
    pub stream: u32,
}

impl FrameHeader {
    /// Parses the header.
    pub fn parse(bytes: &[u8; HEADER_LENGTH]) -> Self {
        Self {
            length: number(&bytes[..4]) >> 8,
            kind: bytes[3],
            flags: bytes[4],
            // The highest bit is reserved and must be ignored.
            stream: number(&bytes[5..]) & LAST_STREAM,
        }
    }

    /// Serialises the header.
    pub fn to_bytes(self) -> [u8; HEADER_LENGTH] {
        let mut bytes = [0; HEADER_LENGTH];
        bytes[..4].copy_from_slice(&(self.length << 8 | u32::from(self.kind)).to_be_bytes());
        bytes[4] = self.flags;
        bytes[5..].copy_from_slice(&self.stream.to_be_bytes());
        bytes
    }

    pub(super) const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a complete frame.
pub fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let header = FrameHeader {
        length: payload.len() as u32,
        kind,
        flags,
        stream,
    };
    out.extend_from_slice(&header.to_bytes());
    out.extend_from_slice(payload);
}

/// Appends a SETTINGS frame with these values.
pub fn write_settings(settings: &[(u16, u32)], out: &mut Vec<u8>) {
    let mut payload = Vec::with_capacity(settings.len() * 6);
    for (identifier, value) in settings {
        payload.extend_from_slice(&identifier.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    write(kind::SETTINGS, 0, 0, &payload, out);
}

/// Appends a `WINDOW_UPDATE` frame.
pub fn write_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    write(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes(), out);
}

/// Appends a `RST_STREAM` frame.
pub fn write_reset(stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
    write(kind::RST_STREAM, 0, stream, &(code as u32).to_be_bytes(), out);
}

/// Appends a GOAWAY frame. A client that accepts no pushed streams has processed none, so the last stream is 0.
pub fn write_go_away(code: ErrorCode, out: &mut Vec<u8>) {
    let mut payload = [0; 8];
    payload[4..].copy_from_slice(&(code as u32).to_be_bytes());
    write(kind::GOAWAY, 0, 0, &payload, out);
}

/// The payload of a frame without its padding (RFC 9113, section 6.1).
pub(super) fn without_padding(header: FrameHeader, payload: &[u8]) -> Result<&[u8], Violation> {
    if !header.has(flag::PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) = payload.split_first().ok_or(Violation::size(
        "a padded frame is too short for its padding length",
    ))?;
    rest.len()
        .checked_sub(usize::from(padding))
        .map(|length| &rest[..length])
        .ok_or(Violation::protocol("a frame is padded beyond its own length"))
}

pub(super) fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("four bytes were cut"))
}
