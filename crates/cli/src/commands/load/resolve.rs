//! The target of a load or a call: applies the options for connections and TLS to it, and reads a server that is named by its URL.

use super::args::{ReachArgs, TlsArgs, TrustArgs};
use super::input::{JobError, read};
use crate::exit::bad_input;
use anyhow::anyhow;
use prony_config::target;
use prony_load::{ConnectOptions, DurationText, Identity, Protocol, Proxy, Target};
use prony_protocols::client::Client;
use prony_protocols::tls::TlsConfig;
use prony_runner::secrets;
use std::time::{Duration, Instant};

/// How long a service may take to choose a protocol.
const PATIENCE: Duration = Duration::from_secs(5);

/// The connect options for a target.
pub(super) fn reach(target: &Target, args: &ReachArgs) -> Result<ConnectOptions, JobError> {
    let mut addresses = Vec::new();
    for resolve in &args.resolve {
        let fits = resolve.host.eq_ignore_ascii_case(&target.host) && resolve.port == target.port;
        if !fits {
            return Err(JobError::OtherTarget {
                host: resolve.host.clone(),
                port: resolve.port,
                url: target.url.clone(),
                wanted: format!("{}:{}", target.host, target.port),
            });
        }
        addresses.extend(&resolve.addresses);
    }
    let unix = args.unix.as_ref().map(|path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| JobError::UnixPath(path.display().to_string()))
    });
    Ok(ConnectOptions {
        addresses,
        unix: unix.transpose()?,
        sources: args.source.clone(),
        connect_timeout_ns: args.connect_timeout.map(DurationText::as_ns),
        proxy: args.proxy.as_deref().map(proxy).transpose()?,
    })
}

/// The proxy at a URL.
fn proxy(url: &str) -> Result<Proxy, JobError> {
    let (proxy, path) = target::parse(url, false)?;
    if proxy.tls.is_some() || path != "/" {
        return Err(JobError::Proxy(proxy.url));
    }
    Ok(Proxy {
        host: proxy.host,
        port: proxy.port,
        credentials: proxy.credentials,
    })
}

/// The protocol of a load: as the options say, else what the service chooses in a TLS handshake before the load. If that fails, the
/// load itself reports why.
pub(super) fn protocol(
    target: &Target,
    forced: Option<Protocol>,
    args: &ReachArgs,
) -> Result<Protocol, JobError> {
    let protocol = forced.unwrap_or_else(|| {
        let limit = target
            .connect
            .connect_timeout_ns
            .map_or(PATIENCE, Duration::from_nanos);
        Client::negotiate(target, Instant::now() + limit).unwrap_or(Protocol::Http1)
    });
    let is_http2 = matches!(protocol, Protocol::Http2 | Protocol::Grpc);
    if let Some(switch) = args.of_http2().filter(|_| !is_http2) {
        return Err(JobError::OfHttp2(switch, protocol.title()));
    }
    let is_tunnelled = target.connect.proxy.is_none() || target.tls.is_some();
    if protocol != Protocol::Http1 && !is_tunnelled {
        return Err(JobError::PlainProxy(protocol.title()));
    }
    Ok(protocol)
}

/// Adds the trusted certificates to a target with TLS.
pub(super) fn trust(target: &mut Target, args: &TrustArgs) -> Result<(), JobError> {
    match target.tls.as_mut() {
        Some(tls) => tls.cacert = args.cacert.as_deref().map(read).transpose()?,
        None if args.cacert.is_some() => {
            return Err(JobError::NoTls {
                switch: "--cacert",
                url: target.url.clone(),
            });
        }
        None => {}
    }
    Ok(())
}

/// Applies the TLS options to a target with TLS.
pub(super) fn speak_tls(target: &mut Target, args: &TlsArgs) -> Result<(), JobError> {
    let Some(tls) = target.tls.as_mut() else {
        return match args.typed() {
            Some(switch) => Err(JobError::NoTls {
                switch,
                url: target.url.clone(),
            }),
            None => Ok(()),
        };
    };
    if let Some(name) = &args.sni {
        tls.server_name.clone_from(name);
    }
    if tls.insecure && args.trust.cacert.is_some() {
        return Err(JobError::AnyAndOne);
    }
    tls.choices.version = args.tls.map(Into::into);
    tls.choices.whole_handshakes = args.no_resumption;
    if let (Some(certificate), Some(key)) = (&args.cert, &args.key) {
        tls.choices.identity = Some(Identity {
            certificate: read(certificate)?,
            key: read(key)?,
        });
    }
    trust(target, &args.trust)
}

/// The server at a URL, and the path of the URL. Reports errors in the named files before anything is sent.
pub(crate) fn server(url: &str, args: &TrustArgs) -> anyhow::Result<(Target, String)> {
    let (mut target, path) = target::parse(url, args.insecure).map_err(bad_input)?;
    secrets::add(|known| known.add_target(&target));
    trust(&mut target, args).map_err(bad_input)?;
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
