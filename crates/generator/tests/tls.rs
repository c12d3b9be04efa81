//! TLS against a real nginx: versions, ALPN, resumption, untrusted certificates.

use crate::wire::nginx::{self, large_body};
use crate::wire::*;
use prony_generator::EngineError;
use prony_load::{Arrival, Load, Profile, Protocol, Rate, Spacing};

const HELLO: &[u8] = b"Hello, World!";

fn hello(port: u16, protocol: Protocol) -> prony_load::Job {
    over_tls(job(port, protocol, (3, 4), expecting(get("/"), HELLO)))
}

#[test]
fn both_versions_carry_both_protocols() {
    for version in ["TLSv1.2", "TLSv1.3"] {
        let server = nginx::start(
            &format!("tls-{version}"),
            "ssl http2",
            &format!("ssl_protocols {version}; keepalive_requests 1000000;"),
        );
        for (protocol, in_flight) in [(Protocol::Http1, 1), (Protocol::Http2, 8)] {
            let mut load = hello(server.port, protocol);
            load.load = Load::closed(3, in_flight);
            on_each_transport(&load, |recording| {
                assert_all_valid(recording);
                // Connections are timed separately from their handshakes, and all of them had one.
                let (connect, tls) = (recording.connect_time_ns, recording.tls_time_ns);
                assert!(tls.is_some_and(|tls| tls.min > 0) && connect.is_some());
            });
        }
    }
}

#[test]
fn bodies_larger_than_a_record_pass_both_ways() {
    let server = nginx::start("tls-large", "ssl http2", "");
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut load = hello(server.port, protocol);
        load.load = Load::closed(2, 1);
        load.workload.operations[0] = expecting(get("/large"), &large_body());
        on_each_transport(&load, assert_all_valid);
        load.workload.operations[0] = expecting(post("/", &large_body()), HELLO);
        on_each_transport(&load, assert_all_valid);
    }
}

#[test]
fn users_resume_their_sessions() {
    // The log has a line per request: `r` if its connection resumed a session, else `.`.
    let folder = folder("tls-resumption");
    let log = folder.join("sessions.log");
    let settings = format!(
        "ssl_session_cache shared:a:1m; ssl_session_tickets on; access_log {} session;",
        log.display()
    );
    let server = nginx::start_with(
        "tls-users",
        "ssl http2",
        &settings,
        "log_format session '$ssl_session_reused';",
    );
    let mut load = hello(server.port, Protocol::Http2);
    load.load = Load::Users {
        arrival: Arrival {
            profile: Profile::Constant {
                rate: Rate::per_second(60.0).expect("a rate"),
            },
            spacing: Spacing::Even,
        },
        requests_per_user: 2,
        think_ns: 0,
        max_users: 50,
    };
    let recording = run(&load).expect("a recording");
    assert_all_valid(&recording);
    assert!(recording.tls_time_ns.is_some());
    drop(server);
    let text = std::fs::read_to_string(&log).expect("the log of sessions");
    let resumed = text.lines().filter(|line| *line == "r").count();
    assert!(
        resumed * 2 > text.lines().count(),
        "{resumed} of {}",
        text.lines().count()
    );
}

#[test]
fn http2_must_be_agreed_on() {
    let server = nginx::start("tls-http1", "ssl", "");
    let error = run(&hello(server.port, Protocol::Http2)).expect_err("nginx offers HTTP/1.1 only");
    assert!(
        error.to_string().contains("ALPN") || error.to_string().contains("NoApplicationProtocol"),
        "{error}"
    );
}

#[test]
fn an_untrusted_certificate_is_refused() {
    let server = nginx::start("tls-strict", "ssl http2", "");
    let mut load = hello(server.port, Protocol::Http1);
    if let Some(tls) = &mut load.target.tls {
        tls.insecure = false;
    }
    let error = run(&load).expect_err("a stranger");
    assert!(error.to_string().contains("--insecure"), "{error}");
}

#[test]
fn a_port_without_tls_is_reported() {
    let server = nginx::start("tls-none", "", "");
    let error = run(&hello(server.port, Protocol::Http1)).expect_err("no TLS");
    assert!(matches!(error, EngineError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("speak TLS"), "{error}");
}
