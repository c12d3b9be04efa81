//! Each contract agrees with its `openapi.yaml`.

use prony_config::contract::{Contract, OperationInfo};
use prony_load::{BodyRule, HeaderValue, Operation, Protocol, Template};
use prony_schema::Schema;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts")
}

/// The contracts that support one of these protocols.
fn speaking(protocols: &[Protocol]) -> Vec<Contract> {
    let mut all = Contract::all(&folder()).expect("the contracts load");
    all.retain(|contract| protocols.iter().any(|one| contract.protocols().contains(one)));
    all
}

fn openapi(contract: &Contract) -> Value {
    let path = contract.folder.join("openapi.yaml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_yaml_ng::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Method, path and definition of every operation of a document.
fn written(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().expect("paths");
    paths
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods");
            methods
                .iter()
                .filter(|(method, _)| *method != "parameters")
                .map(|(method, operation)| (method.to_uppercase(), path.clone(), operation.clone()))
        })
        .collect()
}

/// Method and path, with the same name for all placeholders. OpenAPI lists query parameters outside the path.
fn line(http: &str) -> String {
    let path = http.split('?').next().unwrap_or_default();
    let segments = path.split('/');
    let segments = segments.map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// Method and path of an operation; a WebSocket starts with a GET.
fn request(operation: &OperationInfo) -> Option<String> {
    let handshake = operation.websocket.as_ref().map(|path| format!("GET {path}"));
    operation.http.clone().or(handshake)
}

fn text(template: &Template) -> Vec<u8> {
    let mut out = Vec::new();
    template.render(&mut out, |_, out| out.extend_from_slice(b"7"));
    out
}

/// The operations that the contract's workloads send, with the contract's names.
fn sent(contract: &Contract) -> Vec<Operation> {
    let workloads = contract.workloads();
    workloads
        .iter()
        .flat_map(|(name, _)| {
            contract
                .workload(name, Protocol::Http1)
                .expect("a workload")
                .operations
        })
        .collect()
}

#[test]
fn the_same_operations_are_in_both() {
    for contract in speaking(&[Protocol::Http1, Protocol::WebSocket]) {
        let document = openapi(&contract);
        assert_eq!(document["openapi"], "3.1.0", "{}", contract.name);
        assert_eq!(document["info"]["title"], contract.title, "{}", contract.name);
        let of_contract: Vec<OperationInfo> = contract.operations();
        for operation in &of_contract {
            let http = request(operation).expect("every operation of ours speaks HTTP or WebSocket");
            let found = written(&document)
                .into_iter()
                .any(|(method, path, _)| line(&format!("{method} {path}")) == line(&http));
            assert!(found, "{}: {http} is not in openapi.yaml", contract.name);
        }
        for (method, path, written) in written(&document) {
            let written_line = line(&format!("{method} {path}"));
            let named = of_contract.iter().any(|operation| {
                request(operation).map(|http| line(&http)).as_ref() == Some(&written_line)
                    && written["operationId"] == operation.name.as_str()
            });
            assert!(
                named,
                "{}: no operation `{}` with {written_line}",
                contract.name, written["operationId"]
            );
        }
    }
}

#[test]
fn expected_replies_fit_their_schemas() {
    // OpenAPI does not describe WebSocket messages.
    for contract in speaking(&[Protocol::Http1]) {
        let document = openapi(&contract);
        for operation in sent(&contract) {
            let name = operation.name.split('(').next().unwrap_or_default();
            let Some((_, _, written)) = written(&document)
                .into_iter()
                .find(|(_, _, written)| written["operationId"] == name)
            else {
                // Two operations of a contract may have the same method and path, which is one operation in OpenAPI.
                continue;
            };
            let status = operation.expect.status[0].to_string();
            let response = &written["responses"][&status];
            assert!(
                response.is_object(),
                "{} {name}: no response {status}",
                contract.name
            );
            for rule in &operation.expect.headers {
                if let HeaderValue::MediaType(media_type) = &rule.value {
                    assert!(
                        response["content"][media_type].is_object(),
                        "{} {name}: no {media_type}",
                        contract.name
                    );
                }
            }
            for rule in &operation.expect.body {
                fits(&document, response, rule);
            }
        }
    }
}

/// A complete expected body must be valid for the schema of the response.
fn fits(document: &Value, response: &Value, rule: &BodyRule) {
    let body = match rule {
        BodyRule::Json(template) => serde_json::from_slice(&text(template)).expect("JSON"),
        BodyRule::Exact(template) => json!(String::from_utf8(text(template)).expect("UTF-8")),
        _ => return,
    };
    let content = response["content"].as_object().expect("content");
    let (_, only) = content.iter().next().expect("a media type");
    let schema = json!({ "allOf": [only["schema"]], "components": document["components"] });
    let schema = Schema::compile(&schema).expect("a schema");
    assert_eq!(schema.judge(&body), Ok(()), "{body}");
}
