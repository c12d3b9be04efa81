//! A server that is already running, named by its URL, for commands that call it without loading it.

use super::args::TrustArgs;
use super::resolve;
use crate::exit::bad_input;
use anyhow::anyhow;
use prony_config::target;
use prony_load::{Protocol, Target};
use prony_protocols::tls::TlsConfig;

/// The server at a URL, and the path of the URL. Reports errors in the named files before anything is sent.
pub(crate) fn server(url: &str, args: &TrustArgs) -> anyhow::Result<(Target, String)> {
    let (mut target, path) = target::parse(url, args.insecure).map_err(bad_input)?;
    resolve::trust(&mut target, args).map_err(bad_input)?;
    if let Some(tls) = &target.tls {
        TlsConfig::new(tls, Protocol::Http1).map_err(bad_input)?;
    }
    Ok((target, path))
}

impl TrustArgs {
    /// Rejects these options if there is no URL to which they apply.
    pub(crate) fn without_url(&self, switch: &str) -> anyhow::Result<()> {
        match self.typed() {
            None => Ok(()),
            Some(typed) => Err(bad_input(anyhow!(
                "{typed} applies to the server of {switch} https://…: add {switch}, or set `cacert` or `insecure` in the \
                 service.toml of a service with a `url`"
            ))),
        }
    }
}
