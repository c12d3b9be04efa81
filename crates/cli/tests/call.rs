//! `prony call` with a server that is already running, and with a reference service that it starts.

use crate::ports;
use prony_schema::Schema;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};

/// Starts a server that answers every request in the same way, for the lifetime of the test process.
fn server(status: &'static str, media_type: &'static str, body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream, status, media_type, body));
        }
    });
    address
}

fn answer(stream: TcpStream, status: &str, media_type: &str, body: &str) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    while !lines.next()?.ok()?.is_empty() {}
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    writer.write_all((head + body).as_bytes()).ok()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command
        .arg("call")
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env_remove("PRONY_HOST")
        .env_remove("PRONY_PORT")
        .env("NO_COLOR", "1");
    command
}

fn call(arguments: &[&str]) -> Output {
    command(arguments).output().expect("prony runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {output:?}"))
}

/// The object of `--json`, which must match its schema.
fn checked_json(output: &Output) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/call.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).expect("the schema")).expect("JSON");
    let schema = Schema::compile(&schema).expect("a schema");
    let message = json(output);
    assert_eq!(schema.judge(&message), Ok(()), "{message}");
    message
}

#[test]
fn the_reply_is_printed_and_judged() {
    let url = format!("http://{}", server("200 OK", "text/plain", "Hello, World!"));
    let output = call(&["hello", "hello", "--url", &url]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stdout), "Hello, World!\n");
    let said = text(&output.stderr);
    assert!(
        said.starts_with("HTTP 200 after ") && said.contains("as the contract expects"),
        "{said}"
    );
    let url = format!("http://{}", server("200 OK", "text/plain", "Hello, World"));
    let output = call(&["hello", "hello", "--url", &url]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("not what the contract expects"), "{said}");
}

#[test]
fn the_place_may_come_from_the_environment() {
    let address = server("200 OK", "text/plain", "0 1 1 2");
    let output = command(&["sequence", "fib", "3", "--json"])
        .env("PRONY_HOST", address.ip().to_string())
        .env("PRONY_PORT", address.port().to_string())
        .output()
        .expect("prony runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let message = checked_json(&output);
    assert_eq!(message["request"]["path"], "/api/fib/3");
    assert_eq!(message["reply"], "0 1 1 2");
    assert_eq!(message["as_expected"], true);
    assert_eq!(message["status"], 200);
    assert!(
        message["time_ns"].as_u64().is_some_and(|time| time > 0),
        "{message}"
    );
    assert_eq!(message["headers"]["content-type"], "text/plain");
}

#[test]
fn what_the_contract_does_not_foresee_is_called_and_not_judged() {
    let url = format!("http://{}", server("404 Not Found", "application/json", "{}"));
    let output = call(&["person", "getPerson", "id=77", "--url", &url, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let message = checked_json(&output);
    assert_eq!(message["request"]["path"], "/person/77");
    assert_eq!(
        (&message["status"], &message["as_expected"]),
        (&404.into(), &Value::Null)
    );
    assert_eq!(message["reply"], serde_json::json!({}));
}

#[test]
fn bad_input_is_reported_with_the_alternatives() {
    for (arguments, message) in [
        (
            &["persons", "getPerson"][..],
            "no contract `persons`: known contracts are",
        ),
        (
            &["person", "getPersons"],
            "has no operation `getPersons`: known are",
        ),
        (
            &["person", "getPerson", "1", "2"],
            "has 1 placeholder(s) for a value: id",
        ),
        (
            &["hello", "hello", "--grpc"],
            "has no operation over this protocol `hello`",
        ),
        (
            &["person", "createPerson", "missing"],
            "`{value.missing}` has no value",
        ),
        (
            &["hello", "hello", "--url", "http://127.0.0.1:1/x"],
            "the contract defines the path",
        ),
    ] {
        let output = call(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(
            text(&output.stderr).contains(message),
            "{message}: {}",
            text(&output.stderr)
        );
    }
    let url = format!("http://127.0.0.1:{}", ports::reserved());
    let output = call(&["hello", "hello", "--url", &url]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("no connection"), "{output:?}");
}

/// Builds the service as `cargo xtask services` does, but without the optimisation that takes most of the time.
const UNOPTIMISED: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
];

#[test]
fn a_reference_service_is_started_for_it() {
    let call = |arguments: &[&str]| command(arguments).envs(UNOPTIMISED).output().expect("prony runs");
    let output = call(&["person", "getPerson", "1", "--grpc"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let person = json(&output);
    assert_eq!(person["email"], "romain.hoogmoed@example.com");
    assert_eq!(person["location"]["postCode"], 69217);
    assert!(person.get("picture").is_none_or(Value::is_null), "{person}");
    let said = text(&output.stderr);
    assert!(
        said.contains("gRPC 0 OK after ") && said.contains("-reference/current at 127.0.0.1:"),
        "{said}"
    );
    let output = call(&["person", "getPerson", "77", "--grpc", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(checked_json(&output)["grpc_status"], 5);
}
