//! Deflate with a dictionary: a record is short, and most of its words are those of every record.
//!
//! The dictionary goes first through both sides: the packing side forgets what it became, and the reading side is given it as
//! a block that is not compressed.

use super::Damaged;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Never changed: what was packed with it could not be read any more. Another one is another form.
const DICTIONARY: &[u8] = include_bytes!("dictionary.txt");
/// Bytes beyond which no record is.
const MOST: usize = 1 << 30;

pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut stream = Compress::new(Compression::best(), false);
    let _ = through(&mut stream, DICTIONARY, FlushCompress::Sync);
    through(&mut stream, bytes, FlushCompress::Finish)
}

fn through(stream: &mut Compress, bytes: &[u8], flush: FlushCompress) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 2 + 256);
    let begin = stream.total_in();
    loop {
        let rest = &bytes[(stream.total_in() - begin) as usize..];
        let status = stream.compress_vec(rest, &mut out, flush);
        let status = status.expect("invariant: the stream takes what it is given");
        let all_in = stream.total_in() - begin == bytes.len() as u64;
        // Room that is left means that nothing is held back.
        if status == Status::StreamEnd
            || (all_in && !matches!(flush, FlushCompress::Finish) && out.len() < out.capacity())
        {
            return out;
        }
        out.reserve(out.capacity());
    }
}

pub(super) fn inflated(bytes: &[u8]) -> Result<Vec<u8>, Damaged> {
    let mut stream = Decompress::new(false);
    let length = DICTIONARY.len() as u16;
    let mut first = vec![0];
    first.extend(length.to_le_bytes());
    first.extend((!length).to_le_bytes());
    first.extend(DICTIONARY);
    let mut out = Vec::with_capacity(DICTIONARY.len() + 8 * bytes.len() + 256);
    let mut fed = 0;
    for part in [&first[..], bytes] {
        loop {
            let before = (stream.total_in(), out.len());
            let status = stream
                .decompress_vec(&part[fed..], &mut out, FlushDecompress::None)
                .map_err(Damaged::new)?;
            fed += (stream.total_in() - before.0) as usize;
            if status == Status::StreamEnd {
                return Ok(out.split_off(DICTIONARY.len()));
            }
            if fed == part.len() && out.len() < out.capacity() {
                break;
            }
            if out.len() == out.capacity() {
                if out.len() > MOST {
                    return Err(Damaged::new("it is too long"));
                }
                out.reserve(out.capacity());
            } else if before == (stream.total_in(), out.len()) {
                return Err(Damaged::new("it says nothing"));
            }
        }
        fed = 0;
    }
    Err(Damaged::new("it is cut short"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let long: Vec<u8> = (0..200_000_u32)
            .flat_map(|n| (n.wrapping_mul(n) % 251).to_le_bytes())
            .collect();
        for bytes in [&b""[..], b"x", DICTIONARY, &long, &vec![7; 1_000_000]] {
            let packed = deflated(bytes);
            assert!(
                inflated(&packed).expect("own bytes") == bytes,
                "{} bytes",
                bytes.len()
            );
        }
        assert!(deflated(DICTIONARY).len() < 100, "the dictionary is used");
        assert!(inflated(b"\xff\xff\xff").is_err() && inflated(b"").is_err());
    }
}
