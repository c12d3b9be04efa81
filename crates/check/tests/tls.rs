//! Correct servers pass over TLS with every protocol, and the end of a TLS connection is read strictly.

use crate::front::{Authority, Front};
use crate::listening::Threads;
use crate::toy::{self, FaultMode};
use crate::{check_and_recheck_at, contract, failures_of, grpc, right};
use bytes::Bytes;
use prony_check::CallReply;
use prony_config::target;
use prony_load::{Protocol, Target};
use rustls::server::WebPkiClientVerifier;
use rustls::{ServerConnection, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

type TlsStream = StreamOwned<ServerConnection, TcpStream>;

fn target_of(front: &Front) -> Target {
    let (mut target, _) = target::parse(&front.url(), false).expect("a URL");
    let pem = std::fs::read_to_string(front.cacert()).expect("a file");
    target.tls.as_mut().expect("https").cacert = Some(pem);
    target
}

#[test]
fn http1_passes() {
    let server = toy::serve(FaultMode::Right, Arc::new(right::hello));
    let front = Front::before(server.address.port(), &["http/1.1"]);
    let reports = check_and_recheck_at(&contract("hello"), &target_of(&front), Protocol::Http1);
    assert_eq!(failures_of(&reports), "");
}

#[test]
fn http2_passes() {
    let front = Front::before(start_hello(), &["h2", "http/1.1"]);
    let reports = check_and_recheck_at(&contract("hello"), &target_of(&front), Protocol::Http2);
    assert_eq!(failures_of(&reports), "");
}

#[test]
fn grpc_passes() {
    let server = grpc::right_twin();
    let front = Front::before(server.address.port(), &["h2"]);
    let reports = check_and_recheck_at(&contract("person"), &target_of(&front), Protocol::Grpc);
    assert_eq!(failures_of(&reports), "");
}

/// Calls a server over TLS whose body ends with the connection. The server calls `end` after the body, and waits until the
/// client closes the socket.
fn call_close_delimited(end: fn(&mut TlsStream)) -> Result<CallReply, String> {
    let authority = Authority::new();
    let config =
        Arc::new(authority.server("localhost", &["http/1.1"], WebPkiClientVerifier::no_client_auth()));
    let server = Threads::start(move |socket| {
        let connection = ServerConnection::new(Arc::clone(&config)).expect("a server");
        let mut stream = StreamOwned::new(connection, socket);
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nHello, World!");
        end(&mut stream);
        let _ = stream.sock.read_to_end(&mut Vec::new());
    });
    let url = format!("https://localhost:{}", server.address.port());
    let (mut target, _) = target::parse(&url, false).expect("a URL");
    let pem = std::fs::read_to_string(authority.file()).expect("a file");
    target.tls.as_mut().expect("https").cacert = Some(pem);
    let single = contract("hello").single("hello", Protocol::Http1, &[], 11);
    prony_check::call(&target, Protocol::Http1, &single.expect("a call"))
}

/// RFC 8446, section 6.1. The generator reads it the same way: `over_tls_close_notify_ends_a_body_before_the_socket_closes`
/// in its tests.
#[test]
fn close_notify_ends_a_body_before_the_socket_closes() {
    let reply = call_close_delimited(|stream| {
        stream.conn.send_close_notify();
        let _ = stream.flush();
    });
    let reply = reply.expect("a complete reply");
    assert_eq!(reply.failure, None);
    assert_eq!(reply.body, b"Hello, World!");
    assert!(reply.took < Duration::from_secs(5), "{:?}", reply.took);
}

#[test]
fn a_body_that_ends_without_close_notify_is_rejected() {
    let error = call_close_delimited(|stream| {
        let _ = stream.sock.shutdown(Shutdown::Write);
    });
    let error = error.expect_err("the body may be truncated");
    assert!(error.contains("close_notify"), "{error}");
}

/// Starts a server of `hello` over HTTP/2 by prior knowledge, which accepts only requests for https. Returns its port.
pub(crate) fn start_hello() -> u16 {
    start_hello_with(h2::server::Builder::new())
}

/// The same with other settings.
pub(crate) fn start_hello_with(settings: h2::server::Builder) -> u16 {
    let (sender, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                .await
                .expect("a port");
            sender
                .send(listener.local_addr().expect("an address").port())
                .expect("the receiver waits");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve_hello(stream, settings.clone()));
            }
        });
    });
    port.recv().expect("it listens")
}

async fn serve_hello(stream: tokio::net::TcpStream, settings: h2::server::Builder) -> Option<()> {
    let mut connection = settings.handshake(stream).await.ok()?;
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let path = request.uri().path().replace("%69", "i");
        let is_secure = request.uri().scheme_str() == Some("https");
        let (status, text) = match (path.as_str(), request.method().as_str()) {
            _ if !is_secure => (421, ""),
            ("/api/test", "GET") => (200, "Hello, World!"),
            ("/api/test", "HEAD") => (200, ""),
            ("/api/test", _) => (405, ""),
            _ => (404, ""),
        };
        let head = http::Response::builder()
            .status(status)
            .header("content-type", "text/plain")
            .header("date", "Thu, 01 Jan 2026 00:00:00 GMT")
            .body(())
            .ok()?;
        let mut stream = respond.send_response(head, false).ok()?;
        stream.send_data(Bytes::from_static(text.as_bytes()), true).ok()?;
    }
    Some(())
}
