//! LZMA with a preset dictionary: a record is short, and most of its words occur in every record.

use super::UnpackError;
use lzma_rust2::{EncodeMode, LzmaOptions, LzmaReader, LzmaWriter, MfType};
use std::io::{Read as _, Write as _};

/// Must never change: records packed with it could no longer be read. Another dictionary needs another format.
const DICTIONARY: &[u8] = include_bytes!("dictionary.txt");
/// How far back both sides look, bytes: covers the dictionary and most of a typical record. It may grow, but never
/// shrink.
const WINDOW: u32 = 1 << 15;
/// Bits of the previous byte and of the position that predict a byte. Must never change either.
const CONTEXT: u32 = 0;
const PLACE: u32 = 0;
/// How hard packing looks for repetitions: their typical length and the number of attempts. More takes twice the time
/// and saves 1 %.
const EFFORT: u32 = 16;
/// Upper limit for the size of a record, bytes.
const MOST: u32 = 1 << 28;

/// Returns the length of the bytes (u32, little endian), followed by the compressed data.
pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    let options = LzmaOptions {
        dict_size: WINDOW,
        lc: CONTEXT,
        lp: 0,
        pb: PLACE,
        mode: EncodeMode::Normal,
        nice_len: EFFORT,
        mf: MfType::Hc4,
        depth_limit: EFFORT as i32,
        preset_dict: Some(DICTIONARY.to_vec()),
    };
    let out = (bytes.len() as u32).to_le_bytes().to_vec();
    let written = LzmaWriter::new_no_header(out, &options, false).and_then(|mut writer| {
        writer.write_all(bytes)?;
        writer.finish()
    });
    written.expect("invariant: writing to memory does not fail")
}

/// Reverses [`compress`]. Takes no more memory than the result and the window, whatever the bytes say.
pub(super) fn decompress(bytes: &[u8]) -> Result<Vec<u8>, UnpackError> {
    let (length, rest) = bytes
        .split_first_chunk::<4>()
        .ok_or_else(|| UnpackError::new("it is truncated"))?;
    let length = u32::from_le_bytes(*length);
    if length > MOST {
        return Err(UnpackError::new("it is too long"));
    }
    let mut out = Vec::new();
    if length > 0 {
        let reader = LzmaReader::new(rest, length.into(), CONTEXT, 0, PLACE, WINDOW, Some(DICTIONARY));
        let mut reader = reader.map_err(UnpackError::new)?;
        // Makes truncated data an error.
        reader.set_relaxed_end_condition(false);
        reader.read_to_end(&mut out).map_err(UnpackError::new)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_come_back() {
        let long: Vec<u8> = (0..200_000_u32)
            .flat_map(|n| (n.wrapping_mul(n) % 251).to_le_bytes())
            .collect();
        for bytes in [&b""[..], b"x", DICTIONARY, &long, &vec![7; 1_000_000]] {
            let packed = compress(bytes);
            let read = decompress(&packed).expect("own bytes");
            assert!(read == bytes, "{} bytes", bytes.len());
        }
        assert!(compress(DICTIONARY).len() < 100, "the dictionary is used");
    }

    proptest! {
        /// Arbitrary bytes cause no panic, and the result never exceeds its declared length.
        #[test]
        fn bytes_of_elsewhere_do_no_harm(length in 0..100_000_u32, bytes: Vec<u8>) {
            let bytes = [&length.to_le_bytes()[..], &[0], &bytes].concat();
            if let Ok(read) = decompress(&bytes) {
                prop_assert_eq!(read.len(), length as usize);
            }
        }
    }

    #[test]
    fn an_impossible_length_is_an_error() {
        let told = decompress(&[0xff; 20]).expect_err("4 GB").to_string();
        assert!(told.contains("too long"), "{told}");
    }
}
