//! Header blocks: fields that were decoded are the same after encoding and decoding them again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_protocols::http2::hpack::{Decoder, Encoder, Field, Fields, HeaderPlan};

fuzz_target!(|data: &[u8]| {
    let mut decoder = Decoder::new(1 << 16);
    let (mut encoder, mut again) = (Encoder::default(), Decoder::new(1 << 20));
    let (mut fields, mut back) = (Fields::default(), Fields::default());
    // The first byte of each piece is its length: several blocks of one connection.
    let mut rest = data;
    while let Some((&length, after)) = rest.split_first() {
        let (block, after) = after.split_at(after.len().min(usize::from(length)));
        rest = after;
        if decoder.decode(block, &mut fields).is_err() {
            return;
        }
        let planned: Vec<Field<'_>> = fields
            .iter()
            .map(|(name, value)| Field {
                name,
                value: Some(value),
            })
            .collect();
        let mut coded = Vec::new();
        encoder.encode(&HeaderPlan::new(&planned), |_, _| {}, &mut coded);
        again.decode(&coded, &mut back).expect("our own block");
        assert!(back.iter().eq(fields.iter()));
    }
});
