//! Decodes bodies as `Content-Encoding` says, before they are judged.

use super::{Mismatch, excerpt};
use std::io::{Read as _, Result};

/// Longest decoded body, bytes: a short body can be crafted to decode to an endless one.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Body sizes before and after decoding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DecodedSize {
    /// Number of decoded replies.
    pub replies: u64,
    /// Bytes of their bodies as received.
    pub encoded_bytes: u64,
    /// Bytes of their bodies after decoding.
    pub decoded_bytes: u64,
}

impl DecodedSize {
    /// Adds the counts of `other`.
    pub const fn merge(&mut self, other: &Self) {
        self.replies += other.replies;
        self.encoded_bytes += other.encoded_bytes;
        self.decoded_bytes += other.decoded_bytes;
    }
}

/// The coding that the headers name; empty without one.
pub(super) fn coding<'a>(headers: &[(&[u8], &'a [u8])]) -> &'a [u8] {
    headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(b"content-encoding"))
        .map_or(&[], |(_, value)| value.trim_ascii())
}

/// Decodes a body into `out`, in the coding that the headers name; without one, the body is copied as it is. An empty
/// body is valid in any coding: replies to HEAD and replies with 204 and 304 name the coding that a body would have.
pub(super) fn decode(
    headers: &[(&[u8], &[u8])],
    body: &[u8],
    out: &mut Vec<u8>,
) -> std::result::Result<(), Mismatch> {
    out.clear();
    if body.is_empty() {
        return Ok(());
    }
    let coding = coding(headers);
    let result = match coding.to_ascii_lowercase().as_slice() {
        b"identity" | b"" => {
            out.extend_from_slice(body);
            Ok(())
        }
        b"gzip" | b"x-gzip" => drain(flate2::read::MultiGzDecoder::new(body), out),
        b"deflate" => drain(flate2::read::ZlibDecoder::new(body), out),
        b"br" => drain(brotli_decompressor::Decompressor::new(body, 4096), out),
        b"zstd" => match ruzstd::decoding::StreamingDecoder::new(body) {
            Ok(decoder) => drain(decoder, out),
            Err(error) => Err(std::io::Error::other(error.to_string())),
        },
        other => {
            return Err(Mismatch::new(
                "header content-encoding",
                "gzip, br, zstd or deflate",
                excerpt(other),
            ));
        }
    };
    result.map_err(|error| {
        let coding = String::from_utf8_lossy(coding).into_owned();
        Mismatch::new(
            "body",
            format!("a body in {coding}"),
            format!("a body that does not decode: {error}"),
        )
    })
}

fn drain(reader: impl std::io::Read, out: &mut Vec<u8>) -> Result<()> {
    reader.take(LONGEST + 1).read_to_end(out)?;
    if out.len() as u64 > LONGEST {
        return Err(std::io::Error::other(format!(
            "it is longer than {LONGEST} bytes"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn decoded(coding: &str, body: &[u8]) -> std::result::Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let headers = [(&b"Content-Encoding"[..], coding.as_bytes())];
        decode(&headers, body, &mut out)
            .map(|()| out)
            .map_err(|mismatch| format!("{}: {}", mismatch.what, mismatch.got))
    }

    #[test]
    fn every_coding_is_decoded() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"hello").expect("memory");
        let gzip = gzip.finish().expect("memory");
        let zstd = ruzstd::encoding::compress_to_vec(
            &b"hello"[..],
            ruzstd::encoding::CompressionLevel::Uncompressed,
        );
        for (coding, body) in [
            ("gzip", gzip.as_slice()),
            ("GZIP", &gzip),
            ("br", b"\x0b\x02\x80hello\x03"),
            ("zstd", &zstd),
            ("identity", b"hello"),
        ] {
            assert_eq!(decoded(coding, body).as_deref(), Ok(&b"hello"[..]), "{coding}");
        }
    }

    #[test]
    fn an_undecodable_body_is_reported() {
        for coding in ["gzip", "br", "zstd", "deflate"] {
            let error = decoded(coding, b"plain text").expect_err(coding);
            assert!(error.contains("does not decode"), "{error}");
        }
        assert!(decoded("rot13", b"x").expect_err("unknown").contains("rot13"));
    }

    /// Like the reply to HEAD, and replies with 204 and 304.
    #[test]
    fn no_body_has_nothing_to_decode() {
        for coding in ["gzip", "br", "zstd", "deflate", "rot13"] {
            assert_eq!(decoded(coding, b"").as_deref(), Ok(&b""[..]), "{coding}");
        }
    }

    #[test]
    fn a_body_without_end_is_given_up() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let zeros = vec![0; 1 << 20];
        for _ in 0..65 {
            gzip.write_all(&zeros).expect("memory");
        }
        let error = decoded("gzip", &gzip.finish().expect("memory")).expect_err("too long");
        assert!(error.contains("longer than"), "{error}");
    }
}
