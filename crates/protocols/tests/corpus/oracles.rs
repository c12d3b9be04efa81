//! The readings of other libraries.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tungstenite::error::ProtocolError;
use tungstenite::protocol::Role;
use tungstenite::{Error, Message, WebSocket};

/// Bytes between client and server.
const BUFFER: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(20);

/// What becomes of the first head.
pub(crate) fn httparse(bytes: &[u8]) -> String {
    let mut headers = [httparse::EMPTY_HEADER; 512];
    let mut parser = httparse::ParserConfig::default();
    // Off by default, since most of its users are proxies.
    parser.allow_obsolete_multiline_headers_in_responses(true);
    let mut reply = httparse::Response::new(&mut headers);
    match parser.parse_response(&mut reply, bytes) {
        Ok(httparse::Status::Complete(_)) => "complete",
        Ok(httparse::Status::Partial) => "partial",
        Err(_) => "refused",
    }
    .to_owned()
}

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let done = tokio::time::timeout(PATIENCE, work).await;
        done.expect("a library that comes to an end")
    })
}

fn reading(reply: Result<(u16, Bytes), impl std::fmt::Debug>) -> String {
    match reply {
        Ok((status, body)) => format!("{status}: {}", String::from_utf8_lossy(&body)),
        Err(_) => "refused".to_owned(),
    }
}

pub(crate) fn hyper(method: &str, bytes: &[u8]) -> String {
    let (client, server) = duplex(BUFFER);
    on_runtime(async {
        let (reply, ()) = tokio::join!(ask_hyper(method, client), answer(server, bytes));
        reading(reply)
    })
}

async fn ask_hyper(method: &str, stream: DuplexStream) -> Result<(u16, Bytes), hyper::Error> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = http::Request::builder()
        .method(method)
        .uri("/")
        .header("host", "h");
    let reply = sender
        .send_request(request.body(Empty::<Bytes>::new()).expect("a request"))
        .await?;
    let status = reply.status().as_u16();
    Ok((status, reply.into_body().collect().await?.to_bytes()))
}

/// Answers a request of HTTP/1.1 with these bytes, and ends the connection.
async fn answer(mut stream: DuplexStream, bytes: &[u8]) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let read = stream.read_buf(&mut request).await.expect("a request");
        assert_ne!(read, 0, "a whole request");
    }
    // A client that found a fault may have left.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
}

pub(crate) fn h2(method: &str, bytes: &[u8]) -> String {
    let (client, server) = duplex(BUFFER);
    on_runtime(async {
        let (reply, ()) = tokio::join!(ask_h2(method, client), answer_stream(server, bytes));
        reading(reply)
    })
}

async fn ask_h2(method: &str, stream: DuplexStream) -> Result<(u16, Bytes), h2::Error> {
    let mut builder = h2::client::Builder::new();
    let (mut sender, connection) = builder.enable_push(false).handshake::<_, Bytes>(stream).await?;
    tokio::spawn(connection);
    let request = http::Request::builder().method(method).uri("http://h/").body(());
    let (reply, _) = sender.send_request(request.expect("a request"), true)?;
    let reply = reply.await?;
    let (status, mut body, mut all) = (reply.status().as_u16(), reply.into_body(), Vec::new());
    while let Some(piece) = body.data().await {
        all.extend_from_slice(&piece?);
    }
    body.trailers().await?;
    Ok((status, all.into()))
}

/// Answers the first request of HTTP/2 with these frames, and ends the connection.
async fn answer_stream(mut stream: DuplexStream, frames: &[u8]) {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const HEADERS: u8 = 1;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.expect("a preface");
    stream.write_all(&SETTINGS).await.expect("sent");
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header).await.expect("a frame");
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        stream
            .read_exact(&mut vec![0; length])
            .await
            .expect("its payload");
        if header[3] == HEADERS {
            break;
        }
    }
    // A client that found a fault may have left.
    let _ = stream.write_all(frames).await;
    let _ = stream.shutdown().await;
}

/// A connection that has ended, and forgets what is written.
struct OracleEnd;

impl io::Read for OracleEnd {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}

impl io::Write for OracleEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn tungstenite(bytes: &[u8]) -> String {
    let mut socket = WebSocket::from_partially_read(OracleEnd, bytes.to_vec(), Role::Client, None);
    let mut all = Vec::new();
    loop {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        all.push(match socket.read() {
            Ok(Message::Text(message)) => format!("text {}", message.as_str()),
            Ok(Message::Binary(bytes)) => format!("binary {}", text(&bytes)),
            Ok(Message::Ping(bytes)) => format!("ping {}", text(&bytes)),
            Ok(Message::Pong(bytes)) => format!("pong {}", text(&bytes)),
            Ok(Message::Close(frame)) => {
                all.push(frame.map_or_else(
                    || "close".to_owned(),
                    |frame| format!("close {}", u16::from(frame.code)),
                ));
                return all.join("; ");
            }
            Ok(Message::Frame(_)) => unreachable!("frames are not read one by one"),
            Err(Error::ConnectionClosed | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => {
                all.push("end".to_owned());
                return all.join("; ");
            }
            Err(_) => return "refused".to_owned(),
        });
    }
}
