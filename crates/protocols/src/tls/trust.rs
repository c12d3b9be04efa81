//! Which certificates a connection trusts, and which one it presents.

use crate::tls::TlsError;
use prony_load::Identity;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::sync::{Arc, OnceLock};

/// How errors name the file of certificates to trust.
const CACERT: &str = "--cacert (or of `cacert` in a service.toml)";

/// Which servers a connection trusts.
pub(crate) enum Trust {
    /// Any server.
    Any,
    /// Servers whose certificate one of these has signed.
    Roots(Arc<RootCertStore>),
    /// Servers that present one of these certificates, or one that these have signed.
    Given(Vec<CertificateDer<'static>>),
}

impl Trust {
    pub(crate) fn verifier(
        self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        let (roots, given) = match self {
            Self::Any => return Ok(Arc::new(AnyCertificate(provider))),
            Self::Roots(roots) => (roots, Vec::new()),
            Self::Given(given) => {
                let mut roots = RootCertStore::empty();
                for certificate in &given {
                    roots.add(certificate.clone()).map_err(|error| {
                        TlsError(format!(
                            "a certificate in the file of {CACERT} cannot be used: {error}"
                        ))
                    })?;
                }
                (Arc::new(roots), given)
            }
        };
        let signed = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|error| TlsError(error.to_string()))?;
        Ok(if given.is_empty() {
            signed
        } else {
            Arc::new(PinnedOrIssued { signed, given })
        })
    }
}

/// The certificates to trust, from PEM.
pub(crate) fn authorities_of(pem: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    certificates_of(pem, CACERT)
}

/// The certificates of a PEM text that was read from the file of this switch.
fn certificates_of(pem: &str, switch: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError(format!("the file of {switch} is not PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(TlsError(format!(
            "the file of {switch} holds no certificate: it must be PEM, with -----BEGIN CERTIFICATE-----"
        )));
    }
    Ok(certificates)
}

/// The certificates that this machine trusts. Read once, because there are many and a check opens many connections.
pub(crate) fn native_roots() -> Result<Arc<RootCertStore>, TlsError> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    });
    if roots.is_empty() {
        return Err(TlsError(format!(
            "no trusted certificates were found on this machine: install ca-certificates, name a file with {CACERT} \
             or in SSL_CERT_FILE, or accept any with --insecure (`insecure = true`)"
        )));
    }
    Ok(Arc::clone(roots))
}

/// A certificate chain and its private key.
pub(crate) fn identity_of(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let chain = certificates_of(&identity.certificate, "--cert")?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(|error| {
        TlsError(format!(
            "the file of --key contains no private key in PEM, such as -----BEGIN PRIVATE KEY-----: {error}"
        ))
    })?;
    Ok((chain, key))
}

/// Trusts certificates that a given one has signed, and the given ones themselves. The rules for signed certificates
/// reject a self-signed server certificate that is marked as an authority.
#[derive(Debug)]
struct PinnedOrIssued {
    signed: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for PinnedOrIssued {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let signed = self
            .signed
            .verify_server_cert(leaf, intermediates, name, ocsp, now);
        match signed {
            // Validity dates and names apply to a given certificate too.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }
                | CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. },
            ))
            | Ok(_) => signed,
            Err(_) if self.given.iter().any(|given| given == leaf) => {
                verify_server_name(&ParsedCertificate::try_from(leaf)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            Err(_) => signed,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

/// Accepts every certificate, but still checks that the peer has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
