//! `prony new contract`: drafts from every kind of source, checked against a running server.

use crate::common::{CommandOutput, signal, until};
use crate::schemas;
use axum::extract::{Json, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A shop with valid replies, or with one member of another type.
#[derive(Clone)]
struct Shop {
    price: Value,
    asked: Arc<AtomicU64>,
}

/// Starts a shop on a free port for the duration of the test, and returns its URL.
pub(crate) fn shop(price: Value) -> String {
    let (sender, receiver) = std::sync::mpsc::channel();
    let shop = Shop {
        price,
        asked: Arc::default(),
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                .await
                .expect("a port");
            sender
                .send(listener.local_addr().expect("an address"))
                .expect("the test waits");
            let routes = axum::Router::new().fallback(answer).with_state(shop);
            axum::serve(listener, routes).await.expect("it serves");
        });
    });
    format!("http://{}", receiver.recv().expect("an address"))
}

/// Handles every request, since axum's own router does not decode the path.
async fn answer(State(shop): State<Shop>, method: Method, uri: Uri, body: String) -> Response {
    let price = &shop.price;
    let mut pairs = uri.query().unwrap_or_default().split('&');
    let kind = pairs.find_map(|pair| pair.strip_prefix("kind=")).map(decoded);
    let kind = kind.unwrap_or_default();
    match (method.as_str(), decoded(uri.path()).as_str()) {
        ("GET" | "HEAD", "/items") => {
            Json(json!({ "kind": kind, "items": [{ "id": 1, "name": "{a} cup", "price": price }] }))
                .into_response()
        }
        ("GET" | "HEAD", "/items/7") => {
            Json(json!({ "id": 7, "name": "jug", "price": price, "note": null })).into_response()
        }
        ("POST", "/items") => {
            let asked: Value = serde_json::from_str(&body).unwrap_or_default();
            let made = json!({ "id": 8, "name": asked["name"], "price": price });
            (StatusCode::CREATED, Json(made)).into_response()
        }
        ("GET" | "HEAD", "/visits") => {
            let number = shop.asked.fetch_add(1, Ordering::Relaxed);
            let id = format!("{number:08}");
            Json(json!({ "visit": number, "of": "the shop", "price": price, "id": id })).into_response()
        }
        ("POST", "/login") if body == "user=ada&word=it%27s" => "welcome".into_response(),
        ("POST", "/login") => StatusCode::UNAUTHORIZED.into_response(),
        (_, "/items" | "/items/7" | "/visits" | "/login") => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Decodes the `%XX` of a path.
fn decoded(path: &str) -> String {
    let mut parts = path.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        let (digits, rest) = part.split_at(part.len().min(2));
        let byte = u8::from_str_radix(digits, 16).unwrap_or(b'?');
        format!("{out}{}{rest}", char::from(byte))
    })
}

/// A project, and the real binary in it.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(TempDir::new().expect("a folder"));
        project.write("prony.toml", "");
        project
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("a file");
    }

    fn prony(&self, arguments: &[&str]) -> CommandOutput {
        let mut prony = Command::new(env!("CARGO_BIN_EXE_prony"));
        prony
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("PRONY_STORE");
        let cache = self.0.path().join("cache");
        CommandOutput::of(
            &prony
                .env("XDG_CACHE_HOME", cache)
                .env("NO_COLOR", "1")
                .output()
                .expect("prony runs"),
        )
    }

    fn drafted(&self, arguments: &[&str]) -> String {
        let ended = self.prony(&[&["new", "contract", "mine"], arguments].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let file = self.0.path().join("contracts/mine/contract.toml");
        schemas::is_valid(&file);
        std::fs::read_to_string(file).expect("a contract")
    }

    /// A valid shop passes, and one with other replies fails.
    fn tells_apart(&self) {
        let right = self.prony(&["check", "mine", "--url", &shop(json!(5))]);
        assert_eq!(right.code, Some(0), "{}\n{}", right.out, right.err);
        let wrong = self.prony(&["check", "mine", "--url", &shop(json!("five"))]);
        assert_eq!(wrong.code, Some(3), "{}\n{}", wrong.out, wrong.err);
    }

    fn contracts(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path().join("contracts"));
        let names = entries.into_iter().flatten().filter_map(Result::ok);
        names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }
}

/// The description of the shop.
pub(crate) const API: &str = r##"openapi: 3.1.0
info: { title: Shop }
paths:
  /items:
    get:
      parameters: [{ name: kind, in: query, required: true, schema: { type: string }, example: tea & more }]
      responses: { "200": { description: ok, content: { application/json: { schema: { $ref: "#/components/schemas/Items" } } } } }
    post:
      requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/Item" } } } }
      responses: { "201": { description: made, content: { application/json: { schema: { $ref: "#/components/schemas/Item" } } } } }
  /items/{id}:
    get:
      parameters: [{ name: id, in: path, required: true, schema: { type: integer, minimum: 7 } }]
      responses: { "200": { description: ok, content: { application/json: { schema: { $ref: "#/components/schemas/Item" } } } } }
components:
  schemas:
    Items:
      type: object
      required: [items]
      properties: { items: { type: array, items: { $ref: "#/components/schemas/Item" } } }
    Item:
      type: object
      required: [name, price]
      properties: { id: { type: integer, readOnly: true }, name: { type: string }, price: { type: number } }
"##;

#[test]
fn a_description_becomes_a_contract() {
    let project = Project::new();
    project.write("api.yaml", API);
    let text = project.drafted(&["--openapi", "api.yaml"]);
    assert!(text.contains("# api.yaml:5, GET /items\n"), "{text}");
    assert!(text.contains("GET /items?kind=tea%20%26%20more"), "{text}");
    project.tells_apart();
    let told = project
        .prony(&["new", "contract", "other", "--openapi", "api.yaml", "--json"])
        .json();
    assert_eq!(told["contract"], "other", "{told}");
    assert_eq!(told["operations"].as_array().map(Vec::len), Some(3), "{told}");
}

#[test]
fn a_har_file_becomes_a_contract() {
    let project = Project::new();
    let entry = |method: &str, url: &str, (status, kind, body): (u16, &str, &str), post: Value| {
        json!({
            "request": { "method": method, "url": url, "postData": post, "headers": [
                { "name": "Host", "value": "x" }, { "name": "Accept", "value": "*/*" }, { "name": "Authorization", "value": "Bearer abc" },
                { "name": "Content-Type", "value": "application/json" } ] },
            "response": { "status": status, "content": { "mimeType": kind, "text": body } }
        })
    };
    let json_type = "application/json; charset=utf-8";
    let items = r#"{"kind":"","items":[{"id":1,"name":"{a} cup","price":5}]}"#;
    let har = json!({ "log": { "version": "1.2", "entries": [
        entry("GET", "http://shop.example/items", (200, json_type, items), Value::Null),
        entry("GET", "http://shop.example/items", (200, json_type, items), Value::Null),
        entry("POST", "http://shop.example/items", (201, json_type, r#"{"id":8,"name":"$pot","price":5}"#),
            json!({ "mimeType": "application/json", "text": "{\"name\":\"$pot\"}" })),
        entry("POST", "http://shop.example/upload", (200, json_type, "{}"),
            json!({ "mimeType": "image/png", "encoding": "base64", "text": "iVBORw0KGgo=" })),
        entry("GET", "http://cdn.example/logo.png", (200, "image/png", "x"), Value::Null),
    ] } });
    project.write("shop.har", &har.to_string());
    let text = project.drafted(&["--har", "shop.har"]);
    for part in [
        "a binary body",
        "1 request(s) to http://cdn.example",
        "Secrets were removed: `Authorization`",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert_eq!(text.matches("[operation.").count(), 2, "{text}");
    project.tells_apart();
}

#[test]
fn lines_of_curl_are_recorded() {
    let project = Project::new();
    let url = shop(json!(5));
    let text = project.drafted(&[
        "--curl",
        "curl 'http://shop.example/items/7' -H 'Accept: application/json'",
        "--curl",
        "curl http://shop.example/login -d user=ada -d 'word=it%27s'",
        "--allow-writes",
        "--record",
        &url,
    ]);
    assert!(
        text.contains("text = \"welcome\"") && text.contains("name = \"jug\""),
        "{text}"
    );
    project.tells_apart();
}

/// A server that remembers which methods it received, and replies 422 to `/search`.
fn watched_shop() -> (String, Arc<Mutex<BTreeSet<String>>>) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let methods = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&methods);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                .await
                .expect("a port");
            sender
                .send(listener.local_addr().expect("an address"))
                .expect("the test waits");
            let reply = move |method: Method, uri: Uri| async move {
                seen.lock().expect("no panic").insert(method.to_string());
                match uri.path() {
                    "/search" => (
                        StatusCode::UNPROCESSABLE_ENTITY,
                        Json(json!({ "detail": "q is too short" })),
                    ),
                    "/items/7" => (StatusCode::OK, Json(json!({ "id": 7 }))),
                    _ => (StatusCode::NOT_FOUND, Json(Value::Null)),
                }
            };
            let routes = axum::Router::new().fallback(reply);
            axum::serve(listener, routes).await.expect("it serves");
        });
    });
    (
        format!("http://{}", receiver.recv().expect("an address")),
        methods,
    )
}

const WRITES: &str = "openapi: 3.0.3
info: { title: Shop }
paths:
  /items/7:
    get: { responses: { '200': { description: ok } } }
    delete: { responses: { '200': { description: ok } } }
    put: { requestBody: { content: { text/plain: { example: x } } }, responses: { '200': { description: ok } } }
  /search:
    get: { responses: { '200': { description: ok } } }
";

#[test]
fn a_recording_changes_nothing_and_expects_no_failure() {
    let project = Project::new();
    project.write("api.yaml", WRITES);
    let (url, received) = watched_shop();
    let ended = project.prony(&[
        "new",
        "contract",
        "mine",
        "--openapi",
        "api.yaml",
        "--record",
        &url,
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in [
        "2 of the requests may change data and were not sent",
        "replied 422 (`{\"detail\":\"q is too short\"}`)",
    ] {
        assert!(ended.err.contains(part), "no `{part}` in {}", ended.err);
    }
    assert!(
        ended.out.contains("3 operations drafted, 1 omitted"),
        "{}",
        ended.out
    );
    let methods = std::mem::take(&mut *received.lock().expect("no panic"));
    assert!(
        methods
            .iter()
            .all(|method| ["GET", "HEAD", "OPTIONS"].contains(&method.as_str())),
        "{methods:?}"
    );
    let text =
        std::fs::read_to_string(project.0.path().join("contracts/mine/contract.toml")).expect("a contract");
    assert!(
        text.contains("DELETE /items/7") && !text.contains("status = 422"),
        "{text}"
    );

    let all = [
        "new",
        "contract",
        "all",
        "--openapi",
        "api.yaml",
        "--record",
        &url,
        "--allow-writes",
        "--json",
    ];
    let told = project.prony(&all).json();
    assert_eq!(told["omitted"].as_array().map(Vec::len), Some(1), "{told}");
    assert!(received.lock().expect("no panic").contains("DELETE"));
}

/// One GET is drafted, and no case of the check that follows writes.
#[test]
fn a_draft_of_one_get_sends_no_other_methods() {
    let project = Project::new();
    let (url, received) = watched_shop();
    let ended = project.prony(&["new", "contract", "mine", "--record", &format!("{url}/items/7")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let methods = received.lock().expect("no panic").clone();
    assert!(
        methods
            .iter()
            .all(|method| ["GET", "HEAD", "OPTIONS"].contains(&method.as_str())),
        "{methods:?}"
    );
    let failing = project.prony(&["new", "contract", "other", "--record", &format!("{url}/search")]);
    assert!(
        failing.code != Some(0) && failing.err.contains("no request got a reply that is a success"),
        "{failing:?}"
    );
    assert_eq!(project.contracts(), ["mine"]);
}

/// `/items/7` as it is asked by a recording without a reply, and by commands in a file.
#[test]
fn replies_that_no_source_has_are_recorded() {
    let url = shop(json!(5));
    let request = json!({ "method": "GET", "url": "http://shop.example/items/7", "headers": [] });
    let entries = [
        json!({ "request": request }),
        json!({ "request": request, "response": { "status": 0 } }),
    ];
    let har = json!({ "log": { "entries": entries } }).to_string();
    for (source, file, text) in [
        ("--har", "shop.har", har.as_str()),
        (
            "--curl",
            "@calls.sh",
            "# mine\ncurl -fsSL http://shop.example/items/7 | jq .\n",
        ),
    ] {
        let project = Project::new();
        project.write(file.trim_start_matches('@'), text);
        let guessed = project.prony(&["new", "contract", "guessed", source, file]);
        assert_eq!(guessed.code, Some(0), "{guessed:?}");
        let text = project.drafted(&[source, file, "--record", &url]);
        assert!(
            text.contains("name = \"jug\"") && !text.contains("a guess"),
            "{text}"
        );
        project.tells_apart();
    }
}

#[test]
fn a_draft_counts_what_it_has_and_what_not() {
    let project = Project::new();
    let items = json!([
        { "name": "whole", "request": "http://shop.example/items" },
        { "name": "part", "request": { "url": "http://shop.example/items", "header": [{ "key": "X", "value": "{{x}}" }] } },
        { "name": "bad method", "request": { "method": "GE T", "url": "http://shop.example/items" } },
        { "name": "file", "request": { "method": "POST", "url": "http://shop.example/items", "body": { "mode": "file", "file": { "src": "a" } } } },
    ]);
    project.write(
        "c.json",
        &json!({ "info": { "name": "c" }, "item": items }).to_string(),
    );
    let ended = project.prony(&["new", "contract", "mine", "--postman", "c.json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .out
            .contains("2 operations drafted, 1 of them partially, 2 omitted"),
        "{ended:?}"
    );
    for part in [
        "c.json:1, `bad method`: left out: ",
        "c.json:1: left out: `file`: ",
    ] {
        assert!(ended.err.contains(part), "no `{part}` in {}", ended.err);
    }
    let text =
        std::fs::read_to_string(project.0.path().join("contracts/mine/contract.toml")).expect("a contract");
    assert!(text.contains("# c.json:1: left out: `file`: "), "{text}");
    let told = project
        .prony(&["new", "contract", "other", "--postman", "c.json", "--json"])
        .json();
    assert_eq!(told["operations"], json!(["whole", "part"]));
    assert_eq!(told["partial"], json!(["part"]));
    assert_eq!(told["omitted"].as_array().map(Vec::len), Some(2), "{told}");
}

#[test]
fn what_differs_between_two_replies_becomes_a_type() {
    let project = Project::new();
    let ended = project.prony(&[
        "new",
        "contract",
        "mine",
        "--record",
        &format!("{}/visits", shop(json!(5))),
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in [
        "getVisits: visit: 0 and then 1: integer",
        "getVisits: id: `00000000` and then `00000001`: digits",
    ] {
        assert!(ended.err.contains(part), "no `{part}` in {}", ended.err);
    }
    let schemas =
        std::fs::read_to_string(project.0.path().join("contracts/mine/schemas.json")).expect("schemas");
    assert!(schemas.contains("\"const\": \"the shop\""), "{schemas}");
    project.tells_apart();
}

#[test]
fn a_collection_of_postman_becomes_a_contract() {
    let project = Project::new();
    let collection = json!({
        "info": { "name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
        "variable": [{ "key": "base", "value": "http://shop.example" }],
        "auth": { "type": "bearer", "bearer": [{ "key": "token", "value": "{{token}}" }] },
        "item": [{ "name": "items", "item": [
            { "name": "One item", "request": { "method": "GET", "url": { "raw": "{{base}}/items/:id", "variable": [{ "key": "id", "value": "7" }] } },
              "response": [{ "name": "ok", "code": 200, "header": [{ "key": "Content-Type", "value": "application/json" }],
                "body": "{\"id\":7,\"name\":\"jug\",\"price\":5}" }] },
            { "name": "Log in", "request": { "method": "POST", "url": "{{base}}/login", "body": { "mode": "urlencoded",
                "urlencoded": [{ "key": "user", "value": "ada" }, { "key": "word", "value": "it's" }] } }, "response": [] },
            { "name": "Upload", "request": { "method": "POST", "url": "{{base}}/up", "body": { "mode": "file", "file": { "src": "/a" } } } }
        ] }]
    });
    project.write("shop.json", &collection.to_string());
    let text = project.drafted(&["--postman", "shop.json"]);
    for part in [
        "[operation.One_item]",
        "Authorization = \"Bearer {token}\"",
        "left out: `Upload`: its body is the file `/a`",
        "200 is a guess",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    project.tells_apart();
}

#[test]
fn nothing_half_written_stays() {
    let project = Project::new();
    project.write("broken.yaml", "openapi: 3.1.0\npaths:\n  /a: [\n");
    project.write("no.har", "{\"log\": {}}");
    project.write("empty.json", "{\"info\": {}, \"item\": []}");
    std::fs::write(project.0.path().join("binary"), [0xff, 0xfe, 0]).expect("a file");
    for (arguments, expected) in [
        (["--openapi", "broken.yaml"], "broken.yaml:"),
        (["--openapi", "missing.yaml"], "cannot read missing.yaml"),
        (["--openapi", "binary"], "it is not UTF-8"),
        (["--har", "no.har"], "no.har:1: not a HAR file"),
        (["--postman", "empty.json"], "has no request"),
        (
            ["--curl", "curl --nothing http://h/"],
            "--curl number 1: `--nothing` is not supported",
        ),
        (["--record", "ftp://127.0.0.1:1/"], "http:// or https://"),
        (
            ["--record", "http://127.0.0.1:1/"],
            "is the server running? Nothing was written",
        ),
    ] {
        let ended = project.prony(&[&["new", "contract", "mine"], arguments.as_slice()].concat());
        assert!(
            ended.code != Some(0) && ended.err.contains(expected),
            "{expected}: {ended:?}"
        );
        assert!(
            project.contracts().is_empty(),
            "{arguments:?} left {:?}",
            project.contracts()
        );
    }
    project.drafted(&[]);
    let again = project.prony(&["new", "contract", "mine"]);
    assert!(
        again.code == Some(2) && again.err.contains("exists already\n  → Choose another name"),
        "{again:?}"
    );
    let bad = project.prony(&["new", "contract", "My Api"]);
    assert!(
        bad.code == Some(2) && bad.err.contains("lower-case letters"),
        "{bad:?}"
    );
    assert_eq!(project.contracts(), ["mine"]);
}

/// Address space of a draft, KiB: the program alone takes a third of it.
const ADDRESS_SPACE: u64 = 1_500_000;

/// An OpenAPI description of a GET, and of a POST whose body has this schema.
fn with_body(schema: &str, rest: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{title: a}}\npaths:\n  /b: {{get: {{responses: {{'200': {{}}}}}}}}\n  /a:\n    post:\n      requestBody: {{content: {{application/json: {{schema: {schema}}}}}}}\n      responses: {{'200': {{}}}}\n{rest}"
    )
}

/// Descriptions of endless values.
fn endless() -> [(&'static str, String); 3] {
    let schemas = (0..26).fold("components:\n  schemas:\n".to_owned(), |text, level| {
        let below = format!("{{$ref: '#/components/schemas/S{}'}}", level + 1);
        text + &format!(
            "    S{level}: {{type: object, required: [a, b], properties: {{a: {below}, b: {below}}}}}\n"
        )
    }) + "    S26: {type: string}\n";
    let lists = (0..6).fold("{type: string}".to_owned(), |items, _| {
        format!("{{type: array, minItems: 100, items: {items}}}")
    });
    [
        (
            "exponential.yaml",
            with_body("{$ref: '#/components/schemas/S0'}", &schemas),
        ),
        ("lists.yaml", with_body(&lists, "")),
        (
            "letters.yaml",
            with_body("{type: string, minLength: 1000000000}", ""),
        ),
    ]
}

/// Runs `prony new contract mine` with a file, in little memory.
fn drafted_in_little_memory(project: &Project, source: &str, (file, text): (&str, &str)) -> CommandOutput {
    if !file.starts_with('/') {
        project.write(file, text);
    }
    let limited = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" new contract mine {source} {file}");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &limited, env!("CARGO_BIN_EXE_prony")])
        .current_dir(project.0.path())
        .env("XDG_CACHE_HOME", project.0.path().join("cache"));
    CommandOutput::of(&shell.output().expect("sh"))
}

/// Without a limit, each of these files takes all memory or all time that there is.
#[test]
fn a_small_file_cannot_take_all_memory() {
    for (file, text) in endless() {
        let project = Project::new();
        let ended = drafted_in_little_memory(&project, "--openapi", (file, &text));
        assert_eq!(ended.code, Some(0), "{file}: {ended:?}");
        let written = project.0.path().join("contracts/mine/contract.toml");
        let written = std::fs::read_to_string(written).expect("a contract");
        let mut lines = written.lines();
        let remark = lines.find(|line| line.contains("the sample of its request is cut here"));
        assert!(
            remark.is_some_and(|line| line.contains(&format!("{file}:"))),
            "{file}: {remark:?}"
        );
        assert!(written.contains("http = \"GET /b\""), "{file}");
    }
    let laughs = (1..30).fold("a0: &a0 lol\n".to_owned(), |text, level| {
        let below = format!("*a{}, ", level - 1).repeat(10);
        text + &format!("a{level}: &a{level} [{below}]\n")
    });
    let deep = |open: &str| open.repeat(1_000_000);
    for (source, file, text, said) in [
        (
            "--openapi",
            "laughs.yaml",
            laughs,
            "anchors and aliases repeat more than 16 MiB",
        ),
        (
            "--openapi",
            "deep.yaml",
            deep("["),
            "deep.yaml:1: not YAML: recursion limit",
        ),
        (
            "--openapi",
            "nested.yaml",
            format!("a: {}", deep("[")),
            "nested.yaml:1: not YAML: recursion limit",
        ),
        (
            "--har",
            "deep.har",
            deep("{\"log\":"),
            "deep.har:1: not JSON: recursion limit",
        ),
        (
            "--postman",
            "deep.json",
            deep("{\"item\":["),
            "deep.json:1: not JSON: recursion limit",
        ),
        (
            "--har",
            "/dev/zero",
            String::new(),
            "/dev/zero: it is larger than 128 MiB",
        ),
    ] {
        let ended = drafted_in_little_memory(&Project::new(), source, (file, &text));
        assert_eq!(ended.code, Some(2), "{file}: {ended:?}");
        assert!(ended.err.contains(said), "{file}: {ended:?}");
    }
}

#[test]
fn a_draft_can_be_interrupted() {
    let project = Project::new();
    let pipe = project.0.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo")
            .success()
    );
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        let mut prony = Command::new(env!("CARGO_BIN_EXE_prony"));
        let mut child = prony
            .args(["new", "contract", "mine", "--openapi", "pipe"])
            .current_dir(project.0.path())
            .stderr(Stdio::null())
            .spawn()
            .expect("prony starts");
        // Opens once the other side reads, and never writes.
        let _writer = std::fs::OpenOptions::new()
            .write(true)
            .open(&pipe)
            .expect("a reader");
        signal(&child, name);
        until("prony has ended", || child.try_wait().expect("a child").is_some());
        assert_eq!(child.wait().expect("a child").signal(), Some(number));
    }
    assert!(project.contracts().is_empty());
}
