//! Integers with an N-bit prefix (RFC 7541, section 5.1).

use super::HpackError;

/// Reads an integer whose first byte shares its upper bits with something else. Returns the value and the number of
/// bytes read.
pub(super) fn decode(bytes: &[u8], prefix_bits: u32) -> Result<(usize, usize), HpackError> {
    let mask = (1usize << prefix_bits) - 1;
    let first = usize::from(*bytes.first().ok_or(HpackError::Truncated)?) & mask;
    if first < mask {
        return Ok((first, 1));
    }
    let mut value = mask;
    for (place, &byte) in bytes[1..].iter().enumerate() {
        // Four groups of seven bits hold every length that a header block can have; anything longer is an attack or an
        // error.
        if place == 4 {
            return Err(HpackError::IntegerTooLarge);
        }
        value += usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok((value, place + 2));
        }
    }
    Err(HpackError::Truncated)
}

/// Appends `value`; `pattern` holds the upper bits of the first byte.
pub(super) fn encode(value: usize, prefix_bits: u32, pattern: u8, out: &mut Vec<u8>) {
    let mask = (1usize << prefix_bits) - 1;
    if value < mask {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// From RFC 7541, appendix C.1.
    #[test]
    fn the_examples_of_the_rfc() {
        for (value, prefix, bytes) in [
            (10, 5, &[0x0a][..]),
            (1337, 5, &[0x1f, 0x9a, 0x0a]),
            (42, 8, &[0x2a]),
        ] {
            let mut out = Vec::new();
            encode(value, prefix, 0, &mut out);
            assert_eq!(out, bytes);
            assert_eq!(decode(bytes, prefix), Ok((value, bytes.len())));
        }
    }

    #[test]
    fn endless_and_truncated_integers_are_refused() {
        assert_eq!(
            decode(&[0x1f, 0x80, 0x80, 0x80, 0x80, 0x80, 0], 5),
            Err(HpackError::IntegerTooLarge)
        );
        assert_eq!(decode(&[0x1f, 0x9a], 5), Err(HpackError::Truncated));
        assert_eq!(decode(&[], 5), Err(HpackError::Truncated));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in 0..(1usize << 28), prefix in 1..=8u32) {
            let mut out = Vec::new();
            encode(value, prefix, 0, &mut out);
            prop_assert_eq!(decode(&out, prefix), Ok((value, out.len())));
        }
    }
}
