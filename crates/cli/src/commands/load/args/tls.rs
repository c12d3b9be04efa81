//! Options for TLS.

use clap::ValueEnum;
use prony_load::TlsVersion;
use std::path::PathBuf;

/// Certificates that TLS connections trust: the same options for every command that takes a URL
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// Accept any server certificate
    #[arg(long, conflicts_with = "cacert", help_heading = "TLS")]
    pub(crate) insecure: bool,
    /// Trust only these PEM certificates
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "TLS")]
    pub(crate) cacert: Option<PathBuf>,
}

impl TrustArgs {
    /// The first of these options that was given.
    pub(crate) fn typed(&self) -> Option<&'static str> {
        match (&self.cacert, self.insecure) {
            (Some(_), _) => Some("--cacert"),
            (None, true) => Some("--insecure"),
            (None, false) => None,
        }
    }
}

/// How TLS is used
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsArgs {
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    /// Client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "key", hide_short_help = true)]
    pub(crate) cert: Option<PathBuf>,
    /// Key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", hide_short_help = true)]
    pub(crate) key: Option<PathBuf>,
    /// TLS server name
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) sni: Option<String>,
    /// Only this TLS version
    #[arg(long, value_name = "VERSION", value_enum, hide_short_help = true)]
    pub(crate) tls: Option<Version>,
    /// Always make a full TLS handshake
    #[arg(long, hide_short_help = true)]
    pub(crate) no_resumption: bool,
}

impl TlsArgs {
    /// The first given option that has no effect without TLS.
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

/// The value of `--tls`.
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
