use std::env;
use std::error::Error;
use std::io;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Agrees on HTTP/2 or HTTP/1.1, with the certificate of TLS_CERT and the key of TLS_KEY.
pub fn acceptor() -> io::Result<TlsAcceptor> {
    let config = config().map_err(io::Error::other)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn config() -> Result<ServerConfig, Box<dyn Error + Send + Sync>> {
    let certificates = CertificateDer::pem_file_iter(env::var("TLS_CERT")?)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(env::var("TLS_KEY")?)?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
