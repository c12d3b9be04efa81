//! Destinations and sources of connections: several addresses, several source addresses, a Unix socket.

use crate::toy::{self, HELLO, MS, Server, fails, job, run};
use prony_generator::EngineError;
use prony_load::{ConnectOptions, Job, Load, Protocol, Spacing, Tls, TlsChoices, TransportChoice};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

on_both_transports!(
    every_address_of_the_target_is_used_and_recorded,
    an_unreachable_address_is_omitted_and_reported,
    connections_come_from_every_source_in_turn,
    a_socket_in_the_file_system_is_loaded,
    a_connection_that_takes_too_long_is_a_timeout,
    a_handshake_that_takes_too_long_is_a_timeout,
);

/// Replies on a listener, and records both ends of each connection.
fn listen(listener: TcpListener, seen: Arc<Mutex<Vec<(SocketAddr, SocketAddr)>>>) {
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let ends = (
                stream.peer_addr().expect("a peer"),
                stream.local_addr().expect("an address"),
            );
            seen.lock().expect("no panic").push(ends);
            std::thread::spawn(move || answer(stream));
        }
    });
}

fn answer(stream: TcpStream) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    loop {
        while !lines.next()?.ok()?.is_empty() {}
        writer.write_all(HELLO.as_bytes()).ok()?;
    }
}

/// Listeners on the same port of several addresses.
fn listeners(addresses: [&str; 2]) -> (u16, Vec<TcpListener>) {
    loop {
        let first = TcpListener::bind((addresses[0], 0)).expect("a port");
        let port = first.local_addr().expect("an address").port();
        if let Ok(second) = TcpListener::bind((addresses[1], port)) {
            return (port, vec![first, second]);
        }
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn every_address_of_the_target_is_used_and_recorded(transport: TransportChoice) {
    let (port, listeners) = listeners(["127.0.0.1", "127.0.0.2"]);
    let seen = Arc::default();
    for listener in listeners {
        listen(listener, Arc::clone(&seen));
    }
    let mut job = job(SocketAddr::new(ip("127.0.0.1"), port), transport);
    job.target.connect.addresses = vec![ip("127.0.0.1"), ip("127.0.0.2")];
    job.threads = 2;
    let recording = run(&job);
    let network = recording.network.expect("a network");
    let counts: Vec<_> = network
        .addresses
        .iter()
        .map(|one| (one.address.clone(), one.connections))
        .collect();
    assert_eq!(
        counts,
        [(format!("127.0.0.1:{port}"), 2), (format!("127.0.0.2:{port}"), 2)]
    );
    assert!(network.retransmits.is_some());
    let went_to: BTreeSet<IpAddr> = seen
        .lock()
        .expect("no panic")
        .iter()
        .map(|(_, to)| to.ip())
        .collect();
    assert_eq!(went_to.len(), 2);
}

fn an_unreachable_address_is_omitted_and_reported(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    // No service listens on this port of the second address.
    job.target.connect.addresses = vec![server.address.ip(), ip("127.0.0.77")];
    let recording = run(&job);
    assert_eq!(recording.outcomes.errors(), 0);
    let warning = &recording
        .warnings
        .iter()
        .find(|one| one.text.contains("127.0.0.77"));
    assert!(
        warning.is_some_and(|one| one.text.contains("1 of 2 addresses")),
        "{:?}",
        recording.warnings
    );
    let left_out = &recording.network.expect("a network").addresses[1];
    assert!(left_out.left_out.is_some() && left_out.connections == 0);
}

fn connections_come_from_every_source_in_turn(transport: TransportChoice) {
    let seen = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut job = job(listener.local_addr().expect("an address"), transport);
    listen(listener, Arc::clone(&seen));
    job.target.connect.sources = vec![ip("127.0.0.5"), ip("127.0.0.6")];
    assert_eq!(run(&job).outcomes.errors(), 0);
    let seen = seen.lock().expect("no panic");
    // The first connection is the probe before the load.
    let from = |source: &str| seen.iter().filter(|(from, _)| from.ip() == ip(source)).count();
    assert_eq!((from("127.0.0.5"), from("127.0.0.6")), (2, 2), "{seen:?}");
}

#[test]
fn an_invalid_source_is_reported() {
    let server = Server::answering(HELLO);
    // A documentation address, which no machine has.
    for (source, part) in [
        ("192.0.2.7", "addresses of this machine"),
        ("::1", "address family"),
    ] {
        let mut job = job(server.address, TransportChoice::Epoll);
        job.target.connect.sources = vec![ip(source)];
        let error = fails(&job);
        assert!(matches!(error, EngineError::Job(_)), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

fn a_socket_in_the_file_system_is_loaded(transport: TransportChoice) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || -> Option<()> {
                let mut writer = stream.try_clone().ok()?;
                let mut lines = BufReader::new(stream).lines();
                loop {
                    while !lines.next()?.ok()?.is_empty() {}
                    writer.write_all(HELLO.as_bytes()).ok()?;
                }
            });
        }
    });
    let mut job = job("127.0.0.1:1".parse().expect("an address"), transport);
    job.protocol = Protocol::Http1;
    job.load = Load::closed(2, 1);
    job.target.connect = ConnectOptions {
        unix: Some(path.display().to_string()),
        ..ConnectOptions::default()
    };
    let recording = run(&job);
    assert!(recording.outcomes.valid > 0 && recording.outcomes.errors() == 0);
    let network = recording.network.expect("a network");
    assert_eq!(network.retransmits, None);
    assert!(network.addresses[0].address.starts_with("unix:"));
}

/// Users who arrive for 300 ms, with a connect timeout of 50 ms: much shorter than the timeout of their requests, and
/// than the drain.
fn hurried_users(address: SocketAddr, transport: TransportChoice) -> Job {
    let mut job = job(address, transport);
    job.load = Load::Users {
        arrival: toy::arrivals(40.0, Spacing::Even),
        requests_per_user: 1,
        think_ns: 0,
        max_users: 100,
    };
    (job.timeout_ns, job.phases.drain_ns) = (60_000 * MS, 30_000 * MS);
    job.target.connect.connect_timeout_ns = Some(50 * MS);
    job
}

/// A user whose connection is still in progress at the end of the drain has sent nothing: `dropped`. So a timeout is
/// that of the connection.
fn assert_all_timed_out(job: &Job) {
    let recording = run(job);
    assert!(recording.requests.offered > 0, "{:?}", recording.requests);
    assert_eq!(
        recording.outcomes.timeout, recording.requests.offered,
        "{:?}",
        recording.outcomes
    );
    assert_eq!(recording.requests.sent, 0);
}

fn a_connection_that_takes_too_long_is_a_timeout(transport: TransportChoice) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    // Room for one connection that is never accepted, which the probe before the load uses: later ones get no answer.
    // SAFETY: no memory is involved.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    assert_all_timed_out(&hurried_users(
        listener.local_addr().expect("an address"),
        transport,
    ));
}

fn a_handshake_that_takes_too_long_is_a_timeout(transport: TransportChoice) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut job = hurried_users(listener.local_addr().expect("an address"), transport);
    job.target.tls = Some(Tls {
        server_name: "localhost".into(),
        insecure: true,
        cacert: None,
        choices: TlsChoices::default(),
    });
    assert_all_timed_out(&job);
}

#[test]
fn a_path_that_is_no_socket_is_reported() {
    let mut job = job("127.0.0.1:1".parse().expect("an address"), TransportChoice::Epoll);
    job.target.connect.unix = Some("/no/such/socket".to_owned());
    let error = fails(&job).to_string();
    assert!(error.contains("unix:/no/such/socket"), "{error}");
}
