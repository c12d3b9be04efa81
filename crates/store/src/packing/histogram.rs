//! Histograms without their coat: base64 and deflate hide from a better compressor that counts of neighbouring buckets are alike.

use super::Damaged;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{Read as _, Write as _};

/// Bytes that say what form an `HdrHistogram` has; behind them stands the length of what is deflated, 4 bytes.
const COOKIE: usize = 4;
/// Bytes beyond which no histogram of ours is.
const LONGEST: u64 = 1 << 20;

/// The bytes of a histogram; `None` where the same text could not be made again from them.
pub(super) fn uncoated(text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (cookie, rest) = bytes.split_at_checked(COOKIE)?;
    let deflated = rest.get(size_of::<u32>()..)?;
    let mut bare = cookie.to_vec();
    ZlibDecoder::new(deflated)
        .take(LONGEST)
        .read_to_end(&mut bare)
        .ok()?;
    (coated(&bare).ok()? == text).then_some(bare)
}

/// The text of a histogram.
pub(super) fn coated(bare: &[u8]) -> Result<String, Damaged> {
    let (cookie, inner) = bare
        .split_at_checked(COOKIE)
        .ok_or_else(|| Damaged::new("a histogram is cut short"))?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(inner).and_then(|()| encoder.finish());
    let deflated = written.map_err(Damaged::new)?;
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
            let bare = uncoated(&text).expect("our own text");
            prop_assert_eq!(coated(&bare).expect("own bytes"), text);
        }

        /// Whatever comes from elsewhere: nothing panics.
        #[test]
        fn bytes_of_elsewhere_do_no_harm(bytes: Vec<u8>) {
            let _ = coated(&bytes);
            let _ = uncoated(&STANDARD.encode(bytes));
        }
    }

    #[test]
    fn other_texts_are_left_as_they_are() {
        for text in ["", "no histogram", "AAAA", "HISTFAAAAAAAAAAAAAA="] {
            assert!(uncoated(text).is_none(), "{text}");
        }
    }
}
