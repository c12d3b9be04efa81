//! `prony load --grpc` without `--proto`: the service describes its methods itself. The servers are built with tonic.

use crate::ports;
use serde_json::Value;
use std::process::{Command, Output};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::service::RoutesBuilder;
use tonic_health::pb::FILE_DESCRIPTOR_SET;
use tonic_reflection::server::Builder;

const METHOD: &str = "grpc.health.v1.Health/Check";

/// Which server reflection a service offers.
#[derive(Clone, Copy)]
enum ReflectionVersion {
    V1,
    V1Alpha,
    Not,
}

/// The health service on a port of its own. It ends when this value is dropped.
struct Service {
    port: u16,
    _runtime: Runtime,
}

fn start(described: ReflectionVersion) -> Service {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let listener = runtime
        .block_on(TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let builder = Builder::configure().register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET);
    let mut routes = RoutesBuilder::default();
    routes.add_service(tonic_health::server::health_reporter().1);
    match described {
        ReflectionVersion::V1 => drop(routes.add_service(builder.build_v1().expect("v1"))),
        ReflectionVersion::V1Alpha => drop(routes.add_service(builder.build_v1alpha().expect("v1alpha"))),
        ReflectionVersion::Not => {}
    }
    let server = tonic::transport::Server::builder().add_routes(routes.routes());
    runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    Service {
        port,
        _runtime: runtime,
    }
}

fn load(port: u16, method: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .args([
            "load",
            &format!("http://127.0.0.1:{port}"),
            "--grpc",
            "--method",
            method,
        ])
        .args(["-n", "20", "-c", "2", "--json"])
        .args(more)
        .output()
        .expect("prony")
}

fn error(output: &Output, code: i32) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

#[test]
fn a_service_describes_its_methods_itself() {
    for described in [ReflectionVersion::V1, ReflectionVersion::V1Alpha] {
        let service = start(described);
        let right = [
            "--message",
            r#"{"service": ""}"#,
            "--expect",
            r#"{"status": "SERVING"}"#,
        ];
        let output = load(service.port, METHOD, &right);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let said: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        assert_eq!(said["outcomes"]["valid"], 20, "{said}");
        // The reply is judged by the type in the service's description.
        let wrong = ["--expect", r#"{"status": "NOT_SERVING"}"#];
        let output = load(service.port, METHOD, &wrong);
        let said: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        assert_eq!(said["outcomes"]["unexpected"], 20, "{said}");
        assert_eq!(said["unexpected_replies"][0]["what"], "body at status", "{said}");
    }
}

/// A service that answers only calls with a token, reflection included.
fn start_guarded() -> Service {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let listener = runtime
        .block_on(TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let builder = Builder::configure().register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET);
    let mut routes = RoutesBuilder::default();
    routes.add_service(tonic_health::server::health_reporter().1);
    routes.add_service(builder.build_v1().expect("v1"));
    let guard = tonic::service::InterceptorLayer::new(|call: tonic::Request<()>| {
        match call.metadata().get("x-pass") {
            Some(pass) if pass == "open-7" => Ok(call),
            _ => Err(tonic::Status::unauthenticated("no pass")),
        }
    });
    let server = tonic::transport::Server::builder()
        .layer(guard)
        .add_routes(routes.routes());
    runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    Service {
        port,
        _runtime: runtime,
    }
}

#[test]
fn metadata_goes_with_the_questions_of_reflection() {
    let service = start_guarded();
    let output = load(service.port, METHOD, &["-H", "x-pass: open-{n:range(7,7)}"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let said: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(said["outcomes"]["valid"], 20, "{said}");
    let refused = error(&load(service.port, METHOD, &[]), 2);
    assert!(refused.contains("grpc-status 16 no pass"), "{refused}");
}

#[test]
fn imports_of_a_proto_file_are_found_in_named_folders() {
    let service = start(ReflectionVersion::Not);
    let folder = tempfile::tempdir().expect("a folder");
    let (types, main) = (folder.path().join("types"), folder.path().join("health.proto"));
    std::fs::create_dir(&types).expect("a folder");
    let message =
        "syntax = \"proto3\"; package grpc.health.v1; message HealthCheckRequest { string service = 1; }";
    std::fs::write(types.join("ask.proto"), message).expect("a file");
    std::fs::write(
        &main,
        "syntax = \"proto3\"; package grpc.health.v1; import \"ask.proto\";
         message HealthCheckResponse { int32 status = 1; }
         service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); }",
    )
    .expect("a file");
    let (types, main) = (types.display().to_string(), main.display().to_string());
    let output = load(service.port, METHOD, &["--proto", &main, "--proto-path", &types]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let missing = error(&load(service.port, METHOD, &["--proto", &main]), 2);
    assert!(
        missing.contains("ask.proto") && missing.contains("health.proto:1:"),
        "{missing}"
    );
}

#[test]
fn a_method_that_reflection_lacks_is_reported() {
    let service = start(ReflectionVersion::V1);
    let unknown = error(&load(service.port, "grpc.health.v1.Missing/Check", &[]), 2);
    assert!(
        unknown.contains("`grpc.health.v1.Missing`") && unknown.contains("known are"),
        "{unknown}"
    );
    let nothing = error(&load(service.port, "grpc.health.v1.Health/Nothing", &[]), 2);
    assert!(
        nothing.contains("no method") && nothing.contains(METHOD),
        "{nothing}"
    );
    let field = error(&load(service.port, METHOD, &["--message", r#"{"name": 1}"#]), 2);
    assert!(
        field.contains("grpc.health.v1.HealthCheckRequest") && field.contains("name"),
        "{field}"
    );
    let silent = start(ReflectionVersion::Not);
    let none = error(&load(silent.port, METHOD, &[]), 2);
    assert!(
        none.contains("no server reflection") && none.contains("--proto FILE"),
        "{none}"
    );
}

#[test]
fn a_server_without_reflection_is_reported() {
    let gone = error(&load(ports::reserved(), METHOD, &[]), 1);
    assert!(gone.contains("cannot connect"), "{gone}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let other = error(&load(port, METHOD, &[]), 2);
    assert!(
        other.contains("does not speak HTTP/2") && other.contains("--proto FILE"),
        "{other}"
    );
}
