//! Explains TLS errors and what to do about them.

use crate::tls::TlsError;
use rustls::{AlertDescription, CertificateError, Error};
use std::io;

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
