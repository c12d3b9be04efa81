//! `prony load` over TLS from outside: whom it trusts.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;

/// A server with a certificate that an authority of its own has signed.
struct Server {
    port: u16,
    /// The authority's certificate.
    authority: PathBuf,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, format!("authority of {port}"));
        let authority =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        let key = KeyPair::generate().expect("a key");
        let certificate = CertificateParams::new(["localhost".to_owned()])
            .expect("a name")
            .signed_by(&key, &authority)
            .expect("a certificate");
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
            )
            .expect("a certificate and its key");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("authority.pem");
        std::fs::write(&path, authority.pem()).expect("a file");
        let config = Arc::new(config);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                std::thread::spawn(move || serve(stream, config));
            }
        });
        Self {
            port,
            authority: path,
            _folder: folder,
        }
    }

    fn load(&self, more: &[&str]) -> Output {
        let url = format!("https://localhost:{}/", self.port);
        prony(&[&["load", &url, "-c", "2", "-d", "200ms", "--json"], more].concat())
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>) -> Option<()> {
    let connection = ServerConnection::new(config).ok()?;
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    let mut line = String::new();
    loop {
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
        }
        line.clear();
        stream
            .get_mut()
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            .ok()?;
    }
}

fn prony(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .output()
        .expect("prony runs")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_authority_of_ones_own_is_trusted_when_it_is_named() {
    let server = Server::start();
    let authority = server.authority.to_str().expect("a path");
    let output = server.load(&["--cacert", authority, "--expect", "hello"]);
    assert!(output.status.success(), "{}", told(&output));
    let recording: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(recording["requests"]["valid"].as_u64() > Some(0), "{recording}");
    assert_eq!(recording["requests"]["valid"], recording["requests"]["offered"]);
    assert!(recording["tls_time_ns"]["p50"].as_u64() > Some(0), "{recording}");
    // An authority that did not sign it, and none at all, do not do.
    let other = Server::start();
    let stranger = other.authority.to_str().expect("a path");
    for more in [&["--cacert", stranger][..], &[]] {
        let output = server.load(more);
        assert!(!output.status.success(), "{}", told(&output));
        assert!(told(&output).contains("--cacert"), "{}", told(&output));
    }
}

#[test]
fn a_file_that_names_nobody_is_bad_input() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing").expect("a file");
    let missing = folder.path().join("missing.pem");
    for (path, said) in [(&empty, "holds no certificate"), (&missing, "missing.pem")] {
        let output = server.load(&["--cacert", path.to_str().expect("a path")]);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(said), "{}", told(&output));
    }
    let authority = server.authority.to_str().expect("a path");
    let plain = prony(&["load", "http://127.0.0.1:1/", "--cacert", authority]);
    assert_eq!(plain.status.code(), Some(2), "{}", told(&plain));
    assert!(told(&plain).contains("https://"), "{}", told(&plain));
    let both = server.load(&["--cacert", authority, "--insecure"]);
    assert_eq!(both.status.code(), Some(2), "{}", told(&both));
}
