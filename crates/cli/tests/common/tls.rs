//! TLS servers: a certificate authority for tests, and a proxy that terminates TLS in front of a plain server.
#![allow(dead_code, reason = "each test binary uses its own part")]

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A certificate authority, with a folder for its files.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // The authorities of two tests have different names.
        params
            .distinguished_name
            .push(DnType::CommonName, folder.path().display().to_string());
        let issuer =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        std::fs::write(folder.path().join("authority.pem"), issuer.pem()).expect("a file");
        Self { issuer, folder }
    }

    /// Its own certificate, which clients have to trust.
    pub(crate) fn der(&self) -> &CertificateDer<'static> {
        self.issuer.der()
    }

    /// The same as PEM.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The file with that certificate.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// Writes another file into its folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// A certificate for this name, and its key.
    pub(crate) fn signed(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().expect("a key");
        let certificate = CertificateParams::new([name.to_owned()])
            .expect("a name")
            .signed_by(&key, &self.issuer)
            .expect("a certificate");
        (certificate, key)
    }

    /// The configuration of a server with this name, these protocols (ALPN), and this verifier for client certificates.
    pub(crate) fn server(
        &self,
        name: &str,
        offers: &[&str],
        callers: Arc<dyn ClientCertVerifier>,
    ) -> ServerConfig {
        let (certificate, key) = self.signed(name);
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(callers)
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
            )
            .expect("a certificate and its key");
        config.alpn_protocols = offers.iter().map(|word| word.as_bytes().to_vec()).collect();
        config
    }
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// A proxy that terminates TLS in front of a plain server. It runs until the test process ends.
pub(crate) struct Front {
    pub(crate) port: u16,
    authority: Authority,
}

impl Front {
    /// In front of the server on port `behind`, with a certificate for `localhost`.
    pub(crate) fn before(behind: u16, offers: &[&str]) -> Self {
        let authority = Authority::new();
        let config = authority.server("localhost", offers, WebPkiClientVerifier::no_client_auth());
        Self::with(authority, config, behind)
    }

    /// The same with another configuration.
    pub(crate) fn with(authority: Authority, config: ServerConfig, behind: u16) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("an address").port())
                    .expect("the test waits");
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(pass(acceptor.clone(), stream, behind));
                }
            });
        });
        Self {
            port: told.recv().expect("it listens"),
            authority,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The file with the certificate that must be trusted.
    pub(crate) fn cacert(&self) -> PathBuf {
        self.authority.file()
    }
}

async fn pass(acceptor: TlsAcceptor, stream: TcpStream, behind: u16) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = acceptor.accept(stream).await?;
    let mut server = TcpStream::connect(("127.0.0.1", behind)).await?;
    server.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

/// A path as a command-line argument.
pub(crate) fn typed(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
