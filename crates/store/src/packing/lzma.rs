//! LZMA with a dictionary: a record is short, and most of its words are those of every record.

use super::Damaged;
use lzma_rust2::{EncodeMode, LzmaOptions, LzmaReader, LzmaWriter, MfType};
use std::io::{Read as _, Write as _};

/// Never changed: what was packed with it could not be read any more. Another one is another form.
const DICTIONARY: &[u8] = include_bytes!("dictionary.txt");
/// How far back both sides look, bytes: over the dictionary and most of a usual record. It may grow, never shrink.
const WINDOW: u32 = 1 << 15;
/// Bits of the byte before a byte, and of its place, that say how likely it is. Never changed either.
const CONTEXT: u32 = 0;
const PLACE: u32 = 0;
/// How hard packing looks for repetitions: their usual length and how many it tries. More takes twice the time and saves 1 %.
const EFFORT: u32 = 16;
/// Bytes beyond which no record is.
const MOST: u32 = 1 << 28;

/// The length of the bytes (u32, little endian) and what they became.
pub(super) fn compressed(bytes: &[u8]) -> Vec<u8> {
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
    written.expect("invariant: memory takes what it is given")
}

/// What [`compressed`] was given. Takes no more memory than that and the window, whatever the bytes say.
pub(super) fn decompressed(bytes: &[u8]) -> Result<Vec<u8>, Damaged> {
    let (length, rest) = bytes
        .split_first_chunk::<4>()
        .ok_or_else(|| Damaged::new("it is cut short"))?;
    let length = u32::from_le_bytes(*length);
    if length > MOST {
        return Err(Damaged::new("it is too long"));
    }
    let mut out = Vec::new();
    if length > 0 {
        let reader = LzmaReader::new(rest, length.into(), CONTEXT, 0, PLACE, WINDOW, Some(DICTIONARY));
        let mut reader = reader.map_err(Damaged::new)?;
        // What is cut short is told.
        reader.set_relaxed_end_condition(false);
        reader.read_to_end(&mut out).map_err(Damaged::new)?;
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
            let packed = compressed(bytes);
            let read = decompressed(&packed).expect("own bytes");
            assert!(read == bytes, "{} bytes", bytes.len());
        }
        assert!(compressed(DICTIONARY).len() < 100, "the dictionary is used");
    }

    proptest! {
        /// Whatever comes from elsewhere: nothing panics, and nothing grows beyond what it says to be.
        #[test]
        fn bytes_of_elsewhere_do_no_harm(length in 0..100_000_u32, bytes: Vec<u8>) {
            let bytes = [&length.to_le_bytes()[..], &[0], &bytes].concat();
            if let Ok(read) = decompressed(&bytes) {
                prop_assert_eq!(read.len(), length as usize);
            }
        }
    }

    #[test]
    fn a_length_beyond_all_records_is_told() {
        let told = decompressed(&[0xff; 20]).expect_err("4 GB").to_string();
        assert!(told.contains("too long"), "{told}");
    }
}
