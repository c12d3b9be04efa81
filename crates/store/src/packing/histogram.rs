//! Histograms without base64 and deflate, which hide from a better compressor that neighbouring buckets have similar
//! counts.

use super::UnpackError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{Read as _, Write as _};

/// Bytes that identify the format of an `HdrHistogram`; the length of the deflated data follows in 4 bytes.
const COOKIE: usize = 4;
/// Upper limit for the size of a histogram, bytes.
const LONGEST: u64 = 1 << 20;

/// The bytes of a histogram; `None` if the same text could not be restored from them.
pub(super) fn to_bytes(text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (cookie, rest) = bytes.split_at_checked(COOKIE)?;
    let deflated = rest.get(size_of::<u32>()..)?;
    let mut bare = cookie.to_vec();
    ZlibDecoder::new(deflated)
        .take(LONGEST)
        .read_to_end(&mut bare)
        .ok()?;
    (to_text(&bare).ok()? == text).then_some(bare)
}

/// Reverses [`to_bytes`].
pub(super) fn to_text(bare: &[u8]) -> Result<String, UnpackError> {
    let (cookie, inner) = bare
        .split_at_checked(COOKIE)
        .ok_or_else(|| UnpackError::new("a histogram is truncated"))?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(inner).and_then(|()| encoder.finish());
    let deflated = written.map_err(UnpackError::new)?;
    let length = (deflated.len() as u32).to_be_bytes();
    Ok(STANDARD.encode([cookie, &length, &deflated].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::Histogram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn histograms_come_back(values in proptest::collection::vec(0..10_000_000_u64, 0..400)) {
            let mut all = Histogram::new();
            for value in values {
                all.record(value);
            }
            let text = all.encode();
            let bare = to_bytes(&text).expect("our own text");
            prop_assert_eq!(to_text(&bare).expect("own bytes"), text);
        }

        /// Arbitrary bytes cause no panic.
        #[test]
        fn bytes_of_elsewhere_do_no_harm(bytes: Vec<u8>) {
            let _ = to_text(&bytes);
            let _ = to_bytes(&STANDARD.encode(bytes));
        }
    }

    #[test]
    fn other_texts_are_left_as_they_are() {
        for text in ["", "no histogram", "AAAA", "HISTFAAAAAAAAAAAAAA="] {
            assert!(to_bytes(text).is_none(), "{text}");
        }
    }
}
