//! What descriptions may say about a request and its reply, and what a mistake in them costs.

use prony_config::contract::Contract;
use prony_config::import::{Body, Draft, Operation, from_openapi};
use prony_schema::Schema;
use serde_json::{Value, json};
use std::path::Path;

/// The draft of these files, of which the first is the description; it must be a contract.
fn drafted(files: &[(&str, &str)]) -> Draft {
    let folder = tempfile::tempdir().expect("a folder");
    let api = folder.path().join("api");
    for (name, text) in files {
        let file = api.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(&file, text).expect("a file");
    }
    let draft = from_openapi(&api.join(files[0].0)).unwrap_or_else(|error| panic!("{error}"));
    load(&draft, folder.path());
    draft
}

fn load(draft: &Draft, folder: &Path) {
    let contract = folder.join("mine");
    std::fs::create_dir(&contract).expect("a folder");
    let files = draft.files("mine");
    for (file, text) in &files {
        std::fs::write(contract.join(file), text).expect("a file");
    }
    let loaded =
        Contract::load(&contract).unwrap_or_else(|error| panic!("{error}\n{}", files["contract.toml"]));
    assert_eq!(loaded.operations().len(), draft.operations.len());
}

/// A draft of one description whose paths are these.
fn of_paths(version: &str, paths: &str) -> Draft {
    drafted(&[(
        "api.yaml",
        &format!("openapi: {version}\ninfo: {{title: a}}\npaths:\n{paths}"),
    )])
}

fn operation<'a>(draft: &'a Draft, path: &str) -> &'a Operation {
    let mut operations = draft.operations.iter();
    let found = operations.find(|operation| operation.path.starts_with(path));
    found.unwrap_or_else(|| panic!("no {path} in {:?}", draft.operations))
}

fn allows(draft: &Draft, name: &str, reply: &Value) -> bool {
    let schema = json!({ "$defs": draft.schemas, "$ref": format!("#/$defs/{name}") });
    Schema::compile(&schema).expect("a schema").judge(reply).is_ok()
}

fn text_of(operation: &Operation) -> &str {
    match &operation.body {
        Some(Body::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_merged_mapping_is_part_of_the_reply() {
    let draft = of_paths(
        "3.0.3",
        "  /a:
    get:
      responses:
        '200':
          <<: &reply
            description: all
            content: {application/json: {schema: &shape {type: object, required: [id], properties: {id: {type: integer}}}}}
  /b:
    get:
      responses:
        '200':
          <<: *reply
          description: b
  /c:
    get:
      responses:
        '200':
          description: c
          content: {application/json: {schema: {<<: [*shape, {type: string, minProperties: 2}], required: [name]}}}
",
    );
    assert!(allows(&draft, "getB_reply", &json!({ "id": 1 })));
    assert!(!allows(&draft, "getB_reply", &json!({})));
    // Its own keys come first, then the first of the merged mappings.
    assert!(allows(&draft, "getC_reply", &json!({ "name": 1, "id": 2 })));
    assert!(!allows(&draft, "getC_reply", &json!({ "name": 1 })));
    assert!(!allows(&draft, "getC_reply", &json!({ "id": 1, "x": 2 })));
}

#[test]
fn a_mistake_costs_its_operation_and_no_other() {
    let draft = of_paths(
        "3.1.0",
        "  /good: {get: {responses: {'200': {}}}}
  /parameter: {get: {parameters: [{$ref: '#/components/parameters/none'}], responses: {'200': {}}}}
  /nameless: {get: {parameters: [{in: query, required: true}], responses: {'200': {}}}}
  /endless: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}, responses: {'200': {}}}}
  no-slash: {get: {responses: {'200': {}}}}
  /nowhere: {$ref: '#/components/pathItems/none'}
  /optional: {get: {parameters: [{name: a, in: query, examples: {x: {$ref: '#/none'}}}], responses: {'200': {}}}}
  /reply: {get: {responses: {'200': {$ref: '#/none'}}}}
components:
  schemas:
    A: {type: object, required: [a], properties: {a: {$ref: '#/components/schemas/A'}}}
",
    );
    let paths: Vec<&str> = draft
        .operations
        .iter()
        .map(|operation| operation.path.as_str())
        .collect();
    assert_eq!(paths, ["/good", "/optional", "/reply"]);
    let counts = draft.counts();
    assert_eq!((counts.drafted, counts.partial, counts.omitted), (3, 2, 5));
    let omitted: Vec<String> = draft.omitted.iter().map(ToString::to_string).collect();
    for (place, reason) in [
        ("api.yaml:5:", "GET /parameter: "),
        ("api.yaml:6:", "a parameter needs `name` and `in`"),
        ("api.yaml:7:", "contains itself endlessly"),
        ("api.yaml:8:", "`no-slash`: a path starts with `/`"),
        (
            "api.yaml:9:",
            "`#/components/pathItems/none`, which does not exist",
        ),
    ] {
        let is_told = omitted
            .iter()
            .any(|line| line.contains(place) && line.contains(reason));
        assert!(is_told, "{place} {reason}: {omitted:#?}");
    }
    assert!(operation(&draft, "/optional").remarks[0].contains("The optional parameter `a` is left out"));
    assert!(operation(&draft, "/reply").remarks[0].contains("only the status is checked"));
}

#[test]
fn a_mistake_in_a_schema_costs_that_part_of_it() {
    let draft = of_paths(
        "3.1.0",
        r"  /a: {get: {responses: {'200': {content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}}}}
  /b: {get: {responses: {'200': {content: {application/json: {schema: {$ref: '#/components/schemas/Fine'}}}}}}}
components:
  schemas:
    A:
      type: object
      required: [id]
      properties:
        id: {type: integer, required: true}
        file: {type: file}
        code: {type: string, pattern: '(?<q>a)\k<q>(?('}
        list: {type: array, items: [7]}
        far: {$ref: 'https://schemas.invalid/x'}
        fine: {$ref: '#/components/schemas/Fine'}
        numbers: {enum: [1, 2], minimum: low}
    Fine: {type: object, required: [x, x]}
",
    );
    assert!(allows(
        &draft,
        "A",
        &json!({ "id": 1, "file": 7, "code": "b", "numbers": 2, "far": [] })
    ));
    for wrong in [
        json!({}),
        json!({ "id": "x" }),
        json!({ "id": 1, "fine": {} }),
        json!({ "id": 1, "numbers": 3 }),
    ] {
        assert!(!allows(&draft, "A", &wrong), "{wrong}");
    }
    for (line, what) in [
        (12, "`required`"),
        (13, "`type`"),
        (14, "`pattern`"),
        (16, "schemas.invalid"),
        (18, "`minimum`"),
    ] {
        let place = format!("api.yaml:{line}: ");
        let is_told = draft
            .remarks
            .iter()
            .any(|remark| remark.contains(&place) && remark.contains(what));
        assert!(is_told, "{line} {what}: {:#?}", draft.remarks);
    }
    assert!(operation(&draft, "/a").is_partial && !operation(&draft, "/b").is_partial);
}

#[test]
fn schemas_refer_to_each_other_by_identifier_and_anchor() {
    let draft = of_paths(
        "3.1.0",
        "  /a: {get: {responses: {'200': {content: {application/json: {schema: {$ref: 'https://example.com/tree'}}}}}}}
  /f: {get: {responses: {'200': {content: {application/json: {schema: {$ref: '#/components/schemas/Filter'}}}}}}}
components:
  schemas:
    Tree:
      $id: https://example.com/tree
      type: object
      properties:
        value: {$ref: '#/$defs/value'}
        below: {type: array, items: {$dynamicRef: '#node'}}
        named: {$ref: '#named'}
      $dynamicAnchor: node
      $defs:
        value: {type: integer}
        other: {$anchor: named, type: boolean}
    Filter:
      $recursiveAnchor: true
      type: object
      required: [op]
      properties: {all: {type: array, items: {oneOf: [{type: string}, {$recursiveRef: '#'}]}}}
",
    );
    assert!(draft.remarks.is_empty(), "{:?}", draft.remarks);
    assert!(allows(
        &draft,
        "Tree",
        &json!({ "value": 1, "below": [{ "value": 2, "named": true }] })
    ));
    for wrong in [
        json!({ "value": "1" }),
        json!({ "below": [{ "value": "2" }] }),
        json!({ "named": 7 }),
    ] {
        assert!(!allows(&draft, "Tree", &wrong), "{wrong}");
    }
    assert!(allows(
        &draft,
        "Filter",
        &json!({ "op": "and", "all": ["x", { "op": "or" }] })
    ));
    assert!(!allows(&draft, "Filter", &json!({ "op": "and", "all": [{}] })));
}

#[test]
fn parameters_have_their_styles() {
    let path = |style: &str, example: &str| {
        format!(
            "  /x-{}/{{p}}: {{get: {{parameters: [{{name: p, in: path, required: true, {style}, example: {example}}}], responses: {{'200': {{}}}}}}}}\n",
            style.replace([':', ' ', ','], "")
        )
    };
    let list = "[a b, c]";
    let object = "{r: 1, g: 2}";
    let mut paths = String::new();
    for style in ["style: simple", "style: label", "style: matrix"] {
        for explode in ["false", "true"] {
            paths += &path(&format!("{style}, explode: {explode}, x-l: 1"), list);
            paths += &path(&format!("{style}, explode: {explode}, x-o: 1"), object);
        }
    }
    paths += &path("x-s: 1, style: label", "a");
    paths += &path("x-s: 1, style: matrix", "5");
    let draft = of_paths("3.1.0", &paths);
    let of = |start: &str| {
        operation(&draft, start)
            .path
            .rsplit('/')
            .next()
            .expect("a segment")
            .to_owned()
    };
    for (start, expected) in [
        ("/x-stylesimpleexplodefalsex-l1", "a%20b,c"),
        ("/x-stylesimpleexplodefalsex-o1", "g,2,r,1"),
        ("/x-stylesimpleexplodetruex-l1", "a%20b,c"),
        ("/x-stylesimpleexplodetruex-o1", "g=2,r=1"),
        ("/x-stylelabelexplodefalsex-l1", ".a%20b,c"),
        ("/x-stylelabelexplodetruex-l1", ".a%20b.c"),
        ("/x-stylelabelexplodetruex-o1", ".g=2.r=1"),
        ("/x-stylematrixexplodefalsex-l1", ";p=a%20b,c"),
        ("/x-stylematrixexplodetruex-l1", ";p=a%20b;p=c"),
        ("/x-stylematrixexplodefalsex-o1", ";p=g,2,r,1"),
        ("/x-stylematrixexplodetruex-o1", ";g=2;r=1"),
        ("/x-x-s1stylelabel", ".a"),
        ("/x-x-s1stylematrix", ";p=5"),
    ] {
        assert_eq!(of(start), expected, "{start}");
    }
}

#[test]
fn parameters_of_the_query_and_headers() {
    let draft = of_paths(
        "3.2.0",
        "  /q:
    get:
      parameters:
        - {name: l, in: query, required: true, example: [a, b]}
        - {name: s, in: query, style: spaceDelimited, required: true, example: [a, b]}
        - {name: p, in: query, style: pipeDelimited, required: true, example: [a, b]}
        - {name: d, in: query, style: deepObject, required: true, example: {k: {m: 1}, l: [2, 3]}}
        - {name: r, in: query, allowReserved: true, required: true, example: 'a/b?c&d'}
        - {name: j, in: query, required: true, content: {application/json: {example: {x: [1]}}}}
        - {name: X-List, in: header, required: true, example: [1, 2]}
        - {name: X-Map, in: header, explode: true, required: true, example: {a: 1}}
        - {name: c, in: cookie, required: true, example: 'x;y'}
      responses: {'200': {}}
  /whole:
    get:
      parameters: [{name: all, in: querystring, required: true, content: {application/x-www-form-urlencoded: {example: {a: [1, 2], b: x}}}}]
      responses: {'200': {}}
",
    );
    let made = operation(&draft, "/q");
    assert_eq!(
        made.path,
        "/q?l=a&l=b&s=a%20b&p=a%7Cb&d%5Bk%5D%5Bm%5D=1&d%5Bl%5D=2&d%5Bl%5D=3&r=a/b?c%26d&j=%7B%22x%22%3A%5B1%5D%7D"
    );
    let header = |name: &str| {
        made.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(header("X-List"), Some("1,2"));
    assert_eq!(header("X-Map"), Some("a=1"));
    assert_eq!(header("Cookie"), Some("c=x%3By"));
    assert_eq!(operation(&draft, "/whole").path, "/whole?a=1&a=2&b=x");
}

#[test]
fn the_closest_server_counts_and_3_2_has_more_methods() {
    let draft = of_paths(
        "3.2.0",
        "  /a: {servers: [{url: '/item'}], get: {responses: {'200': {}}}, post: {servers: [{url: 'https://x.example/{v}/own', variables: {v: {default: 2}}}], responses: {'200': {}}}}
  /b: {query: {responses: {'200': {}}}, additionalOperations: {LINK: {responses: {'200': {}}}}}
servers: [{url: 'https://{region}.example/all/', variables: {region: {default: eu}}}]
",
    );
    let requests: Vec<String> = draft
        .operations
        .iter()
        .map(|made| format!("{} {}", made.method, made.path))
        .collect();
    assert_eq!(
        requests,
        ["GET /item/a", "POST /2/own/a", "QUERY /all/b", "LINK /all/b"]
    );
}

#[test]
fn forms_have_files_lists_and_objects() {
    let draft = of_paths(
        "3.1.0",
        "  /form:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, properties: {tags: {type: array, example: [a, b]}, o: {type: object, example: {k: text}}}}
      responses: {'200': {}}
  /upload:
    post:
      requestBody:
        content:
          multipart/form-data:
            schema:
              type: object
              required: [old, new, many, note, meta, icon]
              properties:
                old: {type: string, format: binary}
                new: {type: string, contentMediaType: application/octet-stream}
                many: {type: array, minItems: 2, items: {type: string, format: binary}}
                note: {type: string}
                meta: {type: object, required: [a], properties: {a: {type: integer}}}
                icon: {type: string, format: binary}
            encoding: {icon: {contentType: 'image/png, image/jpeg'}}
      responses: {'200': {}}
",
    );
    assert_eq!(text_of(operation(&draft, "/form")), "o%5Bk%5D=text&tags=a&tags=b");
    let sent = text_of(operation(&draft, "/upload"));
    let part = |name: &str| {
        let begin = format!("name=\"{name}\"");
        sent.split("--prony-part")
            .filter(|part| part.contains(&begin))
            .collect::<Vec<_>>()
    };
    for name in ["old", "new", "many"] {
        let file = format!(
            "; name=\"{name}\"; filename=\"file\"\r\nContent-Type: application/octet-stream\r\n\r\ntext\r\n"
        );
        assert!(part(name).iter().all(|part| part.ends_with(&file)), "{sent}");
    }
    assert_eq!(part("many").len(), 2, "{sent}");
    assert!(
        part("icon")[0].contains("\r\nContent-Type: image/png\r\n"),
        "{sent}"
    );
    assert!(
        part("note")[0].ends_with("; name=\"note\"\r\n\r\ntext\r\n"),
        "{sent}"
    );
    assert!(
        part("meta")[0].contains("Content-Type: application/json\r\n\r\n{\"a\":1}\r\n"),
        "{sent}"
    );
}

#[test]
fn an_example_that_is_a_text_with_json_is_that_json() {
    let draft = of_paths(
        "3.0.3",
        r#"  /a: {post: {requestBody: {content: {application/json: {schema: {type: object}, example: '{"a": 1}'}}}, responses: {'200': {}}}}
  /b: {post: {requestBody: {content: {application/json: {schema: {type: array, example: '[1]'}}}}, responses: {'200': {}}}}
  /c: {post: {requestBody: {content: {application/json: {schema: {type: string}, example: '{"a": 1}'}}}, responses: {'200': {}}}}
"#,
    );
    let body = |path: &str| operation(&draft, path).body.clone();
    assert_eq!(body("/a"), Some(Body::Json(json!({ "a": 1 }))));
    assert_eq!(body("/b"), Some(Body::Json(json!([1]))));
    assert_eq!(body("/c"), Some(Body::Json(json!("{\"a\": 1}"))));
    assert!(
        operation(&draft, "/a")
            .remarks
            .iter()
            .any(|remark| remark.contains("a text that contains JSON"))
    );
}

#[test]
fn a_sample_matches_its_pattern() {
    let draft = of_paths(
        "3.1.0",
        r"  /a/{code}: {get: {parameters: [{name: code, in: path, required: true, schema: {type: string, pattern: '^[A-Z]{2}-\d{3}$'}}], responses: {'200': {}}}}
  /b/{code}: {get: {parameters: [{name: code, in: path, required: true, schema: {type: string, pattern: '^(?=.*\d)x+$'}}], responses: {'200': {}}}}
",
    );
    assert_eq!(operation(&draft, "/a").with["code"], "AA-111");
    assert!(
        operation(&draft, "/b")
            .remarks
            .iter()
            .any(|remark| remark.contains("must match a pattern"))
    );
}

#[test]
fn local_files_are_read() {
    let draft = drafted(&[
        (
            "api.yaml",
            "openapi: 3.1.0\ninfo: {title: a}\npaths:\n  /pets: {$ref: 'paths/pets.yaml'}\n  /one: {get: {$ref: 'paths/pets.yaml#/get'}}\n  /out: {get: {responses: {'200': {content: {application/json: {schema: {$ref: '../../secret.json'}}}}}}}\n  /bad: {$ref: 'none.yaml#/x'}\n",
        ),
        (
            "paths/pets.yaml",
            "get:\n  responses:\n    '200': {content: {application/json: {schema: {$ref: '../schemas.json#/Pets'}}}}\n    '404': {$ref: '#/x-none'}\npost:\n  parameters: [{name: a, required: true}]\n",
        ),
        (
            "schemas.json",
            r##"{ "Pets": { "type": "array", "items": { "$ref": "#/Pet" } }, "Pet": { "type": "object", "required": ["id"] } }"##,
        ),
    ]);
    assert!(allows(&draft, "Pets", &json!([{ "id": 1 }])));
    assert!(!allows(&draft, "Pets", &json!([{}])));
    assert_eq!(
        operation(&draft, "/one").expect.body,
        operation(&draft, "/pets").expect.body
    );
    let omitted: Vec<String> = draft.omitted.iter().map(ToString::to_string).collect();
    assert!(
        omitted
            .iter()
            .any(|line| line.contains("paths/pets.yaml:6") && line.contains("needs `name`")),
        "{omitted:?}"
    );
    assert!(
        omitted
            .iter()
            .any(|line| line.contains("none.yaml#/x`: there is no such file")),
        "{omitted:?}"
    );
    assert!(
        draft
            .remarks
            .iter()
            .any(|remark| remark.contains("no such file in the folder")),
        "{:?}",
        draft.remarks
    );
}
