//! Shared parts of the HTTP/2, gRPC and TLS tests: jobs, runs on every transport, server processes.

#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod go;
pub(crate) mod nginx;
pub(crate) mod peer;
pub(crate) mod tonic;

use prony_generator::EngineError;
use prony_load::{
    Body, BodyRule, Check, Expectation, Job, Load, Operation, PhaseDurations, Protocol, Request, Target,
    Template, Tls, TransportChoice, WarmUp, Workload,
};
use prony_records::Recording;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longest time that a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A request without a body and with no expectation.
pub(crate) fn get(path: &str) -> Operation {
    Operation {
        name: path.to_owned(),
        request: Request {
            method: "GET".into(),
            path: Template::literal(path),
            headers: Vec::new(),
            body: Body::None,
        },
        expect: Expectation::default(),
    }
}

/// A request with a body.
pub(crate) fn post(path: &str, body: &[u8]) -> Operation {
    let mut operation = get(path);
    operation.request.method = "POST".into();
    operation.request.body = Body::Bytes(Template::literal(body.to_vec()));
    operation
}

/// The operation with an expected body.
pub(crate) fn expecting(mut operation: Operation, body: &[u8]) -> Operation {
    operation.expect.body = vec![BodyRule::Exact(Template::literal(body.to_vec()))];
    operation
}

/// A closed load of 300 ms on a local port.
pub(crate) fn job(
    port: u16,
    protocol: Protocol,
    (connections, in_flight): (u32, u32),
    operation: Operation,
) -> Job {
    Job {
        target: Target {
            url: format!("http://127.0.0.1:{port}"),
            host: "127.0.0.1".into(),
            port,
            authority: format!("localhost:{port}"),
            tls: None,
            connect: prony_load::ConnectOptions::default(),
            credentials: None,
        },
        protocol,
        load: Load::closed(connections, in_flight),
        workload: Workload::of(operation),
        phases: PhaseDurations {
            warm_up: WarmUp::FixedNs(0),
            measurement_ns: 300_000_000,
            drain_ns: 10_000_000_000,
        },
        timeout_ns: 10_000_000_000,
        check: Check { share: 1.0, keep: 5 },
        threads: 1,
        cpus: Vec::new(),
        transport: TransportChoice::Epoll,
        interval_ns: 100_000_000,
        seed: 1,
        limits: prony_load::Limits::default(),
        log: None,
        share: None,
        count_replies: false,
    }
}

/// The job with an end after this number of requests, however long a slow machine takes for them.
pub(crate) fn with_request_limit(mut job: Job, requests: u64) -> Job {
    job.limits.requests = Some(requests);
    job.phases.measurement_ns = 20_000_000_000;
    job
}

/// The job over TLS, accepting any certificate.
pub(crate) fn over_tls(mut job: Job) -> Job {
    job.target.tls = Some(Tls {
        server_name: "localhost".into(),
        insecure: true,
        cacert: None,
        choices: prony_load::TlsChoices::default(),
    });
    job
}

pub(crate) fn run(job: &Job) -> Result<Recording, EngineError> {
    let (_commands, none) = mpsc::channel();
    prony_generator::run(job, &mut |_| {}, &none)
}

/// Runs a job on each transport that this kernel supports, and checks each recording.
pub(crate) fn on_each_transport(job: &Job, look: impl Fn(&Recording)) {
    let mut job = job.clone();
    job.transport = TransportChoice::Epoll;
    look(&run(&job).expect("a recording over epoll"));
    job.transport = TransportChoice::IoUring;
    match run(&job) {
        Ok(recording) => look(&recording),
        Err(EngineError::NoIoUring(reason)) => eprintln!("this kernel has no io_uring: {reason}"),
        Err(error) => panic!("over io_uring: {error}"),
    }
}

/// Asserts that every request had a valid reply, and that there were some.
pub(crate) fn assert_all_valid(recording: &Recording) {
    let shown = (&recording.unexpected_replies, &recording.warnings);
    assert_eq!(
        recording.outcomes.errors(),
        0,
        "{:?} {shown:?}",
        recording.outcomes
    );
    assert!(recording.requests.valid > 0, "{:?} {shown:?}", recording.requests);
    assert_eq!(recording.requests.valid, recording.requests.offered);
}

/// Whether a warning contains this text.
pub(crate) fn warns_of(recording: &Recording, part: &str) -> bool {
    recording
        .warnings
        .iter()
        .any(|warning| warning.text.contains(part))
}

/// Creates an empty folder for this test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("engine")
        .join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// A server process, stopped on drop.
pub(crate) struct Server {
    pub(crate) port: u16,
    child: Child,
}

impl Server {
    /// Starts a command and waits until its port accepts connections.
    pub(crate) fn start(mut command: Command, port: u16) -> Self {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("`{program}` cannot be started ({error}): install it"));
        let mut server = Self { port, child };
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = server.child.try_wait().expect("the state of a child") {
                panic!("`{program}` exited at once: {status}");
            }
            assert!(Instant::now() < deadline, "`{program}` does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // nginx has a worker process, which only stops with it on TERM.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").arg(pid).status();
        let deadline = Instant::now() + Duration::from_secs(5);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
