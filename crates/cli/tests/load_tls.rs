//! `prony load` over TLS: which certificates it trusts.

use crate::common::{assert_refused, json_of, listen, prony, reply, stderr_of, talk};
use crate::tls::{Authority, provider};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConnection, StreamOwned};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;

/// A server with a certificate that is signed by an authority of its own.
struct Server {
    port: u16,
    /// The authority's certificate.
    authority: PathBuf,
    /// A client certificate that the authority has signed, and its key.
    caller: [PathBuf; 2],
    _signs: Authority,
}

impl Server {
    fn start() -> Self {
        Self::begin(false)
    }

    /// A server that asks clients for a certificate of its authority.
    fn asking() -> Self {
        Self::begin(true)
    }

    fn begin(asks: bool) -> Self {
        let authority = Authority::new();
        let config = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(authority.der().clone()).expect("a root");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
            authority.server("localhost", &[], verifier.build().expect("a verifier"))
        } else {
            authority.server("localhost", &[], WebPkiClientVerifier::no_client_auth())
        };
        let (caller, caller_key) = authority.signed("caller");
        let caller = [
            authority.write("caller.pem", &caller.pem()),
            authority.write("caller.key", &caller_key.serialize_pem()),
        ];
        let config = Arc::new(config);
        let port = listen(move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).ok()?;
            talk(StreamOwned::new(connection, stream), |_| Some(reply("hello")))
        });
        Self {
            port,
            authority: authority.file(),
            caller,
            _signs: authority,
        }
    }

    fn load(&self, more: &[&str]) -> Output {
        let url = format!("https://localhost:{}/", self.port);
        prony(&[&["load", &url, "-c", "2", "-d", "200ms", "--json"], more].concat())
    }
}

#[test]
fn an_authority_of_ones_own_is_trusted_when_it_is_named() {
    let server = Server::start();
    let authority = server.authority.to_str().expect("a path");
    let output = server.load(&["--cacert", authority, "--expect", "hello"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let recording = json_of(&output);
    assert!(recording["requests"]["valid"].as_u64() > Some(0), "{recording}");
    assert_eq!(recording["requests"]["valid"], recording["requests"]["offered"]);
    assert!(recording["tls_time_ns"]["p50"].as_u64() > Some(0), "{recording}");
    // An authority that did not sign it is not enough, and neither is none.
    let other = Server::start();
    let stranger = other.authority.to_str().expect("a path");
    for more in [&["--cacert", stranger][..], &[]] {
        let output = server.load(more);
        assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
        let failed = json_of(&output);
        assert_eq!(failed["error"]["kind"], "connect", "{failed}");
        assert!(failed.to_string().contains("--cacert"), "{failed}");
    }
}

#[test]
fn a_file_without_a_certificate_is_bad_input() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing").expect("a file");
    let missing = folder.path().join("missing.pem");
    for (path, said) in [(&empty, "holds no certificate"), (&missing, "missing.pem")] {
        let output = server.load(&["--cacert", path.to_str().expect("a path")]);
        assert_refused(&output, said);
    }
    let authority = server.authority.to_str().expect("a path");
    let plain = prony(&["load", "http://127.0.0.1:1/", "--cacert", authority]);
    assert_refused(&plain, "https://");
    let both = server.load(&["--cacert", authority, "--insecure"]);
    assert_eq!(both.status.code(), Some(2), "{}", stderr_of(&both));
    let line = [
        "load",
        "--curl",
        "curl -k https://127.0.0.1:1/",
        "--cacert",
        authority,
    ];
    let both = prony(&line);
    assert_refused(&both, "its -k trusts any");
}

#[test]
fn a_service_that_requires_a_client_certificate_is_reported() {
    let server = Server::asking();
    let [certificate, key] = server
        .caller
        .each_ref()
        .map(|path| path.to_str().expect("a path"));
    let known = server.load(&["--insecure", "--cert", certificate, "--key", key]);
    let recording = json_of(&known);
    assert!(recording["requests"]["valid"].as_u64() > Some(0), "{recording}");
    assert_eq!(recording["requests"]["valid"], recording["requests"]["offered"]);
    // Without a certificate there is no valid reply.
    let unknown = server.load(&["--insecure", "--timeout", "500ms"]);
    let valid = serde_json::from_slice::<Value>(&unknown.stdout).map_or(0, |recording| {
        recording["requests"]["valid"].as_u64().unwrap_or(0)
    });
    assert_eq!(valid, 0, "{}", stderr_of(&unknown));
    for (more, said) in [
        (["--cert", certificate, "--key", certificate], "no private key"),
        (["--cert", key, "--key", key], "holds no certificate"),
    ] {
        let output = server.load(&[&["--insecure"][..], &more].concat());
        assert_refused(&output, said);
    }
}

#[test]
fn the_share_of_resumed_sessions_is_reported() {
    let server = Server::start();
    let handshakes = |more: &[&str]| -> (u64, u64) {
        let url = format!("https://localhost:{}/", server.port);
        let users = [
            "load",
            &url,
            "--insecure",
            "--users",
            "60",
            "--requests-per-user",
            "1",
            "-d",
            "500ms",
            "--json",
        ];
        let output = prony(&[&users[..], more].concat());
        let recording = json_of(&output);
        let count = |name: &str| recording["network"]["tls"][name].as_u64().expect("a number");
        (count("completed"), count("resumed"))
    };
    let (completed, resumed) = handshakes(&[]);
    assert!(resumed > 0 && resumed < completed, "{resumed} of {completed}");
    let (completed, resumed) = handshakes(&["--no-resumption"]);
    assert!(completed > 0 && resumed == 0, "{resumed} of {completed}");
    let (completed, _) = handshakes(&["--tls", "1.2"]);
    assert!(completed > 0);
    // The name that is sent is the one that must be in the certificate.
    let authority = server.authority.to_str().expect("a path");
    let other = server.load(&["--cacert", authority, "--sni", "other.example"]);
    assert_eq!(other.status.code(), Some(3), "{}", stderr_of(&other));
    let failed = json_of(&other)["error"]["text"].to_string();
    assert!(
        failed.contains("other.example") || failed.contains("not valid for name"),
        "{failed}"
    );
}
