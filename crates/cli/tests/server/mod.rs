//! A server for tests of `prony load`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

/// A server on a port of its own, for as long as the test runs; gives its URL.
pub(crate) fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    format!("http://{address}")
}

/// Answers each request with `hello`, and a path of `/wrong` with something else.
fn serve(stream: TcpStream) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    loop {
        let first = lines.next()?.ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        let body = if first.contains("/wrong") {
            "hullo"
        } else {
            "hello"
        };
        write!(writer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body}").ok()?;
    }
}
