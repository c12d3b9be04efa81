//! Toy servers with known behavior, and jobs for them.

#![allow(dead_code, reason = "each test binary uses its own part")]

use prony_generator::EngineError;
use prony_load::{
    Arrival, BodyRule, Check, Expectation, Job, Load, Operation, PhaseDurations, Profile, Protocol, Rate,
    Request, Spacing, Target, Template, TransportChoice, WarmUp, Workload,
};
use prony_records::{Event, Histogram, Recording, Responses};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const MS: u64 = 1_000_000;

/// Creates a test for each transport from a function.
#[macro_export]
macro_rules! on_both_transports {
    ($($name:ident),+ $(,)?) => {
        mod epoll {
            $(#[test] fn $name() { super::$name(prony_load::TransportChoice::Epoll); })+
        }
        mod io_uring {
            $(#[test] fn $name() { super::$name(prony_load::TransportChoice::IoUring); })+
        }
    };
}

/// A server that ends with the test. Each connection has its own thread.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    pub(crate) accepted: Arc<AtomicU64>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves each connection with `serve(stream, number of the connection)`.
    pub(crate) fn new(serve: impl Fn(TcpStream, u64) + Send + Sync + 'static) -> Self {
        Self::on("127.0.0.1:0", serve)
    }

    pub(crate) fn on(address: &str, serve: impl Fn(TcpStream, u64) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, accepted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopping, counting, serve) = (Arc::clone(&stop), Arc::clone(&accepted), Arc::new(serve));
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopping.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                stream.set_nodelay(true).expect("no delay");
                let number = counting.fetch_add(1, Ordering::SeqCst);
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(stream, number));
            }
        });
        Self {
            address,
            stop,
            accepted,
            acceptor: Some(acceptor),
        }
    }

    /// Replies to every request with the same bytes.
    pub(crate) fn answering(reply: &'static str) -> Self {
        Self::new(move |stream, _| {
            answer_all(stream, |_| reply.to_owned());
        })
    }

    /// Stops accepting connections.
    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // The acceptor checks the flag when a connection arrives.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().expect("the acceptor");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A request received by a toy server: its first line and its body.
pub(crate) struct ReceivedRequest {
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Reads the next request; `None` at the end of the connection.
pub(crate) fn read_request(reader: &mut BufReader<TcpStream>) -> Option<ReceivedRequest> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head[before..] == *"\r\n" {
            break;
        }
    }
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")?
                .trim()
                .parse()
                .ok()
        })
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let line = head.lines().next()?.to_owned();
    Some(ReceivedRequest {
        line,
        head,
        body: String::from_utf8(body).ok()?,
    })
}

/// Replies to each request with the result of `reply`, until the connection ends.
pub(crate) fn answer_all(stream: TcpStream, mut reply: impl FnMut(&ReceivedRequest) -> String) {
    let mut writer = stream.try_clone().expect("a second handle");
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        if writer.write_all(reply(&request).as_bytes()).is_err() {
            return;
        }
    }
}

pub(crate) const HELLO: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";

pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

pub(crate) fn get(path: Template) -> Request {
    Request {
        method: "GET".into(),
        path,
        headers: vec![],
        body: prony_load::Body::None,
    }
}

pub(crate) fn operation(name: &str, path: Template, body: &str) -> Operation {
    Operation {
        name: name.into(),
        request: get(path),
        expect: Expectation {
            body: vec![BodyRule::Exact(Template::literal(body))],
            ..Expectation::default()
        },
    }
}

/// A closed load of 4 connections for 300 ms that expects `hello`.
pub(crate) fn job(address: SocketAddr, transport: TransportChoice) -> Job {
    Job {
        target: Target {
            url: format!("http://{address}/"),
            host: address.ip().to_string(),
            port: address.port(),
            authority: address.to_string(),
            tls: None,
            connect: prony_load::ConnectOptions::default(),
            credentials: None,
        },
        protocol: Protocol::Http1,
        load: Load::closed(4, 1),
        workload: Workload::of(operation("hello", Template::literal("/"), "hello")),
        phases: PhaseDurations {
            warm_up: WarmUp::FixedNs(0),
            measurement_ns: 300 * MS,
            drain_ns: 3_000 * MS,
        },
        timeout_ns: 3_000 * MS,
        check: Check { share: 1.0, keep: 3 },
        threads: 1,
        cpus: vec![],
        transport,
        interval_ns: 100 * MS,
        seed: 1,
        limits: prony_load::Limits::default(),
        log: None,
        share: None,
        count_replies: false,
    }
}

/// Arrivals at `rate` per second.
pub(crate) fn arrivals(rate: f64, spacing: Spacing) -> Arrival {
    Arrival {
        profile: Profile::Constant {
            rate: Rate::per_second(rate).expect("a rate"),
        },
        spacing,
    }
}

pub(crate) fn run(job: &Job) -> Recording {
    let (_commands, none) = mpsc::channel();
    let recording = within(Duration::from_mins(1), {
        let job = job.clone();
        move || prony_generator::run(&job, &mut |_: Event| {}, &none)
    })
    .expect("a recording");
    check_sums(&recording);
    recording
}

pub(crate) fn fails(job: &Job) -> EngineError {
    let (_commands, none) = mpsc::channel();
    prony_generator::run(job, &mut |_| {}, &none).expect_err("no recording")
}

/// Checks that each offered request has exactly one outcome, and that the parts add up.
pub(crate) fn check_sums(recording: &Recording) {
    let Recording {
        requests, outcomes, ..
    } = recording;
    assert_eq!(requests.offered, outcomes.total(), "{recording:#?}");
    assert_eq!(requests.valid, outcomes.valid);
    assert!(
        requests.sent <= requests.offered && requests.completed <= requests.sent,
        "{requests:?}"
    );
    let responses = Responses::of(recording).expect("a histogram");
    assert_eq!(responses.len(), requests.offered);
    // Streams cut off by the end of the load are valid, and still open.
    let open = responses.open.as_ref().map_or(0, Histogram::len);
    assert!(responses.valid.len() <= requests.valid && requests.valid <= responses.valid.len() + open);
    assert_eq!(
        recording
            .operations
            .iter()
            .map(|one| one.requests.offered)
            .sum::<u64>(),
        requests.offered
    );
    assert_eq!(
        recording.status_codes.values().sum::<u64>(),
        requests.completed,
        "{:?}",
        recording.status_codes
    );
    let in_time: u64 = recording.intervals.iter().map(|one| one.completed).sum();
    assert_eq!(
        (recording.throughput_per_s * recording.duration_s).round() as u64,
        in_time
    );
}

/// Runs `work` on a separate thread, and panics if it takes too long, so that a hang fails the test.
pub(crate) fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    result.recv_timeout(limit).expect("it hung or panicked")
}

/// The head of a reply that is a chunked stream of server-sent events.
pub(crate) const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

pub(crate) fn event(id: Option<u64>, name: &str, data: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {data}\n\n")
}

/// A chunk of a chunked body.
pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}
