//! The client against scripted servers: what it writes, what it reads, and how connections end.

use super::*;
use crate::protocol::{Framing, Version};
use prony_load::{ConnectOptions, Part, Template};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// A server that runs this once, for one connection, and gives what it returns.
fn serve<T: Send + 'static>(script: impl FnOnce(TcpStream) -> T + Send + 'static) -> (Client, JoinHandle<T>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("bound");
    let target = Target {
        url: format!("http://{address}/"),
        host: address.ip().to_string(),
        port: address.port(),
        authority: address.to_string(),
        tls: None,
        connect: ConnectOptions::default(),
        credentials: None,
    };
    let thread = std::thread::spawn(move || script(listener.accept().expect("a connection").0));
    (Client::new(&target, Protocol::Http1).expect("a client"), thread)
}

fn request(method: &str, body: prony_load::Body) -> Request {
    Request {
        method: method.to_owned(),
        path: Template::literal("/"),
        headers: Vec::new(),
        body,
    }
}

fn get() -> Request {
    request("GET", prony_load::Body::None)
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Reads until this is there.
fn read_until(stream: &mut TcpStream, end: &[u8]) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    while !all.ends_with(end) {
        let count = stream.read(&mut piece).expect("a request");
        assert_ne!(count, 0, "a whole request");
        all.extend_from_slice(&piece[..count]);
    }
    all
}

const HI: &[u8] = b"HTTP/1.1 200 OK\r\nB: 1\r\na: 2\r\nContent-Length: 2\r\n\r\nhi";

/// What one reply is, after which the server closes the connection.
fn ask_peer(bytes: &'static [u8]) -> Result<Reply, ClientError> {
    let (client, server) = serve(move |mut stream| {
        read_until(&mut stream, b"\r\n\r\n");
        stream.write_all(bytes).expect("sent");
    });
    let reply = client.ask(&get(), deadline());
    server.join().expect("a server");
    reply
}

#[test]
fn a_reply_has_all_fields_of_its_head() {
    let reply = ask_peer(HI).expect("a reply");
    assert_eq!(
        (reply.status, reply.version, reply.framing),
        (200, Version::Http11, Framing::Length)
    );
    let names: Vec<&[u8]> = reply.headers.iter().map(|(name, _)| name.as_slice()).collect();
    assert_eq!(names, [&b"B"[..], b"a", b"Content-Length"]);
    assert_eq!(
        (reply.body.as_slice(), reply.received, reply.closes),
        (&b"hi"[..], HI.len(), false)
    );
    let old = ask_peer(b"HTTP/1.0 200 OK\r\n\r\nhi").expect("a reply");
    assert_eq!(
        (old.version, old.framing, old.closes),
        (Version::Http10, Framing::UntilClose, true)
    );
}

#[test]
fn an_ended_connection_reports_its_progress() {
    assert_eq!(ask_peer(b""), Err(ClientError::Closed));
    assert_eq!(ask_peer(b"HTTP/1.1 200"), Err(ClientError::Cut(12)));
    let short = ask_peer(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi");
    assert_eq!(short, Err(ClientError::Short { got: 2, announced: 3 }));
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi";
    assert_eq!(ask_peer(chunked), Err(ClientError::Cut(chunked.len())));
}

#[test]
fn tls_on_a_port_without_it_is_named() {
    let alert = b"\x15\x03\x01\x00\x02\x02\x46";
    assert_eq!(ask_peer(alert), Err(crate::tls::SPEAKS_TLS.into()));
    let nginx =
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nThe plain HTTP request was sent to HTTPS port";
    assert_eq!(ask_peer(nginx), Err(crate::tls::SPEAKS_TLS.into()));
}

#[test]
fn requests_that_are_started_together_leave_in_one_packet() {
    let (client, server) = serve(|mut stream| {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).expect("requests");
        let requests = String::from_utf8_lossy(&buffer[..count])
            .matches("GET / HTTP/1.1\r\n")
            .count();
        stream.write_all(&HI.repeat(3)).expect("sent");
        requests
    });
    let prepared = client.prepare(&get(), BodyFraming::Length).expect("a request");
    let mut connection = client.connect(deadline()).expect("a connection");
    let none = Parameters::new(&[], 0);
    let tokens = [(); 3].map(|()| connection.start(&prepared, none.values(0)));
    connection.send(Delivery::Whole, deadline()).expect("sent");
    for token in tokens {
        assert_eq!(connection.reply(token, deadline()).expect("a reply").body, b"hi");
    }
    assert_eq!(server.join().expect("a server"), 3);
}

#[test]
fn single_bytes_and_chunks_make_the_same_request() {
    for delivery in [Delivery::Whole, Delivery::SingleBytes] {
        let (client, server) = serve(|mut stream| {
            let request = read_until(&mut stream, b"\r\n0\r\n\r\n");
            stream.write_all(HI).expect("sent");
            String::from_utf8(request).expect("text")
        });
        let body = Template(vec![Part::Literal("x=".into()), Part::Value(0)]);
        let post = request("POST", prony_load::Body::Bytes(body));
        let prepared = client.prepare(&post, BodyFraming::Chunked(2)).expect("a request");
        let mut connection = client.connect(deadline()).expect("a connection");
        let token = connection.start(&prepared, Parameters::new(&[], 0).values(0));
        connection.send(delivery, deadline()).expect("sent");
        assert_eq!(connection.reply(token, deadline()).expect("a reply").status, 200);
        let request = server.join().expect("a server");
        let (head, body) = request.split_once("\r\n\r\n").expect("a head");
        assert!(head.ends_with("Transfer-Encoding: chunked"), "{head}");
        assert_eq!(body, "2\r\nx=\r\n0\r\n\r\n");
    }
}

#[test]
fn a_reply_that_comes_before_the_request_was_read_is_read() {
    let (client, server) = serve(|mut stream| {
        let mut buffer = [0; 1024];
        assert_ne!(stream.read(&mut buffer).expect("the start of a request"), 0);
        let refusal = b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(refusal).expect("sent");
        // It reads on until the client leaves.
        while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
    });
    let body = prony_load::Body::Bytes(Template::literal(vec![b'x'; 32 << 20]));
    let reply = client.ask(&request("POST", body), deadline()).expect("a reply");
    assert_eq!((reply.status, reply.closes), (413, true));
    server.join().expect("a server");
}

#[test]
fn a_used_connection_may_be_closed_without_a_reply() {
    let timeout = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    for notice in [&b""[..], timeout] {
        let (client, server) = serve(move |mut stream| {
            read_until(&mut stream, b"\r\n\r\n");
            stream.write_all(HI).expect("sent");
            stream.write_all(notice).expect("sent");
        });
        let prepared = client.prepare(&get(), BodyFraming::Length).expect("a request");
        let mut connection = client.connect(deadline()).expect("a connection");
        let none = Parameters::new(&[], 0);
        let token = connection.start(&prepared, none.values(0));
        assert_eq!(connection.reply(token, deadline()).expect("a reply").status, 200);
        server.join().expect("a server");
        connection.wait_for_end(deadline()).expect("the end");
        let token = connection.start(&prepared, none.values(0));
        let error = connection.reply(token, deadline()).expect_err("no reply");
        assert!(error.may_resend(), "{error}");
        assert_eq!(connection.unread(), 0);
    }
}

#[test]
fn bytes_without_a_request_are_counted() {
    let (client, server) = serve(|mut stream| {
        stream.write_all(b"hello").expect("sent");
        let _ = stream.read(&mut [0; 16]);
    });
    let mut connection = client.connect(deadline()).expect("a connection");
    connection.wait_for_end(deadline()).expect("what comes");
    assert_eq!(connection.unread(), 5);
    drop(connection);
    server.join().expect("a server");
}

#[test]
fn a_deadline_holds_whatever_comes_meanwhile() {
    let (client, server) = serve(|mut stream| {
        read_until(&mut stream, b"\r\n\r\n");
        while stream.write_all(b"HTTP/1.1 102 Processing\r\n\r\n").is_ok() {}
    });
    let deadline = Instant::now() + Duration::from_millis(200);
    assert_eq!(client.ask(&get(), deadline), Err(ClientError::TimedOut));
    server.join().expect("a server");
}

#[test]
fn a_stream_has_begun_when_something_of_its_body_is_there() {
    let (client, server) = serve(|mut stream| {
        read_until(&mut stream, b"\r\n\r\n");
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("sent");
        stream.write_all(b"data: 1\n\n").expect("sent");
        // Until the client leaves.
        assert_eq!(stream.read(&mut [0; 16]).expect("the end"), 0);
    });
    let prepared = client.prepare(&get(), BodyFraming::Length).expect("a request");
    let mut connection = client.connect(deadline()).expect("a connection");
    let token = connection.start(&prepared, Parameters::new(&[], 0).values(0));
    connection.first_data(token, deadline()).expect("a stream");
    drop(connection);
    server.join().expect("a server");
    let refused = ask_peer(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n").expect("a reply");
    assert_eq!(refused.status, 503);
}
