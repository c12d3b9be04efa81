//! Small files that ask for endless work give a draft that says what is missing, or an error with its line.

use prony_config::contract::Contract;
use prony_config::import::{Draft, DraftError, from_har, from_openapi, from_postman};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// The draft of a file.
fn draft_of(read: fn(&Path) -> Result<Draft, DraftError>, text: &str) -> Result<Draft, DraftError> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("api.yaml");
    std::fs::write(&file, text).expect("a file");
    read(&file)
}

/// The draft, which must be a contract.
fn drafted(read: fn(&Path) -> Result<Draft, DraftError>, text: &str) -> (Draft, String) {
    let draft = draft_of(read, text).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().expect("a folder");
    let contract = folder.path().join("mine");
    std::fs::create_dir(&contract).expect("a folder");
    let files = draft.files("mine");
    for (file, text) in &files {
        std::fs::write(contract.join(file), text).expect("a file");
    }
    let loaded = Contract::load(&contract).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(loaded.operations().len(), draft.operations.len());
    (draft, files["contract.toml"].clone())
}

/// A description of one POST, whose body has this schema.
fn post(schema: &str, more: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{title: a}}\npaths:\n  /a:\n    post:\n      requestBody:\n        content:\n          application/json:\n            schema: {schema}\n      responses: {{'200': {{}}}}\n{more}"
    )
}

#[test]
fn a_sample_is_cut_where_it_would_be_endless() {
    // 2^26 values.
    let mut schemas = "components:\n  schemas:\n".to_owned();
    for level in 0..26 {
        let below = format!("{{$ref: '#/components/schemas/S{}'}}", level + 1);
        let _ = writeln!(
            schemas,
            "    S{level}: {{type: object, required: [a, b], properties: {{a: {below}, b: {below}}}}}"
        );
    }
    schemas += "    S26: {type: string}\n";
    // 100^6 values.
    let mut lists = "{type: string}".to_owned();
    for _ in 0..6 {
        lists = format!("{{type: array, minItems: 100, items: {lists}}}");
    }
    let all = (0..100)
        .map(|_| "{$ref: '#/components/schemas/S0'}")
        .collect::<Vec<_>>()
        .join(", ");
    for (schema, more) in [
        ("{$ref: '#/components/schemas/S0'}", schemas.as_str()),
        (&lists, ""),
        (&format!("{{allOf: [{all}]}}"), &schemas),
        ("{type: string, minLength: 1000000000}", ""),
        ("{type: array, minItems: 1000000000000}", ""),
        (
            "{type: array, items: {type: object}, minItems: 1000000000000}",
            "",
        ),
    ] {
        let (draft, text) = drafted(from_openapi, &post(schema, more));
        let is_cut = text.contains("the sample of its request is cut here");
        // Without `items`, the empty list is valid.
        assert_eq!(
            is_cut,
            schema != "{type: array, minItems: 1000000000000}",
            "{schema}"
        );
        if is_cut {
            let remark = draft.operations[0].remarks.join("\n");
            assert!(remark.contains("api.yaml:"), "{remark}");
            assert!(text.len() < 1 << 20, "{schema}: {}", text.len());
        }
    }
    // A list that fits is complete.
    let (draft, _) = drafted(
        from_openapi,
        &post("{type: array, minItems: 300, items: {type: integer}}", ""),
    );
    let sent = draft.operations[0].body.clone();
    assert_eq!(sent, Some(prony_config::import::Body::Json(json!(vec![1; 300]))));
}

/// Every choice of every level fails, which only trying all of them shows.
#[test]
fn a_search_without_an_end_is_given_up() {
    let mut schemas = "components:\n  schemas:\n".to_owned();
    for level in 0..35 {
        let below = format!("{{$ref: '#/components/schemas/S{}'}}", level + 1);
        let _ = writeln!(
            schemas,
            "    S{level}: {{oneOf: [{below}, {{allOf: [{below}]}}]}}"
        );
    }
    schemas += "    S35: {type: object, required: [a], properties: {a: {$ref: '#/components/schemas/S0'}}}\n";
    let (draft, _) = drafted(from_openapi, &post("{$ref: '#/components/schemas/S0'}", &schemas));
    assert!(
        draft.operations[0].remarks[0].contains("is cut here"),
        "{draft:?}"
    );
}

#[test]
fn what_is_described_once_and_named_often_has_a_limit() {
    // One item of 200 kB under 1,000 paths.
    let mut text = "openapi: 3.1.0\ninfo: {title: a}\npaths:\n".to_owned();
    for number in 0..1_000 {
        let _ = writeln!(text, "  /a{number}: {{$ref: '#/components/pathItems/P'}}");
    }
    let summary = "word ".repeat(40_000);
    let _ = writeln!(
        text,
        "components:\n  pathItems:\n    P:\n      get:\n        summary: {summary}\n        responses: {{'200': {{}}}}"
    );
    let draft = draft_of(from_openapi, &text).expect("a draft");
    assert!(
        (50..200).contains(&draft.operations.len()),
        "{}",
        draft.operations.len()
    );
    let omission = draft.omitted.last().expect("an omission");
    assert_eq!(draft.operations.len() + omission.count, 1_000);
    assert!(omission.reason.contains("a draft has at most"), "{omission}");

    // Variables of variables in the URL of a server.
    let variables: Vec<String> = (0..40)
        .map(|level| format!("v{level}: {{default: '{{v{0}}}{{v{0}}}'}}", level + 1))
        .collect();
    let text = post(
        "{type: string}",
        &format!(
            "servers: [{{url: '/{{v0}}', variables: {{{}}}}}]\n",
            variables.join(", ")
        ),
    );
    let (draft, _) = drafted(from_openapi, &text);
    assert!(
        draft.operations[0].path.len() < 100,
        "{}",
        draft.operations[0].path
    );
}

#[test]
fn references_and_names_are_followed_in_linear_time() {
    let mut schemas = "components:\n  schemas:\n".to_owned();
    for level in 0..1_000 {
        let _ = writeln!(
            schemas,
            "    S{level}: {{$ref: '#/components/schemas/S{}'}}",
            level + 1
        );
    }
    schemas += "    S1000: {type: string}\n";
    let error =
        draft_of(from_openapi, &post("{$ref: '#/components/schemas/S0'}", &schemas)).expect_err("too long");
    assert!(
        error
            .to_string()
            .contains("more than 100 `$ref` one after another"),
        "{error}"
    );

    let request =
        |url: &str| json!({ "request": { "method": "GET", "url": url }, "response": { "status": 200 } });
    let entries: Vec<Value> = (0..11_000)
        .map(|number| request(&format!("http://a/{}?{number}", "/".repeat(3))))
        .collect();
    let draft = draft_of(from_har, &json!({ "log": { "entries": entries } }).to_string()).expect("a draft");
    assert_eq!(draft.operations.len(), 10_000);
    assert!(
        draft.omitted[0].reason.contains("at most 10000 operations"),
        "{:?}",
        draft.omitted
    );
    assert_eq!(draft.counts().omitted, 1_000);
    assert_eq!(draft.operations[9_999].name, "get_10000");
}

#[test]
fn paths_and_parameters_have_a_limit() {
    let parameters = |count: usize| {
        let all = (0..count).map(|number| format!("{{name: p{number}, in: query, example: 1}}"));
        format!("[{}]", all.collect::<Vec<_>>().join(", "))
    };
    let text = format!(
        "openapi: 3.1.0\npaths:\n  /few/{{a}}/{{a}}/{{b: {{get: {{parameters: {}}}}}\n  /many: {{get: {{parameters: {}}}}}\n  ? /{}\n  : {{get: {{}}}}\n",
        parameters(200),
        parameters(201),
        "{a}".repeat(2_000)
    );
    let draft = draft_of(from_openapi, &text.replace("{b:", "%7Bb:")).expect("a draft");
    assert_eq!(draft.operations.len(), 1);
    assert!(
        draft.operations[0].path.starts_with("/few/{a}/{a}/%7Bb?p0=1&"),
        "{}",
        draft.operations[0].path
    );
    for (omission, reason) in draft
        .omitted
        .iter()
        .zip(["more than 200 parameters", "its path has more than 4096 bytes"])
    {
        assert!(omission.reason.contains(reason), "{omission}");
    }
    assert_eq!(draft.omitted.len(), 2);
}

#[test]
fn variables_of_a_collection_are_filled_within_a_limit() {
    let variables: Vec<Value> = (0..60)
        .map(|level| json!({ "key": format!("v{level:02}"), "value": format!("x{{{{v{0:02}}}}}{{{{v{0:02}}}}}", level + 1) }))
        .collect();
    let many: Vec<Value> = (0..50_000)
        .map(|number| json!({ "key": format!("x{number}"), "value": "" }))
        .collect();
    let header = "{{a!}}{{a?}}{{a*}}".repeat(20_000);
    let collection = json!({
        "variable": variables,
        "item": [
            { "name": "many", "request": { "url": "http://a/{{v00}}" } },
            { "name": "places", "request": { "url": "http://a/", "header": [{ "key": "x", "value": header }] } },
            { "name": "headers", "request": { "url": "http://a/", "header": many } },
            { "name": "right", "request": { "url": "http://a/{{v59}}", "header": [{ "key": "y", "value": "{{none}}" }] } },
        ]
    });
    let draft = draft_of(from_postman, &collection.to_string()).expect("a draft");
    let names: Vec<&str> = draft.operations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["places", "headers", "right"]);
    let [many] = draft.omitted.as_slice() else {
        panic!("{:?}", draft.omitted);
    };
    assert!(many.reason.starts_with("`many`: `http://a/xx"), "{many}");
    assert!(many.reason.contains("a URL of more than 16384 bytes"), "{many}");
    let headers = &draft.operations[1];
    assert_eq!(headers.headers.len(), 200);
    assert!(headers.remarks[0].contains("`x200`"), "{:?}", headers.remarks);
    assert_eq!(draft.operations[2].headers[0].1, "{none}");
}

/// TOML is read down to a depth, so that a draft must not be deeper.
#[test]
fn deep_json_stays_text_or_is_not_expected() {
    let deep = "[".repeat(100) + &"]".repeat(100);
    let entry = json!({
        "request": { "method": "POST", "url": "http://a/b", "headers": [{ "name": "Content-Type", "value": "application/json" }],
            "postData": { "mimeType": "application/json", "text": deep } },
        "response": { "status": 200, "content": { "mimeType": "application/json", "text": deep } }
    });
    let (draft, text) = drafted(from_har, &json!({ "log": { "entries": [entry] } }).to_string());
    assert_eq!(draft.operations[0].expect.body, None);
    assert!(text.contains("nested too deeply"), "{text}");
}
