//! Both ends in memory: our layer against a rustls server, in pieces of every size.

use super::*;
use prony_load::{Protocol, Tls, TlsChoices, TlsVersion};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};
use std::io::{Read as _, Write as _};

struct Identity {
    server: Arc<ServerConfig>,
    roots: RootCertStore,
    /// The certificate in PEM.
    pem: String,
}

fn identity(versions: &[&'static SupportedProtocolVersion], alpn: &[&[u8]]) -> Identity {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let mut server = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a certificate and its key");
    server.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).expect("a root");
    Identity {
        server: Arc::new(server),
        roots,
        pem: cert.pem(),
    }
}

fn tls(insecure: bool) -> Tls {
    Tls {
        server_name: "localhost".into(),
        insecure,
        cacert: None,
        choices: TlsChoices::default(),
    }
}

/// Both sides of a connection. Bytes that one side wrote reach the other in pieces of `piece` bytes.
struct ConnectedPair {
    client: TlsLayer,
    server: ServerConnection,
    wire: Vec<u8>,
    plain: Vec<u8>,
    /// Bytes that the server read.
    read: Vec<u8>,
    piece: usize,
}

impl ConnectedPair {
    fn new(config: &TlsConfig, server: &Arc<ServerConfig>, piece: usize) -> Self {
        let mut wire = Vec::new();
        let mut client = TlsLayer::new(config).expect("a client");
        client.open(&mut wire).expect("a first flight");
        Self {
            client,
            server: ServerConnection::new(Arc::clone(server)).expect("a server"),
            wire,
            plain: Vec::new(),
            read: Vec::new(),
            piece,
        }
    }

    /// Carries bytes both ways until neither side has any more to send.
    fn run(&mut self) -> Result<(), LayerError> {
        loop {
            let to_server = std::mem::take(&mut self.wire);
            let mut rest = to_server.as_slice();
            while !rest.is_empty() {
                self.server.read_tls(&mut rest).expect("memory");
                // The server's own view of a failed handshake does not matter.
                let _ = self.server.process_new_packets();
                // Returns an error if nothing is left, which is as good as an end.
                let _ = self.server.reader().read_to_end(&mut self.read);
            }
            let mut to_client = Vec::new();
            while self.server.wants_write() {
                self.server.write_tls(&mut to_client).expect("memory");
            }
            if to_client.is_empty() && to_server.is_empty() {
                return Ok(());
            }
            for piece in to_client.chunks(self.piece) {
                self.client.unseal(piece, &mut self.plain, &mut self.wire)?;
            }
        }
    }
}

const BOTH: [&[&SupportedProtocolVersion]; 2] = [&[&rustls::version::TLS12], &[&rustls::version::TLS13]];

#[test]
fn data_passes_in_both_versions_and_any_pieces() {
    for versions in BOTH {
        for piece in [1, 7, 1000, usize::MAX] {
            let Identity { server, roots, .. } = identity(versions, &[b"h2"]);
            let config = TlsConfig::with_roots(&tls(false), Protocol::Http2, roots).expect("a config");
            let mut pair = ConnectedPair::new(&config, &server, piece);
            assert!(!pair.client.is_established());
            pair.run().expect("a handshake");
            assert!(pair.client.is_established());
            let long: Vec<u8> = (0..100_000u32).map(|number| number as u8).collect();
            pair.client.seal(&long, &mut pair.wire).expect("sealed");
            pair.run().expect("data");
            assert_eq!(pair.read, long);
            pair.server.writer().write_all(b"answer").expect("an answer");
            pair.server.send_close_notify();
            pair.run().expect("data");
            assert_eq!(pair.plain, b"answer");
        }
    }
}

#[test]
fn close_notify_ends_the_stream_and_later_bytes_are_ignored() {
    for versions in BOTH {
        let Identity { server, roots, .. } = identity(versions, &[]);
        let config = TlsConfig::with_roots(&tls(false), Protocol::Http1, roots).expect("a config");
        let mut pair = ConnectedPair::new(&config, &server, usize::MAX);
        pair.run().expect("a handshake");
        pair.server.writer().write_all(b"answer").expect("an answer");
        pair.server.send_close_notify();
        let mut to_client = Vec::new();
        while pair.server.wants_write() {
            pair.server.write_tls(&mut to_client).expect("memory");
        }
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        let (last, rest) = to_client.split_last().expect("records");
        let mut unseal = |bytes: &[u8]| pair.client.unseal(bytes, &mut plain, &mut wire);
        assert_eq!(unseal(rest), Ok(PeerStream::Open));
        assert_eq!(unseal(&[*last]), Ok(PeerStream::Ended));
        assert_eq!(unseal(b"no TLS"), Ok(PeerStream::Ended));
        assert_eq!(plain, b"answer");
        assert!(!wire.is_empty(), "close_notify is answered");
    }
}

#[test]
fn a_second_connection_resumes_the_first() {
    for versions in BOTH {
        let Identity { server, roots, .. } = identity(versions, &[b"http/1.1"]);
        let config = TlsConfig::with_roots(&tls(false), Protocol::Http1, roots).expect("a config");
        let mut first = ConnectedPair::new(&config, &server, usize::MAX);
        first.run().expect("a handshake");
        let mut second = ConnectedPair::new(&config, &server, usize::MAX);
        second.run().expect("a handshake");
        assert_eq!(
            (first.client.is_resumed(), second.client.is_resumed()),
            (false, true)
        );
    }
}

#[test]
fn connections_that_are_replaced_at_the_same_time_all_resume() {
    let Identity { server, roots, .. } = identity(&[&rustls::version::TLS13], &[]);
    let config = TlsConfig::with_roots(&tls(false), Protocol::Http1, roots).expect("a config");
    let connect_all = || {
        // All are opened before the first one gets its tickets.
        let mut pairs: Vec<ConnectedPair> = (0..50)
            .map(|_| ConnectedPair::new(&config, &server, usize::MAX))
            .collect();
        for pair in &mut pairs {
            pair.run().expect("a handshake");
        }
        pairs.iter().filter(|pair| pair.client.is_resumed()).count()
    };
    assert_eq!([connect_all(), connect_all(), connect_all()], [0, 50, 50]);
}

#[test]
fn a_stranger_is_refused_unless_any_certificate_is_fine() {
    let Identity { server, .. } = identity(BOTH[1], &[b"h2"]);
    let others = identity(BOTH[1], &[]).roots;
    let strict = TlsConfig::with_roots(&tls(false), Protocol::Http2, others);
    let error = ConnectedPair::new(&strict.expect("a config"), &server, usize::MAX)
        .run()
        .expect_err("a stranger");
    assert!(error.0.contains("--insecure"), "{error}");
    let lax = TlsConfig::new(&tls(true), Protocol::Http2).expect("a config");
    let mut pair = ConnectedPair::new(&lax, &server, usize::MAX);
    pair.run().expect("any certificate");
    assert!(pair.client.is_established());
}

#[test]
fn a_service_without_http2_is_reported() {
    for alpn in [&[][..], &[&b"http/1.1"[..]][..]] {
        let Identity { server, roots, .. } = identity(BOTH[1], alpn);
        let config = TlsConfig::with_roots(&tls(false), Protocol::Grpc, roots).expect("a config");
        let mut pair = ConnectedPair::new(&config, &server, usize::MAX);
        pair.run().expect_err("no HTTP/2");
        assert!(!pair.client.is_established());
    }
    // HTTP/1.1 needs no agreement.
    let Identity { server, roots, .. } = identity(BOTH[1], &[]);
    let config = TlsConfig::with_roots(&tls(false), Protocol::Http1, roots).expect("a config");
    let mut pair = ConnectedPair::new(&config, &server, usize::MAX);
    pair.run().expect("a handshake");
    assert!(pair.client.is_established());
}

#[test]
fn a_server_without_tls_is_reported() {
    let config = TlsConfig::new(&tls(true), Protocol::Http1).expect("a config");
    let mut client = TlsLayer::new(&config).expect("a client");
    let (mut plain, mut wire) = (Vec::new(), Vec::new());
    client.open(&mut wire).expect("a first flight");
    let error = client
        .unseal(b"HTTP/1.1 400 Bad Request\r\n\r\n", &mut plain, &mut wire)
        .expect_err("no TLS");
    assert!(error.0.contains("speak TLS"), "{error}");
}

/// What `openssl req -x509` writes: a self-signed certificate that is marked as an authority. Its PEM, and a server that sends it.
fn self_signed_authority(name: &str) -> (String, Arc<ServerConfig>) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::new([name.to_owned()]).expect("a name");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let cert = params.self_signed(&key).expect("a certificate");
    let der = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let server = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], der)
        .expect("a certificate and its key");
    (cert.pem(), Arc::new(server))
}

#[test]
fn a_self_signed_certificate_that_the_job_brings_is_trusted_as_a_server_s() {
    for (name, trusted) in [("localhost", true), ("elsewhere", false)] {
        let (pem, server) = self_signed_authority(name);
        let tls = Tls {
            cacert: Some(pem),
            ..tls(false)
        };
        let config = TlsConfig::new(&tls, Protocol::Http1).expect("a config");
        let result = ConnectedPair::new(&config, &server, usize::MAX).run();
        assert_eq!(result.is_ok(), trusted, "{name}: {result:?}");
    }
}

#[test]
fn an_unknown_self_signed_certificate_is_reported() {
    let (_, server) = self_signed_authority("localhost");
    let Identity { pem, .. } = identity(BOTH[1], &[b"h2"]);
    let tls = Tls {
        cacert: Some(pem),
        ..tls(false)
    };
    let config = TlsConfig::new(&tls, Protocol::Http1).expect("a config");
    let error = ConnectedPair::new(&config, &server, usize::MAX)
        .run()
        .expect_err("not trusted");
    for part in ["not trusted", "self-signed", "--cacert", "--insecure"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn one_version_alone_is_spoken_where_it_is_asked_for() {
    for (version, both) in [
        (TlsVersion::V1_2, [true, false]),
        (TlsVersion::V1_3, [false, true]),
    ] {
        let mut tls = tls(true);
        tls.choices.version = Some(version);
        let config = TlsConfig::new(&tls, Protocol::Http2).expect("a config");
        for (spoken, fits) in [&rustls::version::TLS12, &rustls::version::TLS13]
            .into_iter()
            .zip(both)
        {
            let Identity { server, .. } = identity(&[spoken], &[b"h2"]);
            let result = ConnectedPair::new(&config, &server, usize::MAX).run();
            assert_eq!(result.is_ok(), fits, "{version:?}: {result:?}");
        }
    }
}

#[test]
fn a_certificate_that_the_job_brings_is_trusted_and_no_other() {
    let CertifiedKey { cert, .. } =
        generate_simple_self_signed(["elsewhere".to_owned()]).expect("a certificate");
    let Identity { server, pem, .. } = identity(BOTH[1], &[b"h2"]);
    for (cacert, trusted) in [(pem, true), (cert.pem(), false)] {
        let tls = Tls {
            cacert: Some(cacert),
            ..tls(false)
        };
        let config = TlsConfig::new(&tls, Protocol::Http2).expect("a config");
        let result = ConnectedPair::new(&config, &server, usize::MAX).run();
        assert_eq!(result.is_ok(), trusted, "{result:?}");
    }
    for nothing in [
        "",
        "no PEM at all",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        let tls = Tls {
            cacert: Some(nothing.to_owned()),
            ..tls(false)
        };
        let error = TlsConfig::new(&tls, Protocol::Http2).expect_err("no certificate");
        assert!(error.0.contains("--cacert"), "{error}");
    }
}
