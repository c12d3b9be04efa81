//! Errors of TLS in words, with what to do.

use crate::tls::TlsError;
use rustls::{AlertDescription, CertificateError, Error};
use std::io;

/// What to say where a service answers a request without TLS by one with it.
pub const SPEAKS_TLS: &str = "the service speaks TLS on this port: write the URL as https://…";

/// How any certificate is accepted.
const ANY: &str = "accept any certificate with --insecure (`insecure = true` in a service.toml)";

/// An error of rustls.
pub fn explain(error: &Error) -> TlsError {
    TlsError(match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => format!(
            "TLS: the certificate of the service is not trusted, since nobody whom this machine trusts has signed it \
             ({error}): trust its issuer with --cacert FILE (`cacert` in a service.toml) or through SSL_CERT_FILE, or {ANY}"
        ),
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("TLS: {error}: write a name in the URL that the certificate is for, or {ANY}"),
        Error::InvalidCertificate(_) => format!("TLS: {error}: {ANY}"),
        Error::InvalidMessage(_) => format!(
            "TLS: what came is no TLS ({error}): does the service speak TLS on this port? Where it does not, write the URL \
             as http://…"
        ),
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => format!(
            "TLS: the service does not offer the protocol that was asked for in its handshake (ALPN; {error}): choose \
             another one"
        ),
        Error::AlertReceived(AlertDescription::CertificateRequired) => format!(
            "TLS: the service wants to know by a certificate who calls ({error}): `prony load` has one with --cert and \
             --key, a check has none"
        ),
        _ => format!("TLS: {error}"),
    })
}

/// An error of a stream of bytes on which a handshake was made.
pub fn explain_io(error: &io::Error) -> TlsError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(error) => explain(error),
        None => TlsError(format!(
            "TLS: the connection ended within the handshake ({error}): does the service speak TLS on this port?"
        )),
    }
}
