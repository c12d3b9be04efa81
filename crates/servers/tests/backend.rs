//! Tests of the relay's backend over plain sockets.

use prony_servers::Backend;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_millis(1);
/// Longer than anything in these tests can take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(20);

fn authority(backend: &Backend) -> String {
    backend.url().trim_start_matches("http://").to_owned()
}

/// Sends a request on its own connection and returns the whole reply; empty if the connection was closed without one.
fn ask(authority: &str, head: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}

fn header<'a>(reply: &'a str, name: &str) -> Option<&'a str> {
    reply
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn it_answers_204_with_the_digest_of_what_it_received() {
    let backend = Backend::start(SOON).expect("a backend");
    let authority = authority(&backend);
    let reply = ask(&authority, "POST /a?b=c", "body").expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 204 "), "{reply}");
    // SHA-256 of "POST /a?b=c\n\nbody": Host, Connection and Content-Length do not count.
    let digest = "2638c9573a50f5f31bb1570f4c835bde6a429bab5c30f7f07ad653468e20650f";
    let told = header(&reply, "prony-digest").expect("a digest");
    assert_eq!(told, digest);
    assert_eq!(
        header(
            &ask(&authority, "POST /a?b=c", "body").expect("a reply"),
            "prony-digest"
        ),
        Some(told)
    );
    for (head, body) in [
        ("PUT /a?b=c", "body"),
        ("POST /a?b=d", "body"),
        ("POST /a?b=c", "bode"),
    ] {
        let other = ask(&authority, head, body).expect("a reply");
        assert_ne!(header(&other, "prony-digest"), Some(told), "{head} {body}");
    }
}

#[test]
fn it_describes_what_it_received() {
    let backend = Backend::start(SOON).expect("a backend");
    let reply = ask(&authority(&backend), "POST /received/x?y=1", "abc").expect("a reply");
    let (_, body) = reply.split_once("\r\n\r\n").expect("a body");
    let description: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(
        description,
        serde_json::json!({
            "method": "POST",
            "target": "/received/x?y=1",
            "headers": {},
            "body_bytes": 3,
            "body_sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        })
    );
}

#[test]
fn it_answers_as_it_is_told() {
    let backend = Backend::start(SOON).expect("a backend");
    let authority = authority(&backend);
    let reply = ask(
        &authority,
        "POST /answer?status=418&type=text/plain&body=a%20b&header=x-a:1",
        "",
    )
    .expect("a reply");
    assert!(
        reply.starts_with("HTTP/1.1 418 ") && reply.ends_with("\r\n\r\na b"),
        "{reply}"
    );
    assert_eq!(header(&reply, "x-a"), Some("1"));
    assert_eq!(header(&reply, "content-type"), Some("text/plain"));
    let chunked = ask(&authority, "POST /answer?body=abcd&chunks=2", "").expect("a reply");
    assert!(chunked.ends_with("2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"), "{chunked}");
    assert_eq!(ask(&authority, "POST /answer?hang_up=1", "").expect("closed"), "");
}

#[test]
fn delays_overlap() {
    const REQUESTS: u32 = 40;
    let delay = Duration::from_millis(400);
    let backend = Backend::start(delay).expect("a backend");
    let authority = authority(&backend);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..REQUESTS {
            scope.spawn(|| ask(&authority, "POST /", "{}").expect("a reply"));
        }
    });
    let took = began.elapsed();
    assert!(took >= delay, "{took:?}");
    assert!(took < delay * REQUESTS / 2, "one after the other: {took:?}");
}

#[test]
fn it_goes_away_when_told_and_comes_back() {
    let backend = Backend::start(SOON).expect("a backend");
    let authority = authority(&backend);
    let reply = ask(&authority, "POST /answer?status=202&away_ms=600", "").expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 202 "), "{reply}");
    let began = Instant::now();
    let until = |wanted: bool| {
        while TcpStream::connect(&authority).is_ok() != wanted {
            assert!(began.elapsed() < DEADLINE, "waiting for {wanted}");
            std::thread::yield_now();
        }
    };
    until(false);
    until(true);
    assert!(
        ask(&authority, "POST /", "")
            .expect("a reply")
            .starts_with("HTTP/1.1 204 ")
    );
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = taken.local_addr().expect("an address");
    let error = prony_servers::run(address, SOON, 1, &|_| {}).expect_err("taken");
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}
