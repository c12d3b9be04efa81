//! Servers with one fault of TLS each, before a correct server of `hello`.

use crate::front::{Authority, Front, provider};
use crate::listening::Threads;
use crate::toy::{self, FaultMode};
use crate::{contract, failures_of, request, right, tls};
use prony_check::{CheckReport, CheckRequest, DeclaredTls, check};
use prony_config::{TlsProtocol, target};
use prony_load::{Protocol, Target};
use rcgen::KeyPair;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;

const BOTH: [TlsProtocol; 2] = [TlsProtocol::H2, TlsProtocol::Http1];

/// What a server got, and what it makes of that.
struct TlsToy {
    authority: Authority,
    /// As it got it, PEM.
    chain: String,
    /// As it sends it.
    sent: Vec<CertificateDer<'static>>,
    key: KeyPair,
    offers: Vec<&'static str>,
    versions: Vec<&'static rustls::SupportedProtocolVersion>,
    behind: u16,
}

impl TlsToy {
    /// A correct server; its backend runs until the test process ends.
    fn of(protocol: Protocol) -> Self {
        let authority = Authority::new();
        let (certificate, key) = authority.signed("localhost");
        let behind = match protocol {
            Protocol::Http2 => tls::start_hello(),
            _ => leaked(toy::serve(FaultMode::Right, Arc::new(right::hello))),
        };
        Self {
            chain: certificate.pem() + &authority.pem(),
            sent: vec![certificate.der().clone(), authority.der().clone()],
            key,
            offers: vec!["h2", "http/1.1"],
            versions: vec![&TLS12, &TLS13],
            behind,
            authority,
        }
    }

    fn http1() -> Self {
        Self {
            offers: vec!["http/1.1"],
            ..Self::of(Protocol::Http1)
        }
    }

    /// The server, and the chain that it got.
    fn start(self) -> (Front, String) {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).expect("a key");
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&self.versions)
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(self.sent, key)
            .expect("a certificate and its key");
        config.alpn_protocols = self.offers.iter().map(|word| word.as_bytes().to_vec()).collect();
        (Front::with(self.authority, config, self.behind), self.chain)
    }

    fn check(self, protocol: Protocol, declared: &[TlsProtocol]) -> CheckReport {
        let (front, chain) = self.start();
        check_at(&target_of(&front), &chain, (protocol, declared))
    }
}

fn leaked(server: Threads) -> u16 {
    let port = server.address.port();
    std::mem::forget(server);
    port
}

fn target_of(front: &Front) -> Target {
    let (mut target, _) = target::parse(&front.url(), false).expect("a URL");
    let tls = target.tls.as_mut().expect("https");
    tls.cacert = Some(std::fs::read_to_string(front.cacert()).expect("a file"));
    tls.choices.uniform = true;
    target
}

fn check_at(target: &Target, chain: &str, (protocol, declared): (Protocol, &[TlsProtocol])) -> CheckReport {
    check(&CheckRequest {
        tls: Some(DeclaredTls {
            protocols: declared,
            certificates: chain,
        }),
        ..request(&contract("hello"), target, protocol)
    })
}

/// The check fails, and says this.
fn rejected(report: CheckReport, expected: &str) {
    let failures = failures_of(&[report]);
    assert!(failures.contains(expected), "no `{expected}` in: {failures}");
}

#[test]
fn a_correct_server_passes_over_each_protocol_and_shows_its_traits() {
    let report = TlsToy::http1().check(Protocol::Http1, &[TlsProtocol::Http1]);
    assert_eq!(failures_of(std::slice::from_ref(&report)), "");
    assert!(
        report.traits["resumes"] && report.traits["refuses 0-RTT"],
        "{:?}",
        report.traits
    );
    assert_eq!(report.row(&toy_id()).protocol.as_deref(), Some("https1"));
    let names: Vec<&str> = report.cases.iter().map(|case| case.name.as_str()).collect();
    for name in ["TLS certificates", "TLS 1.3", "TLS ALPN", "TLS required"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let report = TlsToy::of(Protocol::Http2).check(Protocol::Http2, &BOTH);
    assert_eq!(failures_of(std::slice::from_ref(&report)), "");
    assert_eq!(report.row(&toy_id()).protocol.as_deref(), Some("https2"));
}

fn toy_id() -> prony_records::ServiceId {
    prony_records::ServiceId {
        service: "toy".to_owned(),
        variant: "current".to_owned(),
    }
}

#[test]
fn another_certificate_is_rejected() {
    let toy = TlsToy::http1();
    let (other, key) = toy.authority.signed("localhost");
    let sent = vec![other.der().clone(), toy.authority.der().clone()];
    rejected(
        TlsToy { sent, key, ..toy }.check(Protocol::Http1, &[TlsProtocol::Http1]),
        "leaf: expected the first certificate of TLS_CERT",
    );
}

#[test]
fn a_certificate_for_another_name_is_rejected() {
    let toy = TlsToy::http1();
    let (other, key) = toy.authority.signed("example.org");
    let sent = vec![other.der().clone(), toy.authority.der().clone()];
    rejected(
        TlsToy { sent, key, ..toy }.check(Protocol::Http1, &[TlsProtocol::Http1]),
        "TLS certificates: the certificates of a handshake: handshake",
    );
}

#[test]
fn a_chain_without_its_authority_is_rejected() {
    let mut toy = TlsToy::http1();
    toy.sent.truncate(1);
    rejected(
        toy.check(Protocol::Http1, &[TlsProtocol::Http1]),
        "chain: expected all 2 certificates",
    );
}

#[test]
fn a_certificate_of_another_authority_is_rejected() {
    let other = Authority::new();
    let (certificate, key) = other.signed("localhost");
    let sent = vec![certificate.der().clone(), other.der().clone()];
    let toy = TlsToy::http1();
    rejected(
        TlsToy { sent, key, ..toy }.check(Protocol::Http1, &[TlsProtocol::Http1]),
        "not trusted",
    );
}

#[test]
fn tls_1_2_alone_is_rejected() {
    let mut toy = TlsToy::http1();
    toy.versions = vec![&TLS12];
    rejected(
        toy.check(Protocol::Http1, &[TlsProtocol::Http1]),
        "version: expected TLS 1.3",
    );
}

#[test]
fn a_server_that_ignores_alpn_is_rejected() {
    let mut toy = TlsToy::of(Protocol::Http1);
    toy.offers = Vec::new();
    rejected(toy.check(Protocol::Http2, &BOTH), "agreed: expected h2, got none");
}

#[test]
fn a_server_that_agrees_on_h2_and_speaks_http1_is_rejected() {
    let toy = TlsToy::of(Protocol::Http1);
    let report = toy.check(Protocol::Http2, &BOTH);
    let alpn = report.cases.iter().find(|case| case.name == "TLS ALPN");
    assert!(alpn.expect("a case").passed(), "it agrees on h2");
    assert!(!report.passed());
}

#[test]
fn a_server_that_speaks_h2_without_an_agreement_is_rejected() {
    // The proxy passes the client's HTTP/1.1 on to a server of HTTP/2 alone.
    let mut toy = TlsToy::of(Protocol::Http2);
    toy.offers = vec!["http/1.1"];
    rejected(
        toy.check(Protocol::Http1, &[TlsProtocol::Http1]),
        "no ALPN: reply: expected HTTP/1.1",
    );
}

#[test]
fn h2_with_one_stream_is_rejected() {
    let mut settings = h2::server::Builder::new();
    settings.max_concurrent_streams(1);
    let toy = TlsToy {
        behind: tls::start_hello_with(settings),
        ..TlsToy::of(Protocol::Http2)
    };
    rejected(
        toy.check(Protocol::Http2, &BOTH),
        "streams: expected 100, got a limit of 1 streams",
    );
}

/// A port that serves TLS, and also clear text.
#[test]
fn clear_text_on_the_tls_port_is_rejected() {
    let toy = TlsToy::http1();
    let behind = toy.behind;
    let (front, chain) = toy.start();
    let over_tls = front.port;
    let server = Threads::start(move |socket| {
        let mut first = [0];
        let is_tls = socket.peek(&mut first).is_ok() && first[0] == 22;
        pass(socket, if is_tls { over_tls } else { behind });
    });
    let mut target = target_of(&front);
    target.port = server.address.port();
    rejected(
        check_at(&target, &chain, (Protocol::Http1, &[TlsProtocol::Http1])),
        "TLS required: a request without TLS on the TLS port: status: expected no success, got 200",
    );
}

/// Passes bytes in both directions.
fn pass(mut client: TcpStream, port: u16) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)) else {
        return;
    };
    let copies = client
        .try_clone()
        .and_then(|reader| Ok((reader, server.try_clone()?)));
    let Ok((mut from_client, mut to_server)) = copies else {
        return;
    };
    let forth = thread::spawn(move || copy(&mut from_client, &mut to_server));
    copy(&mut server, &mut client);
    let _ = forth.join();
}

fn copy(from: &mut TcpStream, to: &mut TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
