//! A service of the hello contract with a selectable fault.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io::Write as _;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Number of answered requests.
static ANSWERED: AtomicU64 = AtomicU64::new(0);
/// Memory that is never freed, for `Fault::HogsAfter`.
static HELD: Mutex<Vec<u8>> = Mutex::new(Vec::new());

#[derive(Clone, Copy)]
pub(crate) enum Fault {
    None,
    UnreadyFor(u64),
    OneByteShort,
    DiesAfter(u64),
    WrongAfter(u64),
    HogsAfter(u64),
    /// Under load it exits when a client disconnects before the reply.
    DiesOfHangUp,
}

pub(crate) fn serve(behaviour: &[&str]) {
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let mut fault = Fault::None;
    match behaviour {
        ["ok"] => {}
        ["late", ms] => std::thread::sleep(Duration::from_millis(number(ms))),
        ["unready", count] => fault = Fault::UnreadyFor(number(count)),
        ["short"] => fault = Fault::OneByteShort,
        ["dies", count] => fault = Fault::DiesAfter(number(count)),
        ["degrades", count] => fault = Fault::WrongAfter(number(count)),
        ["hogs", count] => fault = Fault::HogsAfter(number(count)),
        ["dies-of-hang-up"] => fault = Fault::DiesOfHangUp,
        ["never"] => loop {
            std::thread::park();
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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(listen(fault));
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

async fn listen(fault: Fault) {
    let variable = |name: &str| std::env::var(name).expect("prony sets it");
    let address = format!("{}:{}", variable("HOST"), variable("PORT"));
    let listener = tokio::net::TcpListener::bind(&address)
        .await
        .expect("the port is free");
    serve_on(listener, fault).await;
}

pub(crate) async fn serve_on(listener: tokio::net::TcpListener, fault: Fault) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        tokio::spawn(async move {
            let served = AtomicU64::new(0);
            let served = &served;
            let answer = move |request| async move {
                if matches!(fault, Fault::DiesOfHangUp) {
                    answer_is_due(served.fetch_add(1, Ordering::Relaxed)).await;
                }
                Ok::<_, Infallible>(answer(&request, fault))
            };
            let _ = hyper::server::conn::http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), hyper::service::service_fn(answer))
                .await;
        });
    }
}

/// Delays the reply. A connection that has `served` some requests belongs to the load and not to a probe: if it is closed
/// meanwhile, the service exits.
async fn answer_is_due(served: u64) {
    struct Due;
    impl Drop for Due {
        fn drop(&mut self) {
            eprintln!("a client hung up");
            std::process::exit(3);
        }
    }
    let due = (served >= 5).then(|| Due);
    tokio::time::sleep(Duration::from_millis(5)).await;
    std::mem::forget(due);
}

fn answer(request: &Request<Incoming>, fault: Fault) -> Response<Full<Bytes>> {
    let count = ANSWERED.fetch_add(1, Ordering::Relaxed);
    let mut body = "Hello, World!";
    let mut status = StatusCode::OK;
    match fault {
        Fault::UnreadyFor(most) if count < most => status = StatusCode::SERVICE_UNAVAILABLE,
        Fault::OneByteShort => body = "Hello, World",
        Fault::DiesAfter(most) if count >= most => {
            eprintln!("an unexpected error");
            std::process::exit(3);
        }
        Fault::WrongAfter(most) if count >= most => body = "Hello, Word!!",
        Fault::HogsAfter(most) if count >= most => {
            HELD.lock()
                .expect("one thread")
                .extend(std::iter::repeat_n(1, 1 << 20));
        }
        _ => {}
    }
    if decoded(request.uri().path()) != "/api/test" {
        (status, body) = (StatusCode::NOT_FOUND, "nothing here");
    } else if request.method() != Method::GET && request.method() != Method::HEAD {
        (status, body) = (StatusCode::METHOD_NOT_ALLOWED, "read only");
    }
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// Decodes the percent encoding of a path.
fn decoded(path: &str) -> String {
    let mut bytes = path.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let hex: Vec<u8> = if byte == b'%' {
            bytes.by_ref().take(2).collect()
        } else {
            Vec::new()
        };
        let code = std::str::from_utf8(&hex)
            .ok()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(code.unwrap_or(byte));
    }
    String::from_utf8_lossy(&out).into_owned()
}
