//! Right servers pass through TLS as they do without, whatever is spoken.

use crate::front::Front;
use crate::toy::{self, FaultMode};
use crate::{checked_at, contract, grpc, right, told};
use bytes::Bytes;
use prony_config::target;
use prony_load::{Protocol, Target};

fn at(front: &Front) -> Target {
    let (mut target, _) = target::parse(&front.url(), false).expect("a URL");
    let pem = std::fs::read_to_string(front.cacert()).expect("a file");
    target.tls.as_mut().expect("https").cacert = Some(pem);
    target
}

#[test]
fn http1_passes() {
    let twin = toy::serve(FaultMode::Right, std::sync::Arc::new(right::hello));
    let front = Front::before(twin.address.port(), &["http/1.1"]);
    let reports = checked_at(&contract("hello"), &at(&front), Protocol::Http1);
    assert_eq!(told(&reports), "");
}

#[test]
fn http2_passes() {
    let front = Front::before(hello(), &["h2", "http/1.1"]);
    let reports = checked_at(&contract("hello"), &at(&front), Protocol::Http2);
    assert_eq!(told(&reports), "");
}

#[test]
fn grpc_passes() {
    let twin = grpc::right_twin();
    let front = Front::before(twin.address.port(), &["h2"]);
    let reports = checked_at(&contract("person"), &at(&front), Protocol::Grpc);
    assert_eq!(told(&reports), "");
}

/// A server of `hello` over HTTP/2 by prior knowledge, which takes requests for https alone; gives its port.
fn hello() -> u16 {
    let (tell, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                .await
                .expect("a port");
            tell.send(listener.local_addr().expect("an address").port())
                .expect("somebody waits");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
    });
    port.recv().expect("it listens")
}

async fn serve(stream: tokio::net::TcpStream) -> Option<()> {
    let mut connection = h2::server::handshake(stream).await.ok()?;
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
