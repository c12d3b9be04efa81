//! A few letters of a contract cannot ask for endless work.

use super::common::{load, refused, replaced};
use std::fmt::Write as _;

const RIGHT: &str = r#"format = 1

[operation.get]
http = "GET /get/{a}/{b}"
with = { a = 1, b = 1 }
expect.status = 200

[[case]]
name = "a case"
call = { operation = "get", with = { a = { range = [1, 100] }, b = { range = [1, 100] } } }

[workload.get]
sequence = [{ operation = "get" }]
load = { kind = "closed", connections = 1 }
"#;

#[test]
fn repetitions_and_combinations_have_a_limit() {
    assert!(load(RIGHT).is_ok());
    refused(
        RIGHT,
        &[
            (
                "range = [1, 100] }, b",
                "range = [1, 1000000000000] }, b",
                "4 a: with `a`, a call of a case has 1000000000000 combinations of values (give fewer values: a case has at most 20000 requests)",
            ),
            (
                "range = [1, 100] } }",
                "range = [1, 1000] } }",
                "4 b: with `b`, a call of a case has 100000 combinations of values (give fewer values: a case has at most 20000 requests)",
            ),
            (
                "name = \"a case\"",
                "name = \"a case\"\ntimes = 4000000000",
                "9 \"a case\": case \"a case\" has more than 20000 requests (give fewer calls or values, or lower `times`)",
            ),
            (
                "{ operation = \"get\" }]",
                "{ operation = \"get\", times = 4000000000 }]",
                "13 { operation = \"get\", times = 4000000000 }: workload `get` has more than 10000 steps (lower `times`: the whole sequence is repeated anyway)",
            ),
        ],
        |contract| load(contract).map(drop),
    );
}

/// Ten values of ten values …, as text and as JSON.
#[test]
fn values_of_values_have_a_limit() {
    for (first, quote) in [("\"lol\"", '"'), ("[1]", ' ')] {
        let mut values = format!("\n[value]\nv0 = {first}\n");
        for level in 1..=12 {
            let item = format!("{{v{}}}", level - 1);
            let text = if quote == '"' {
                format!("\"{}\"", item.repeat(10))
            } else {
                format!("[{}]", format!("\"{item}\", ").repeat(10))
            };
            let _ = writeln!(values, "v{level} = {text}");
        }
        let body = "json = \"{v12}\"\nexpect.status = 200";
        let contract = replaced(&format!("{RIGHT}{values}"), "expect.status = 200", body);
        let error = load(&contract).expect_err("refused").to_string();
        assert!(
            error.contains("the values of this call have more than 16 MiB"),
            "{error}"
        );
    }
}
