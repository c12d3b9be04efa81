//! The examples of RFC 7541, appendix C, and the size of planned requests.

use super::*;
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).expect("a digit") as u8;
    digits
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

type Text = Vec<(String, String)>;

fn text<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Text {
    let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    fields
        .map(|(name, value)| (string(name), string(value)))
        .collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Text, HpackError> {
    let mut fields = Fields::default();
    let effect = decoder.decode(block, &mut fields)?;
    assert!(effect.is_self_contained || !block.is_empty());
    Ok(text(fields.iter()))
}

struct Step {
    hex: &'static str,
    fields: &'static [(&'static str, &'static str)],
    /// The dynamic table afterwards, newest entry first, and its size.
    table: &'static [(&'static str, &'static str)],
    size: usize,
}

fn owned(fields: &[(&str, &str)]) -> Text {
    fields
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn walk(table_size: usize, steps: &[Step]) {
    let mut decoder = Decoder::new(1 << 16);
    decoder.table().resize(table_size);
    for (place, step) in steps.iter().enumerate() {
        assert_eq!(
            decode(&mut decoder, &bytes(step.hex)),
            Ok(owned(step.fields)),
            "step {place}"
        );
        let table = decoder.table();
        let entries = (0..table.len()).filter_map(|entry| table.get(entry));
        assert_eq!(text(entries), owned(step.table), "table after step {place}");
        assert_eq!(table.size(), step.size, "size after step {place}");
    }
}

#[test]
fn c_2_single_fields() {
    let single = |hex, fields, table, size| {
        walk(
            4096,
            &[Step {
                hex,
                fields,
                table,
                size,
            }],
        );
    };
    let custom = &[("custom-key", "custom-header")];
    single(
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        custom,
        custom,
        55,
    );
    single(
        "040c 2f73 616d 706c 652f 7061 7468",
        &[(":path", "/sample/path")],
        &[],
        0,
    );
    single(
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        &[("password", "secret")],
        &[],
        0,
    );
    single("82", &[(":method", "GET")], &[], 0);
}

const REQUEST_1: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "www.example.com"),
];
const REQUEST_2: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "www.example.com"),
    ("cache-control", "no-cache"),
];
const REQUEST_3: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "https"),
    (":path", "/index.html"),
    (":authority", "www.example.com"),
    ("custom-key", "custom-value"),
];

fn requests(hex: [&'static str; 3]) -> [Step; 3] {
    [
        Step {
            hex: hex[0],
            fields: REQUEST_1,
            table: &[(":authority", "www.example.com")],
            size: 57,
        },
        Step {
            hex: hex[1],
            fields: REQUEST_2,
            table: &[("cache-control", "no-cache"), (":authority", "www.example.com")],
            size: 110,
        },
        Step {
            hex: hex[2],
            fields: REQUEST_3,
            table: &[
                ("custom-key", "custom-value"),
                ("cache-control", "no-cache"),
                (":authority", "www.example.com"),
            ],
            size: 164,
        },
    ]
}

#[test]
fn c_3_requests_without_huffman() {
    walk(
        4096,
        &requests([
            "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "8286 84be 5808 6e6f 2d63 6163 6865",
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
        ]),
    );
}

#[test]
fn c_4_requests_with_huffman() {
    walk(
        4096,
        &requests([
            "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
            "8286 84be 5886 a8eb 1064 9cbf",
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
        ]),
    );
}

const DATE_21: (&str, &str) = ("date", "Mon, 21 Oct 2013 20:13:21 GMT");
const DATE_22: (&str, &str) = ("date", "Mon, 21 Oct 2013 20:13:22 GMT");
const LOCATION: (&str, &str) = ("location", "https://www.example.com");
const PRIVATE: (&str, &str) = ("cache-control", "private");
const COOKIE: (&str, &str) = (
    "set-cookie",
    "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
);

fn responses(hex: [&'static str; 3]) -> [Step; 3] {
    [
        Step {
            hex: hex[0],
            fields: &[(":status", "302"), PRIVATE, DATE_21, LOCATION],
            table: &[LOCATION, DATE_21, PRIVATE, (":status", "302")],
            size: 222,
        },
        Step {
            hex: hex[1],
            fields: &[(":status", "307"), PRIVATE, DATE_21, LOCATION],
            table: &[(":status", "307"), LOCATION, DATE_21, PRIVATE],
            size: 222,
        },
        Step {
            hex: hex[2],
            fields: &[
                (":status", "200"),
                PRIVATE,
                DATE_22,
                LOCATION,
                ("content-encoding", "gzip"),
                COOKIE,
            ],
            table: &[COOKIE, ("content-encoding", "gzip"), DATE_22],
            size: 215,
        },
    ]
}

#[test]
fn c_5_responses_without_huffman() {
    walk(
        256,
        &responses([
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133
             3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "4803 3330 37c1 c0bf",
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a
             6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d
             6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
        ]),
    );
}

#[test]
fn c_6_responses_with_huffman() {
    walk(
        256,
        &responses([
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d
             29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            "4883 640e ffc1 c0bf",
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d
             d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106
             3d50 07",
        ]),
    );
}

#[test]
fn broken_blocks_are_refused() {
    for (hex, error) in [
        ("80", HpackError::NoSuchEntry(0)),
        ("be", HpackError::NoSuchEntry(62)),
        ("ff", HpackError::Truncated),
        ("4105 61", HpackError::Truncated),
        ("3fe2 1f", HpackError::TableSize(4097)),
        ("8220", HpackError::TableSize(0)),
        ("0083 ffff ffff", HpackError::Huffman),
    ] {
        assert_eq!(
            decode(&mut Decoder::new(1 << 16), &bytes(hex)),
            Err(error),
            "{hex}"
        );
    }
    let mut decoder = Decoder::new(20);
    assert_eq!(
        decode(&mut decoder, &[0x82, 0x82, 0x82]),
        Err(HpackError::TooLarge(20))
    );
}

const GRPC: [(&str, &str); 7] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/PersonService/getPerson"),
    (":authority", "127.0.0.1:9009"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
    ("user-agent", "prony"),
];

fn plan_of(fields: &[(&'static str, Option<&'static str>)]) -> HeaderPlan {
    let field = |&(name, value): &'_ (&'static str, Option<&'static str>)| Field {
        name: name.as_bytes(),
        value: value.map(str::as_bytes),
    };
    HeaderPlan::new(&fields.iter().map(field).collect::<Vec<_>>())
}

#[test]
fn a_repeated_request_costs_a_byte_for_each_field() {
    let plan = plan_of(&GRPC.map(|(name, value)| (name, Some(value))));
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(1 << 16));
    for repetition in 0..4 {
        let mut block = Vec::new();
        encoder.encode(&plan, |_, _| unreachable!("nothing varies"), &mut block);
        assert_eq!(decode(&mut decoder, &block), Ok(owned(&GRPC)));
        assert!(
            repetition == 0 || block.len() == GRPC.len(),
            "{} bytes",
            block.len()
        );
    }
}

#[test]
fn a_smaller_table_of_the_service_is_obeyed() {
    let plan = plan_of(&GRPC.map(|(name, value)| (name, Some(value))));
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(1 << 16));
    for size in [4096, 0, 100, 65_536] {
        encoder.set_table_size(size);
        for _ in 0..3 {
            let mut block = Vec::new();
            encoder.encode(&plan, |_, _| unreachable!("nothing varies"), &mut block);
            assert_eq!(decode(&mut decoder, &block), Ok(owned(&GRPC)));
            assert!(decoder.table().size() <= size);
        }
    }
}

proptest! {
    #[test]
    fn any_plan_is_read_back(
        operations in prop::collection::vec(
            prop::collection::vec(("[a-z-]{1,12}", "[ -~]{0,80}", any::<bool>()), 0..12), 1..6),
        calls in prop::collection::vec((0..6usize, any::<u32>()), 1..60),
        table_size in 0..5000usize,
    ) {
        let plans: Vec<HeaderPlan> = operations
            .iter()
            .map(|fields| {
                let planned = fields.iter().map(|(name, value, varies)| Field {
                    name: name.as_bytes(),
                    value: (!varies).then_some(value.as_bytes()),
                });
                HeaderPlan::new(&planned.collect::<Vec<_>>())
            })
            .collect();
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::new(1 << 20));
        for (number, &(operation, random)) in calls.iter().enumerate() {
            if number == 20 {
                encoder.set_table_size(table_size);
            }
            let fields = &operations[operation % operations.len()];
            let mut block = Vec::new();
            let value = |_, out: &mut Vec<u8>| out.extend_from_slice(random.to_string().as_bytes());
            encoder.encode(&plans[operation % operations.len()], value, &mut block);
            let expected: Text = fields
                .iter()
                .map(|(name, value, varies)| (name.clone(), if *varies { random.to_string() } else { value.clone() }))
                .collect();
            prop_assert_eq!(decode(&mut decoder, &block), Ok(expected));
        }
    }

    #[test]
    fn any_block_is_read_or_refused(blocks: Vec<Vec<u8>>) {
        let mut decoder = Decoder::new(1 << 16);
        let mut fields = Fields::default();
        for block in blocks {
            if decoder.decode(&block, &mut fields).is_err() {
                break;
            }
        }
    }
}
