//! TLS for clients: which certificates it trusts, its own identity, what it offers, and errors that say what
//! to do.
//!
//! The generator and the client that checks services both read their TLS settings here, so that these mean the same for
//! both. This module opens no socket and encrypts nothing. Start at [`TlsConfig`].

pub mod session;
mod session_store;
mod trust;
mod tunnel;

use prony_load::{Protocol, Target, Tls, TlsVersion};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error, RootCertStore};
use session_store::SessionStore;
use std::io;
use std::sync::Arc;
use trust::Trust;
use tunnel::ConnectRequest;

/// TLS cannot be used; the text says why and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(pub String);

/// TLS settings of connections to a service. Connections that share them resume each other's sessions where the service
/// allows it, as a returning client does.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    client: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    wanted: RequiredAlpn,
    /// Set if a proxy is in front of the service.
    connect: Option<ConnectRequest>,
}

/// The protocol that the service must agree to.
#[derive(Debug, Clone, Copy)]
pub struct RequiredAlpn(Option<&'static [u8]>);

impl TlsConfig {
    /// Trusts the given certificates, or the machine's own if there are none (`SSL_CERT_FILE` overrides them), unless
    /// any certificate is accepted.
    pub fn new(tls: &Tls, protocol: Protocol) -> Result<Self, TlsError> {
        Self::with_trust(tls, &[alpn_of(protocol)], trust_of(tls)?)
    }

    /// The same for a connection on which the service chooses between HTTP/2 and HTTP/1.1.
    pub fn negotiated(tls: &Tls) -> Result<Self, TlsError> {
        let both = [Protocol::Http2, Protocol::Http1].map(alpn_of);
        Self::with_trust(tls, &both, trust_of(tls)?)
    }

    /// The same for a connection that offers these protocols, in this order, and takes any answer.
    pub fn offering(tls: &Tls, offered: &[&'static [u8]]) -> Result<Self, TlsError> {
        let config = Self::with_trust(tls, offered, trust_of(tls)?)?;
        Ok(Self {
            wanted: RequiredAlpn(None),
            ..config
        })
    }

    /// Connections to this target, which may be behind a proxy.
    #[must_use]
    pub fn to(self, target: &Target) -> Self {
        Self {
            connect: target
                .connect
                .proxy
                .as_ref()
                .map(|proxy| ConnectRequest::new(target, proxy)),
            ..self
        }
    }

    /// Trusts only these certificates, unless any certificate is accepted.
    pub fn with_roots(tls: &Tls, protocol: Protocol, roots: RootCertStore) -> Result<Self, TlsError> {
        let trust = if tls.insecure {
            Trust::Any
        } else {
            Trust::Roots(Arc::new(roots))
        };
        Self::with_trust(tls, &[alpn_of(protocol)], trust)
    }

    fn with_trust(tls: &Tls, offered: &[&'static [u8]], trust: Trust) -> Result<Self, TlsError> {
        let provider = Arc::new(provider_of(tls));
        let server_name = ServerName::try_from(tls.server_name.clone())
            .map_err(|_| TlsError(format!("`{}` is not a server name", tls.server_name)))?;
        let versions = match tls.choices.version {
            None => rustls::DEFAULT_VERSIONS,
            Some(TlsVersion::V1_2) => &[&rustls::version::TLS12],
            Some(TlsVersion::V1_3) => &[&rustls::version::TLS13],
        };
        let versions: &[&'static rustls::SupportedProtocolVersion] = if tls.choices.uniform {
            &[&rustls::version::TLS13]
        } else {
            versions
        };
        let trusting = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|error| TlsError(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(trust.verifier(provider)?);
        let mut client = match &tls.choices.identity {
            None => trusting.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = trust::identity_of(identity)?;
                trusting.with_client_auth_cert(chain, key).map_err(|error| {
                    TlsError(format!("the files of --cert and --key do not match: {error}"))
                })?
            }
        };
        client.resumption = if tls.choices.whole_handshakes {
            Resumption::disabled()
        } else {
            Resumption::store(Arc::new(SessionStore::new()))
        };
        client.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
        Ok(Self {
            client: Arc::new(client),
            server_name,
            wanted: RequiredAlpn((offered == [H2]).then_some(H2)),
            connect: None,
        })
    }

    /// The configuration for rustls.
    pub const fn client(&self) -> &Arc<ClientConfig> {
        &self.client
    }

    /// The name that is sent to the service and must be in its certificate.
    pub const fn server_name(&self) -> &ServerName<'static> {
        &self.server_name
    }

    /// The protocol that the service must agree to.
    pub const fn wanted(&self) -> RequiredAlpn {
        self.wanted
    }
}

/// What is offered: everything, or what all services must agree to.
fn provider_of(tls: &Tls) -> CryptoProvider {
    let all = ring::default_provider();
    if !tls.choices.uniform {
        return all;
    }
    CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![ring::kx_group::X25519],
        ..all
    }
}

/// The certificates of a PEM text, DER, in its order.
pub fn certificates(pem: &str) -> Result<Vec<Vec<u8>>, TlsError> {
    let certificates = trust::authorities_of(pem)?.into_iter();
    Ok(certificates.map(|certificate| certificate.to_vec()).collect())
}

fn trust_of(tls: &Tls) -> Result<Trust, TlsError> {
    Ok(match &tls.cacert {
        _ if tls.insecure => Trust::Any,
        Some(pem) => Trust::Given(trust::authorities_of(pem)?),
        None => Trust::Roots(trust::native_roots()?),
    })
}

/// HTTP/2 in ALPN.
const H2: &[u8] = b"h2";

/// The name of a protocol in ALPN.
const fn alpn_of(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http1 | Protocol::WebSocket => b"http/1.1",
        Protocol::Http2 | Protocol::Grpc => H2,
    }
}

impl RequiredAlpn {
    /// Checks the protocol that the service selected (ALPN). For HTTP/1.1 it need not select any.
    pub fn agrees(self, agreed: Option<&[u8]>) -> Result<(), TlsError> {
        match self.0 {
            Some(wanted) if agreed != Some(wanted) => Err(TlsError(
                "the service does not offer HTTP/2 in its TLS handshake (ALPN `h2`): use HTTP/1.1".into(),
            )),
            _ => Ok(()),
        }
    }
}

/// Error for a service that answers a plain request with TLS.
pub const SPEAKS_TLS: &str = "the service speaks TLS on this port: write the URL as https://…";

/// How to accept any certificate.
const ANY: &str = "accept any certificate with --insecure (`insecure = true` in a service.toml)";

/// Explains an error of rustls.
pub fn explain(error: &Error) -> TlsError {
    TlsError(match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => format!(
            "TLS: the service's certificate is not trusted, because no authority that this machine trusts has signed it \
             ({error}): trust its issuer with --cacert FILE (`cacert` in a service.toml) or through SSL_CERT_FILE, or {ANY}"
        ),
        // rustls has no name for this one: the certificate of an authority, which `openssl req -x509` makes.
        Error::InvalidCertificate(CertificateError::Other(other))
            if other.to_string().contains("CaUsedAsEndEntity") =>
        {
            format!(
                "TLS: the service's certificate is not trusted, because it is self-signed: trust it with --cacert FILE \
                 (`cacert` in a service.toml), or {ANY}"
            )
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("TLS: {error}: use a name in the URL that the certificate covers, or {ANY}"),
        Error::InvalidCertificate(_) => format!("TLS: {error}: {ANY}"),
        Error::InvalidMessage(_) => format!(
            "TLS: the received data is not TLS ({error}): does the service speak TLS on this port? If not, write the URL \
             as http://…"
        ),
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => format!(
            "TLS: the service does not offer the requested protocol in its handshake (ALPN; {error}): choose \
             another one"
        ),
        Error::AlertReceived(AlertDescription::CertificateRequired) => format!(
            "TLS: the service requires a client certificate ({error}): `prony load` sends one with --cert and \
             --key, a check cannot"
        ),
        _ => format!("TLS: {error}"),
    })
}

/// Explains an I/O error of a handshake.
pub fn explain_io(error: &io::Error) -> TlsError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(error) => explain(error),
        None => TlsError(format!(
            "TLS: the connection ended during the handshake ({error}): does the service speak TLS on this port?"
        )),
    }
}
