//! A service of the hello contract, and the ways in which one can go wrong. It needs nothing but the standard library, so that
//! the tests judge the product by a server that shares no code with it.

use percent_encoding::percent_decode_str;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Requests answered so far.
static ANSWERED: AtomicU64 = AtomicU64::new(0);
/// What a hog holds.
static HELD: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// What is done to each request.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    None,
    UnreadyFor(u64),
    OneByteShort,
    DiesAfter(u64),
    WrongAfter(u64),
    HogsAfter(u64),
    /// Under load it ends when a client goes without its answer.
    DiesOfHangUp,
}

pub(crate) fn serve(behaviour: &[&str]) {
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let mut fault = Fault::None;
    match behaviour {
        ["ok"] => {}
        ["late", ms] => thread::sleep(Duration::from_millis(number(ms))),
        ["unready", count] => fault = Fault::UnreadyFor(number(count)),
        ["short"] => fault = Fault::OneByteShort,
        ["dies", count] => fault = Fault::DiesAfter(number(count)),
        ["degrades", count] => fault = Fault::WrongAfter(number(count)),
        ["hogs", count] => fault = Fault::HogsAfter(number(count)),
        ["dies-of-hang-up"] => fault = Fault::DiesOfHangUp,
        ["never"] => loop {
            thread::park();
        },
        ["crashes"] => {
            eprintln!("no configuration found");
            std::process::exit(1);
        }
        ["background"] => {
            let own = std::env::current_exe().expect("a path");
            Command::new("setsid")
                .arg("-f")
                .arg(own)
                .args(["serve", "ok"])
                .status()
                .expect("setsid runs");
            return;
        }
        ["prints", bytes] => print(number(bytes)),
        _ => panic!("unknown: {behaviour:?}"),
    }
    let variable = |name: &str| std::env::var(name).expect("prony sets it");
    let address = format!("{}:{}", variable("HOST"), variable("PORT"));
    let listener = TcpListener::bind(&address).expect("the port is free");
    serve_on(&listener, fault);
}

fn print(mut bytes: u64) {
    let line = [b'x'; 4_096];
    let mut out = std::io::stdout().lock();
    while bytes > 0 {
        let length = bytes.min(4_096);
        out.write_all(&line[..length as usize]).expect("written");
        bytes -= length;
    }
    out.write_all(b"\nlistening at last\n").expect("written");
}

pub(crate) fn serve_on(listener: &TcpListener, fault: Fault) {
    for stream in listener.incoming().flatten() {
        let _ = stream.set_nodelay(true);
        // A client that goes away is no error of the service.
        thread::spawn(move || drop(converse(stream, fault)));
    }
}

/// Answers the requests of a connection until the client or a reply ends it.
fn converse(mut stream: TcpStream, fault: Fault) -> std::io::Result<()> {
    let mut input = BufReader::new(stream.try_clone()?);
    for served in 0.. {
        let Some(request) = Request::read(&mut input)? else {
            return Ok(());
        };
        if matches!(fault, Fault::DiesOfHangUp) {
            answer_is_due(&stream, served)?;
        }
        stream.write_all(&answer(&request, fault))?;
        if request.is_last {
            return Ok(());
        }
    }
    Ok(())
}

/// Takes its time; a client that leaves meanwhile is distinguished from a probe by the requests that the connection has `served`.
fn answer_is_due(stream: &TcpStream, served: u64) -> std::io::Result<()> {
    thread::sleep(Duration::from_millis(5));
    stream.set_nonblocking(true)?;
    let is_gone = match stream.peek(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    };
    stream.set_nonblocking(false)?;
    if is_gone && served >= 5 {
        eprintln!("a client hung up");
        std::process::exit(3);
    }
    Ok(())
}

/// What the service looks at in a request.
struct Request {
    method: String,
    path: String,
    /// Whether the connection ends with its reply.
    is_last: bool,
}

impl Request {
    /// The next request with its body; `None`: the client has ended the connection.
    fn read(input: &mut BufReader<TcpStream>) -> std::io::Result<Option<Self>> {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target.split(['?', '#']).next().unwrap_or_default().to_owned();
        let mut request = Self {
            method,
            path,
            is_last: words.next().is_none_or(|version| version == "HTTP/1.0"),
        };
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let mut line = String::new();
            input.read_line(&mut line)?;
            let field = line.trim_end().to_ascii_lowercase();
            match field.split_once(':').map(|(name, value)| (name, value.trim())) {
                Some(("content-length", value)) => length = value.parse().unwrap_or(0),
                Some(("transfer-encoding", value)) => is_chunked = value.ends_with("chunked"),
                Some(("connection", value)) => request.is_last |= value == "close",
                Some(_) => {}
                None => break,
            }
        }
        if is_chunked {
            while skip_chunk(input)? {}
        } else {
            skip(input, length)?;
        }
        Ok(Some(request))
    }
}

fn skip(input: &mut BufReader<TcpStream>, length: u64) -> std::io::Result<()> {
    std::io::copy(&mut input.take(length), &mut std::io::sink()).map(drop)
}

/// Says whether a further chunk follows.
fn skip_chunk(input: &mut BufReader<TcpStream>) -> std::io::Result<bool> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let size = line.trim_end().split(';').next().unwrap_or_default();
    let size = u64::from_str_radix(size, 16).unwrap_or(0);
    skip(input, size + 2)?;
    Ok(size > 0)
}

fn answer(request: &Request, fault: Fault) -> Vec<u8> {
    let count = ANSWERED.fetch_add(1, Ordering::Relaxed);
    let mut body = "Hello, World!";
    let mut status = "200 OK";
    match fault {
        Fault::UnreadyFor(most) if count < most => status = "503 Service Unavailable",
        Fault::OneByteShort => body = "Hello, World",
        Fault::DiesAfter(most) if count >= most => {
            eprintln!("an unexpected error");
            std::process::exit(3);
        }
        Fault::WrongAfter(most) if count >= most => body = "Hello, Word!!",
        Fault::HogsAfter(most) if count >= most => {
            let mut held = HELD.lock().expect("no thread panics with it");
            held.extend(std::iter::repeat_n(1, 1 << 20));
        }
        _ => {}
    }
    if percent_decode_str(&request.path).decode_utf8_lossy() != "/api/test" {
        (status, body) = ("404 Not Found", "nothing here");
    } else if request.method != "GET" && request.method != "HEAD" {
        (status, body) = ("405 Method Not Allowed", "read only");
    }
    let length = body.len();
    let closes = if request.is_last {
        "connection: close\r\n"
    } else {
        ""
    };
    let sent = if request.method == "HEAD" { "" } else { body };
    format!("HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n{closes}\r\n{sent}")
        .into_bytes()
}
