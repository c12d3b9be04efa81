//! The Huffman code of header strings (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: codes of the same length are consecutive and in the order of their symbols, and longer codes
//! follow the last shorter one. So the lengths define the code, and all tables are computed from them at compile time.

use super::HpackError;

const SYMBOLS: usize = 257;
const END_OF_STRING: u16 = 256;
const LONGEST: usize = 30;

/// Code length of each byte and of the end-of-string symbol, bits (RFC 7541, appendix B).
#[rustfmt::skip]
static LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

struct Code {
    /// Code of each symbol, in the low bits.
    codes: [u32; SYMBOLS],
    /// Symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
    /// For each length: index of its first code in `symbols`.
    first_place: [u16; LONGEST + 1],
    /// For each length: its first code.
    first_of: [u32; LONGEST + 1],
    /// For each length: the first code beyond it, left-aligned in 32 bits.
    beyond: [u64; LONGEST + 1],
    /// For each eight-bit value that starts with a code of at most eight bits: symbol and length; otherwise length 0.
    short: [(u8, u8); 256],
}

static CODE: Code = build();

const fn build() -> Code {
    let mut made = Code {
        codes: [0; SYMBOLS],
        symbols: [0; SYMBOLS],
        first_place: [0; LONGEST + 1],
        first_of: [0; LONGEST + 1],
        beyond: [0; LONGEST + 1],
        short: [(0, 0); 256],
    };
    let mut code = 0u32;
    let mut place = 0;
    let mut length = 1;
    while length <= LONGEST {
        code <<= 1;
        made.first_of[length] = code;
        made.first_place[length] = place as u16;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                made.codes[symbol] = code;
                made.symbols[place] = symbol as u16;
                if length <= 8 {
                    let low = (code << (8 - length)) as usize;
                    let mut value = low;
                    while value < low + (1 << (8 - length)) {
                        made.short[value] = (symbol as u8, length as u8);
                        value += 1;
                    }
                }
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        made.beyond[length] = (code as u64) << (32 - length);
        length += 1;
    }
    made
}

/// Appends the decoded bytes of `coded`.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let mut rest = coded.iter();
    // The next bits, left-aligned.
    let mut window = 0u64;
    let mut bits = 0u32;
    loop {
        while bits <= 56 {
            let Some(&byte) = rest.next() else { break };
            window |= u64::from(byte) << (56 - bits);
            bits += 8;
        }
        let (symbol, length) = CODE.short[(window >> 56) as usize];
        let length = u32::from(length);
        if length != 0 && length <= bits {
            out.push(symbol);
            window <<= length;
            bits -= length;
            continue;
        }
        // Fewer than eight bits, all ones: padding.
        if bits < 8 && window >> (64 - bits.max(1)) == (1 << bits.max(1)) - 1 || bits == 0 {
            return Ok(());
        }
        let (symbol, length) = long((window >> 32) as u32, bits)?;
        out.push(symbol);
        window <<= length;
        bits -= length;
    }
}

/// Finds the code of more than eight bits at the left of `window`; returns its symbol and length.
fn long(window: u32, bits: u32) -> Result<(u8, u32), HpackError> {
    for length in 9..=LONGEST {
        if u64::from(window) >= CODE.beyond[length] {
            continue;
        }
        if length as u32 > bits {
            break;
        }
        let above = (window >> (32 - length)) - CODE.first_of[length];
        let symbol = CODE.symbols[usize::from(CODE.first_place[length]) + above as usize];
        if symbol == END_OF_STRING {
            break;
        }
        return Ok((symbol as u8, length as u32));
    }
    Err(HpackError::Huffman)
}

/// Number of bytes that [`encode`] would append.
pub(super) fn encoded_len(text: &[u8]) -> usize {
    let bits: usize = text
        .iter()
        .map(|&byte| usize::from(LENGTHS[usize::from(byte)]))
        .sum();
    bits.div_ceil(8)
}

/// Appends `text` in Huffman code.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let mut window = 0u64;
    let mut bits = 0u32;
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        window = (window << length) | u64::from(CODE.codes[usize::from(byte)]);
        bits += length;
        while bits >= 8 {
            bits -= 8;
            out.push((window >> bits) as u8);
        }
    }
    if bits > 0 {
        let padding = 8 - bits;
        out.push(((window << padding) | ((1 << padding) - 1)) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_code_is_complete() {
        // Kraft's equality: the lengths fill the tree exactly, so the end-of-string symbol has the last code, all ones.
        let filled: u64 = LENGTHS
            .iter()
            .map(|&length| 1u64 << (LONGEST - usize::from(length)))
            .sum();
        assert_eq!(filled, 1 << LONGEST);
        assert_eq!(CODE.codes[usize::from(END_OF_STRING)], (1 << LONGEST) - 1);
    }

    #[test]
    fn wrong_padding_and_the_end_of_string_are_refused() {
        let decoded = |coded: &[u8]| {
            let mut out = Vec::new();
            decode(coded, &mut out).map(|()| out)
        };
        // 'a' is 00011: padding with ones is valid, padding with zeros is not.
        assert_eq!(decoded(&[0b0001_1111]), Ok(b"a".to_vec()));
        assert_eq!(decoded(&[0b0001_1000]), Err(HpackError::Huffman));
        assert_eq!(
            decoded(&[0b0001_1111, 0xff]),
            Err(HpackError::Huffman),
            "more than seven bits of padding"
        );
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), Err(HpackError::Huffman));
        assert_eq!(decoded(&[]), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text: Vec<u8>) {
            let (mut coded, mut back) = (Vec::new(), Vec::new());
            encode(&text, &mut coded);
            prop_assert_eq!(coded.len(), encoded_len(&text));
            prop_assert_eq!(decode(&coded, &mut back), Ok(()));
            prop_assert_eq!(back, text);
        }

        #[test]
        fn anything_is_read_or_refused(coded: Vec<u8>) {
            let mut text = Vec::new();
            if decode(&coded, &mut text).is_ok() {
                let mut again = Vec::new();
                encode(&text, &mut again);
                prop_assert_eq!(again, coded);
            }
        }
    }
}
