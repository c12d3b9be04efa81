//! Descriptions with the structure of well-known APIs become contracts that load; errors name the line.

use prony_config::contract::Contract;
use prony_config::import::{Draft, from_openapi};
use prony_schema::Schema;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn description(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/import/descriptions")
        .join(name)
}

/// The draft, its contract file and its schemas; the contract must load.
fn drafted(name: &str) -> (Draft, String, Value) {
    let draft = from_openapi(&description(name)).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().expect("a folder");
    let contract = folder.path().join("mine");
    std::fs::create_dir(&contract).expect("a folder");
    let files = draft.files("mine");
    for (file, text) in &files {
        std::fs::write(contract.join(file), text).expect("a file");
    }
    let loaded =
        Contract::load(&contract).unwrap_or_else(|error| panic!("{error}\n{}", files["contract.toml"]));
    assert_eq!(loaded.operations().len(), draft.operations.len());
    let schemas = files
        .get("schemas.json")
        .map_or(Value::Null, |text| serde_json::from_str(text).expect("JSON"));
    (draft, files["contract.toml"].clone(), schemas)
}

/// Whether a schema of the draft allows a reply.
fn allows(schemas: &Value, name: &str, reply: &Value) -> bool {
    let mut schema = schemas.clone();
    schema["$ref"] = json!(format!("#/$defs/{name}"));
    Schema::compile(&schema).expect("a schema").judge(reply).is_ok()
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn a_pet_shop() {
    let (draft, text, schemas) = drafted("pets.yaml");
    has(
        &text,
        &[
            "http = \"GET /v2/pet/findByStatus?status=available&status=available\"",
            "Left out, since optional: limit.",
            "http = \"GET /v2/pet/{pet_id}\"",
            "with.pet_id = \"7\"",
            "api_key = \"{api_key}\"",
            "Authorization = \"Bearer {token}\"",
            "[operation.deletePetPetId]",
            "status = 204",
            "json = { name = \"doggie\", photoUrls = [\"https://example.com/a\"], secret = \"text",
            "It also accepts application/x-www-form-urlencoded.",
            "pets.yaml:11, GET /pet/findByStatus",
            "Content-Type = \"application/octet-stream\"",
            "json_schema = \"schemas.json#/$defs/Pets\"",
        ],
    );
    assert_eq!(draft.operations.len(), 5);
    let delete = draft
        .operations
        .iter()
        .find(|one| one.method == "DELETE")
        .expect("there");
    assert!(
        delete.headers.is_empty(),
        "no credentials where none are asked: {delete:?}"
    );
    let pet =
        |status: Value| json!([{ "id": 1, "name": "a", "photoUrls": [], "status": status, "weight": 1 }]);
    assert!(allows(&schemas, "Pets", &pet(json!("pending"))) && allows(&schemas, "Pets", &pet(Value::Null)));
    assert!(!allows(&schemas, "Pets", &pet(json!("sold"))));
    let light = json!([{ "id": 1, "name": "a", "photoUrls": [], "weight": 0 }]);
    assert!(!allows(&schemas, "Pets", &light), "exclusiveMinimum: true of 3.0");
}

#[test]
fn a_forge() {
    let (_, text, schemas) = drafted("forge.yaml");
    has(
        &text,
        &[
            "[operation.issues_list_for_repo]",
            "http = \"GET /repos/{owner}/{repo}/issues?labels=bug,a%20b\"",
            "repo = \"en gine\"",
            "X-Forge-Api-Version = \"2022-11-28\"",
            "body = \"{= null}\"",
            "# {{title}}",
            "content_type = \"text/html\"",
        ],
    );
    let issue = |user: Value, label: Value| json!([{ "id": 1, "title": "t", "state": "open", "user": user, "labels": [label], "closed_by": null }]);
    let name = "issues_list_for_repo_reply";
    let user = json!({ "login": "ada", "id": 1 });
    assert!(allows(&schemas, name, &issue(Value::Null, json!("bug"))));
    assert!(allows(
        &schemas,
        name,
        &issue(user.clone(), json!({ "name": "bug", "color": "00ff00" }))
    ));
    assert!(!allows(&schemas, name, &issue(json!("ada"), json!("bug"))));
    assert!(!allows(
        &schemas,
        name,
        &issue(user, json!({ "name": "bug", "color": "red" }))
    ));
}

#[test]
fn a_payment_service() {
    let (_, text, schemas) = drafted("pay.json");
    has(
        &text,
        &[
            "http = \"GET /v1/charges?created%5Bgte%5D=1&created%5Blt%5D=9\"",
            "Authorization = \"Basic {basic}\"",
            "text = \"amount=50&currency=chf\"",
            "Content-Type = \"application/x-www-form-urlencoded\"",
        ],
    );
    let charge =
        |customer: Value| json!({ "id": "c", "amount": 1, "object": "charge", "customer": customer });
    for right in [
        json!(null),
        json!("cus"),
        json!({ "id": "cus", "default_charge": charge(json!(null)) }),
    ] {
        assert!(allows(&schemas, "charge", &charge(right.clone())), "{right}");
    }
    assert!(!allows(&schemas, "charge", &charge(json!(7))));
}

#[test]
fn a_cluster() {
    let (_, text, schemas) = drafted("cluster.yaml");
    has(
        &text,
        &[
            "http = \"GET /api/v1/namespaces/{namespace}/pods\"",
            "It also accepts application/merge-patch+json.",
            "Content-Type = \"application/json-patch+json\"",
            "status = [200, 201, 202, 204]",
        ],
    );
    let pods = |port: Value| json!({ "items": [{ "metadata": { "labels": { "a": "b" } }, "port": port, "owner": {} }] });
    let name = "io.cluster.api.core.v1.PodList";
    assert!(allows(&schemas, name, &pods(json!(80))) && allows(&schemas, name, &pods(json!("http"))));
    assert!(!allows(&schemas, name, &pods(json!(true))));
}

#[test]
fn a_chat_model() {
    let (_, text, schemas) = drafted("chat.yaml");
    has(
        &text,
        &[
            "http = \"POST /v1/chat/completions\"",
            "role = \"system\"",
            "\"$price\" = \"$5\"",
            "multipart/form-data; boundary=prony-part",
            "name=\"purpose\"\\r\n\\r\n",
        ],
    );
    let reply = |object: &str| json!({ "id": "x", "object": object, "choices": [{ "role": "user", "content": "hi" }] });
    assert!(allows(
        &schemas,
        "createChatCompletion_reply",
        &reply("chat.completion")
    ));
    assert!(!allows(&schemas, "createChatCompletion_reply", &reply("list")));
}

#[test]
fn what_is_broken_is_told_with_its_line() {
    let error_of = |text: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("api.yaml");
        std::fs::write(&file, text).expect("a file");
        let error = from_openapi(&file).expect_err("broken").to_string();
        let at = error.find("api.yaml").expect("the file is named");
        error[at..].to_owned()
    };
    let paths = |rest: &str| format!("openapi: 3.1.0\ninfo: {{title: a}}\npaths:\n  /a:\n    get:\n{rest}");
    let body = |schema: &str| {
        paths(&format!(
            "      requestBody:\n        content:\n          application/json:\n            schema: {schema}\n      responses: {{}}\n"
        ))
    };
    let schemas = |rest: &str| {
        format!(
            "{}components:\n  schemas:\n{rest}",
            body("{$ref: '#/components/schemas/A'}")
        )
    };
    for (text, expected) in [
        (
            "swagger: '2.0'\n".to_owned(),
            "api.yaml:1: Swagger 2.0: convert it",
        ),
        ("a: 1\n".to_owned(), "api.yaml:1: not an OpenAPI description"),
        ("openapi: 3.1.0\n".to_owned(), "there are no `paths`"),
        (
            "openapi: 4.0.0\npaths: {}\n".to_owned(),
            "api.yaml:1: OpenAPI 4.0.0 is not supported: use 3.0, 3.1 or 3.2",
        ),
        ("openapi: 3.1.0\npaths: {\n".to_owned(), "not YAML"),
        (
            paths("      parameters:\n        - $ref: '#/components/parameters/X'\n"),
            "which does not exist",
        ),
        (
            body("{$ref: 'other.yaml#/A'}"),
            "api.yaml:9: `$ref` refers to `other.yaml#/A`: there is no such file",
        ),
        (
            schemas("    A: {$ref: '#/components/schemas/B'}\n    B: {$ref: '#/components/schemas/A'}\n"),
            "`$ref` is circular",
        ),
        (
            schemas(
                "    A: {type: object, required: [a], properties: {a: {$ref: '#/components/schemas/A'}}}\n",
            ),
            "contains itself endlessly",
        ),
    ] {
        let error = error_of(&text);
        assert!(error.contains(expected), "{expected}\n{error}");
    }
}
