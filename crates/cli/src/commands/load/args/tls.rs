//! How TLS is spoken, as it is typed.

use clap::ValueEnum;
use prony_load::TlsVersion;
use std::path::PathBuf;

/// Whom a connection with TLS trusts: the same words for every command that takes a URL
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// Accept any certificate
    #[arg(long, conflicts_with = "cacert", help_heading = "TLS")]
    pub(crate) insecure: bool,
    /// Trust the certificates in this file, in PEM, instead of the machine's own: as authorities, or as the server's itself
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "TLS")]
    pub(crate) cacert: Option<PathBuf>,
}

impl TrustArgs {
    /// The first switch that was typed.
    pub(crate) fn typed(&self) -> Option<&'static str> {
        match (&self.cacert, self.insecure) {
            (Some(_), _) => Some("--cacert"),
            (None, true) => Some("--insecure"),
            (None, false) => None,
        }
    }
}

/// How TLS is spoken
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsArgs {
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    /// The generator's own certificate, in PEM, for services that ask for one
    #[arg(long, value_name = "FILE", requires = "key", hide_short_help = true)]
    pub(crate) cert: Option<PathBuf>,
    /// The key of --cert, in PEM
    #[arg(long, value_name = "FILE", requires = "cert", hide_short_help = true)]
    pub(crate) key: Option<PathBuf>,
    /// The name to ask for and to look for in the certificate, instead of the URL's
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) sni: Option<String>,
    /// Speak this version alone
    #[arg(long, value_name = "VERSION", value_enum, hide_short_help = true)]
    pub(crate) tls: Option<Version>,
    /// Make a whole handshake on each connection, instead of resuming an earlier session
    #[arg(long, hide_short_help = true)]
    pub(crate) no_resumption: bool,
}

impl TlsArgs {
    /// The switches that mean nothing without TLS, of those that were typed.
    pub(crate) fn typed(&self) -> Option<&'static str> {
        [
            ("--cacert", self.trust.cacert.is_some()),
            ("--cert", self.cert.is_some()),
            ("--sni", self.sni.is_some()),
            ("--tls", self.tls.is_some()),
            ("--no-resumption", self.no_resumption),
        ]
        .into_iter()
        .find_map(|(name, typed)| typed.then_some(name))
    }
}

/// A version of TLS, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Version {
    /// TLS 1.2
    #[value(name = "1.2")]
    V1_2,
    /// TLS 1.3
    #[value(name = "1.3")]
    V1_3,
}

impl From<Version> for TlsVersion {
    fn from(typed: Version) -> Self {
        match typed {
            Version::V1_2 => Self::V1_2,
            Version::V1_3 => Self::V1_3,
        }
    }
}
