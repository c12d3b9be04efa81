//! Servers that end connections: at a bad moment, early, gracefully. Each request has the right outcome, and the load
//! continues.

use crate::toy::{HELLO, MS, Server, arrivals, fails, job, read_request, run};
use prony_generator::EngineError;
use prony_load::{Load, Protocol, Spacing, TransportChoice};
use prony_records::{Recording, WarningKind};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

on_both_transports!(
    requests_behind_an_announced_close_are_sent_again,
    requests_that_idle_connections_lose_are_retried,
    retries_can_be_switched_off,
    goaway_before_any_request_costs_one_connection,
    a_server_that_always_sends_goaway_at_once_is_reported,
    over_tls_a_bad_greeting_costs_one_connection,
    a_tls_server_without_http2_is_reported,
    over_tls_a_body_until_the_end_needs_close_notify,
    over_tls_close_notify_ends_a_body_before_the_socket_closes,
);

fn warns_of(recording: &Recording, part: &str) -> bool {
    recording
        .warnings
        .iter()
        .any(|warning| warning.text.contains(part))
}

fn assert_all_valid(recording: &Recording) {
    assert!(recording.requests.valid > 0, "{recording:#?}");
    assert_eq!(recording.outcomes.errors(), 0, "{recording:#?}");
}

/// A closed load of this size that ends after this number of replies.
fn with_request_limit(
    server: &Server,
    transport: TransportChoice,
    (connections, in_flight): (u32, u32),
    requests: u64,
) -> prony_load::Job {
    let mut job = job(server.address, transport);
    job.load = Load::closed(connections, in_flight);
    job.limits.requests = Some(requests);
    (job.phases.measurement_ns, job.timeout_ns) = (30_000 * MS, 20_000 * MS);
    job
}

/// Like nginx with `keepalive_requests 10`.
fn requests_behind_an_announced_close_are_sent_again(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        let mut reader = BufReader::new(stream);
        for left in (0..10).rev() {
            if read_request(&mut reader).is_none() {
                return;
            }
            let reply = if left == 0 {
                HELLO.replace("Content-Type", "Connection: close\r\nContent-Type")
            } else {
                HELLO.to_owned()
            };
            if writer.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
        // Keep reading, so that closing resets no data in flight.
        let _ = writer.shutdown(Shutdown::Write);
        let _ = reader.read_to_end(&mut Vec::new());
    });
    let recording = run(&with_request_limit(&server, transport, (2, 8), 400));
    assert_all_valid(&recording);
    assert_eq!(recording.requests.valid, 400);
    assert!(warns_of(&recording, "were resent"), "{:?}", recording.warnings);
    assert_eq!(recording.connections.retried, 0);
}

/// Replies to four requests on each connection, and closes it when the fifth arrives, like an idle timeout that fires
/// just then.
fn closing_at_the_fifth() -> Server {
    Server::new(|stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        let mut reader = BufReader::new(stream);
        for left in (0..5).rev() {
            if read_request(&mut reader).is_none() || left == 0 || writer.write_all(HELLO.as_bytes()).is_err()
            {
                return;
            }
        }
    })
}

fn requests_that_idle_connections_lose_are_retried(transport: TransportChoice) {
    let server = closing_at_the_fifth();
    let recording = run(&with_request_limit(&server, transport, (1, 1), 40));
    assert_all_valid(&recording);
    // Ten connections have four replies each; the last one has no fifth request.
    assert_eq!(recording.connections.retried, 9);
    let reported = recording
        .warnings
        .iter()
        .find(|warning| warning.kind == WarningKind::Retried);
    assert!(
        reported.is_some_and(|warning| warning.text.contains("9 requests")),
        "{:?}",
        recording.warnings
    );
}

fn retries_can_be_switched_off(transport: TransportChoice) {
    let server = closing_at_the_fifth();
    let mut job = with_request_limit(&server, transport, (1, 1), 40);
    job.limits.no_retry = true;
    let recording = run(&job);
    assert_eq!((recording.outcomes.valid, recording.outcomes.reset), (32, 8));
    assert_eq!(recording.connections.retried, 0);
}

/// An HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn go_away(last: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), [0; 4]].concat())
}

/// Reads the preface of an HTTP/2 client.
fn preface(stream: &mut impl Read) -> Option<()> {
    stream.read_exact(&mut [0; 24]).ok()
}

/// Replies to HTTP/2 requests, but at most `most`, and announces that with GOAWAY.
fn serve_http2(stream: &mut (impl Read + Write), most: u64) -> Option<()> {
    stream.write_all(&frame(4, 0, 0, &[])).ok()?;
    let mut answered = 0;
    while answered < most {
        let mut header = [0; 9];
        stream.read_exact(&mut header).ok()?;
        let [_, a, b, c] = [0, header[0], header[1], header[2]];
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).ok()?;
        let id = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        match header[3] {
            1 => {
                answered += 1;
                let mut reply = frame(1, 4, id, &[0x88]);
                reply.extend(frame(0, 1, id, b"hello"));
                if answered == most {
                    reply.extend(go_away(id));
                }
                stream.write_all(&reply).ok()?;
            }
            4 if header[4] & 1 == 0 => stream.write_all(&frame(4, 1, 0, &[])).ok()?,
            _ => {}
        }
    }
    Some(())
}

/// A server that numbers the connections with an HTTP/2 preface, from 0.
fn http2(serve: impl Fn(TcpStream, u64) + Send + Sync + 'static) -> Server {
    let count = AtomicU64::new(0);
    Server::new(move |mut stream, _| {
        if preface(&mut stream).is_some() {
            serve(stream, count.fetch_add(1, Ordering::SeqCst));
        }
    })
}

fn send_goaway_at_once(stream: &mut TcpStream) {
    let _ = stream.write_all(&[frame(4, 0, 0, &[]), go_away(0)].concat());
    // The client has to end the connection.
    let _ = stream.read_to_end(&mut Vec::new());
}

fn goaway_before_any_request_costs_one_connection(transport: TransportChoice) {
    let server = http2(|mut stream, number| {
        if number == 2 {
            send_goaway_at_once(&mut stream);
        } else if serve_http2(&mut stream, 5).is_some() {
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let mut job = with_request_limit(&server, transport, (1, 1), 50);
    job.protocol = Protocol::Http2;
    let recording = run(&job);
    assert_eq!(
        (recording.outcomes.valid, recording.outcomes.connect_error),
        (49, 1),
        "{recording:#?}"
    );
}

fn a_server_that_always_sends_goaway_at_once_is_reported(transport: TransportChoice) {
    let server = http2(|mut stream, _| send_goaway_at_once(&mut stream));
    let mut job = with_request_limit(&server, transport, (2, 1), 50);
    job.protocol = Protocol::Http2;
    let error = fails(&job);
    assert!(matches!(error, EngineError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("GOAWAY"), "{error}");
}

type Tls = StreamOwned<ServerConnection, TcpStream>;

/// A server over TLS.
fn over_tls(alpn: &[&str], serve: impl Fn(Tls) + Send + Sync + 'static) -> Server {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a certificate and its key");
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let config = Arc::new(config);
    Server::new(move |stream, _| {
        let connection = ServerConnection::new(Arc::clone(&config)).expect("a server");
        serve(StreamOwned::new(connection, stream));
    })
}

fn tls_job(server: &Server, transport: TransportChoice, protocol: Protocol) -> prony_load::Job {
    let mut job = with_request_limit(server, transport, (1, 1), 20);
    job.protocol = protocol;
    job.target.tls = Some(prony_load::Tls {
        server_name: "localhost".into(),
        insecure: true,
        cacert: None,
        choices: prony_load::TlsChoices::default(),
    });
    job
}

/// A plain HTTP/1.1 response and `close_notify` in one segment, as sent by a draining proxy.
fn refuse(stream: &mut Tls) {
    let connection = &mut stream.conn;
    let refusal = b"HTTP/1.1 503 Draining\r\nConnection: close\r\n\r\n";
    connection.writer().write_all(refusal).expect("memory");
    connection.send_close_notify();
    let mut sealed = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut sealed).expect("memory");
    }
    let _ = stream.sock.write_all(&sealed);
    let _ = stream.sock.read_to_end(&mut Vec::new());
}

fn over_tls_a_bad_greeting_costs_one_connection(transport: TransportChoice) {
    let count = AtomicU64::new(0);
    let server = over_tls(&["h2"], move |mut stream| {
        if preface(&mut stream).is_none() {
            return;
        }
        if count.fetch_add(1, Ordering::SeqCst) == 2 {
            return refuse(&mut stream);
        }
        if serve_http2(&mut stream, 20).is_some() {
            let _ = stream.sock.read_to_end(&mut Vec::new());
        }
    });
    let mut job = tls_job(&server, transport, Protocol::Http2);
    job.load = Load::Open {
        arrival: arrivals(200.0, Spacing::Even),
        connections: 1,
        in_flight: 1,
        backlog: 1_000_000,
        members: None,
    };
    job.limits.requests = Some(200);
    let recording = run(&job);
    // Requests that waited at that moment had no connection; all others get a reply.
    assert_eq!(
        recording.requests.valid + recording.outcomes.connect_error,
        200,
        "{:?}",
        recording.outcomes
    );
    assert!(recording.requests.valid > 150, "{:?}", recording.outcomes);
}

fn a_tls_server_without_http2_is_reported(transport: TransportChoice) {
    let server = over_tls(&["h2"], |mut stream| {
        if preface(&mut stream).is_some() {
            refuse(&mut stream);
        }
    });
    let error = fails(&tls_job(&server, transport, Protocol::Http2));
    assert!(error.to_string().contains("answers in HTTP/1.1"), "{error}");
}

/// Replies with a body that ends with the connection, and calls `end`. Then it waits until the client closes the socket.
fn close_delimited(end: impl Fn(&mut Tls) + Send + Sync + 'static) -> Server {
    over_tls(&[], move |mut stream| {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello");
        end(&mut stream);
        let _ = stream.sock.read_to_end(&mut Vec::new());
    })
}

fn send_close_notify(stream: &mut Tls) {
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

fn over_tls_a_body_until_the_end_needs_close_notify(transport: TransportChoice) {
    let server = close_delimited(|stream| {
        let _ = stream.sock.shutdown(Shutdown::Write);
    });
    let recording = run(&tls_job(&server, transport, Protocol::Http1));
    assert_eq!(recording.outcomes.unexpected, 20, "{:?}", recording.outcomes);
    let reply = &recording.unexpected_replies[0];
    assert!(reply.got.contains("close_notify"), "{reply:?}");

    let server = close_delimited(|stream| {
        send_close_notify(stream);
        let _ = stream.sock.shutdown(Shutdown::Write);
    });
    assert_all_valid(&run(&tls_job(&server, transport, Protocol::Http1)));
}

/// RFC 8446, section 6.1: `close_notify` ends the server's data, so a client must not wait for the end of the TCP stream. The
/// check reads it the same way: `close_notify_ends_a_body_before_the_socket_closes` in its tests.
fn over_tls_close_notify_ends_a_body_before_the_socket_closes(transport: TransportChoice) {
    let server = close_delimited(send_close_notify);
    let job = tls_job(&server, transport, Protocol::Http1);
    let recording = run(&job);
    assert_all_valid(&recording);
    assert_eq!(recording.requests.valid, 20);
    let slowest = recording.service_time_ns.expect("replies").max;
    assert!(slowest < job.timeout_ns / 4, "{slowest} ns");
}
