//! Values that schemas allow, and the faults reported for others. These tests must pass with any validation library.

use super::{Fault, Schema};
use serde_json::{Value, json};

fn compiled(schema: &Value) -> Schema {
    Schema::compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// Asserts for each schema that it allows the first values and rejects the second ones.
fn allows(cases: &[(Value, &[Value], &[Value])]) {
    for (schema, right, wrong) in cases {
        let compiled = compiled(schema);
        for value in *right {
            assert_eq!(compiled.judge(value), Ok(()), "{schema} and {value}");
        }
        for value in *wrong {
            assert!(compiled.judge(value).is_err(), "{schema} allows {value}");
        }
    }
}

#[test]
fn a_fault_names_its_location_and_its_rule() {
    let schema = json!({
        "required": ["id"],
        "properties": { "id": { "$ref": "#/$defs/id" }, "a/b~c d": { "items": { "type": ["string", "null"] } } },
        "$defs": { "id": { "type": "integer", "minimum": 1 } },
    });
    for (value, at, rule, reason, got) in [
        (
            json!({ "id": 0 }),
            "/id",
            "/$defs/id/minimum",
            "value is less than the minimum of 1",
            "0",
        ),
        (
            json!({ "id": 1, "a/b~c d": [null, 5] }),
            "/a~1b~0c d/1",
            "/properties/a~1b~0c d/items/type",
            "value is not of types \"null\", \"string\"",
            "5",
        ),
        (json!({}), "", "/required", "\"id\" is a required property", "{}"),
    ] {
        let fault = Fault {
            at: at.to_owned(),
            rule: rule.to_owned(),
            reason: reason.to_owned(),
            got: got.to_owned(),
        };
        assert_eq!(compiled(&schema).judge(&value), Err(fault), "{value}");
    }
}

#[test]
fn references_lead_to_places_within_the_schema() {
    let node = json!({
        "type": "object",
        "required": ["v"],
        "properties": { "v": { "type": "integer" }, "next": { "$ref": "#/components/schemas/node" } },
    });
    let inner = json!({ "$id": "prony:///file", "$defs": { "Pet": { "$ref": "#/$defs/Name" }, "Name": { "type": "string" } } });
    allows(&[
        (
            json!({ "$ref": "#/components/schemas/node", "components": { "schemas": { "node": node } } }),
            &[json!({ "v": 1, "next": { "v": 2 } })],
            &[json!({ "v": 1, "next": { "v": "2" } })],
        ),
        (
            json!({ "items": { "$ref": "#" }, "type": "array" }),
            &[json!([[], [[]]])],
            &[json!([[1]])],
        ),
        (
            json!({ "$ref": "prony:///file#/$defs/Pet", "$defs": { "file": inner } }),
            &[json!("Rex")],
            &[json!(1)],
        ),
        (
            json!({ "$id": "https://example.com/root.json", "$defs": { "x": { "$id": "x.json", "type": "integer" } }, "$ref": "x.json" }),
            &[json!(1)],
            &[json!("a")],
        ),
        (
            json!({ "$defs": { "x": { "$anchor": "here", "type": "integer" } }, "$ref": "#here" }),
            &[json!(1)],
            &[json!("a")],
        ),
    ]);
}

#[test]
fn a_schema_is_read_as_the_draft_that_it_names() {
    allows(&[
        (
            json!({ "$schema": "http://json-schema.org/draft-04/schema#", "minimum": 0, "exclusiveMinimum": true }),
            &[json!(0.1)],
            &[json!(0)],
        ),
        (
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": [{ "type": "integer" }], "additionalItems": false }),
            &[json!([1])],
            &[json!([1, 2]), json!(["a"])],
        ),
        (
            json!({ "prefixItems": [{ "type": "integer" }], "items": false }),
            &[json!([1])],
            &[json!([1, 2]), json!(["a"])],
        ),
    ]);
}

/// Prices: 19.99 is 1,999 hundredths, although no binary fraction is.
#[test]
fn multiples_are_those_of_decimals() {
    allows(&[(
        json!({ "multipleOf": 0.01 }),
        &[json!(19.99), json!(0.07), json!(4.35), json!(3)],
        &[json!(0.075)],
    )]);
}

#[test]
fn patterns_may_look_ahead_and_formats_count() {
    allows(&[
        (
            json!({ "pattern": r"^(?=.*\d)(?!admin).{4,8}$" }),
            &[json!("abc1"), json!(5)],
            &[json!("abcd"), json!("admin1")],
        ),
        (
            json!({ "format": "date-time" }),
            &[json!("2026-01-02T03:04:05Z"), json!(5)],
            &[json!("soon"), json!("2026-02-30T00:00:00Z")],
        ),
        (
            json!({ "format": "of-some-other-kind" }),
            &[json!("anything")],
            &[],
        ),
    ]);
}

#[test]
fn an_invalid_schema_is_reported_with_its_location() {
    for (schema, told) in [
        (json!({ "type": "objekt" }), "/type: "),
        (
            json!({ "properties": { "a": { "minimum": "1" } } }),
            "/properties/a/minimum: ",
        ),
        (json!({ "$ref": "#/nowhere" }), "/nowhere"),
        (
            json!({ "$ref": "https://example.com/x.json" }),
            "https://example.com/x.json",
        ),
        (json!({ "$ref": "file:///etc/hostname" }), "file:///etc/hostname"),
        (
            json!({ "properties": { "a": { "pattern": "[" } } }),
            "\"[\" is not a \"regex\"",
        ),
    ] {
        let error = Schema::compile(&schema)
            .expect_err("an invalid schema")
            .to_string();
        assert!(error.contains(told), "{schema}: {error}");
    }
}

#[test]
fn a_long_chain_of_schemas_is_compiled() {
    const LENGTH: usize = 10_000;
    let next = |number: usize| json!({ "$ref": format!("#/$defs/{}", (number + 1) % LENGTH) });
    let definitions: serde_json::Map<String, Value> = (0..LENGTH)
        .map(|number| {
            (
                number.to_string(),
                json!({ "type": "object", "properties": { "next": next(number) } }),
            )
        })
        .collect();
    let schema = compiled(&json!({ "$ref": "#/$defs/0", "$defs": definitions }));
    assert_eq!(schema.judge(&json!({ "next": { "next": {} } })), Ok(()));
    assert!(schema.judge(&json!({ "next": { "next": 1 } })).is_err());
}
