//! The destination of metrics: the URL of a collector, and the headers that it requires.

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use prony_load::{Body, ConnectOptions, Credentials, Header, Request, Target, Template, Tls, TlsChoices};
use prony_protocols::client::ClientError;
use std::fmt;
use std::str::FromStr;
use url::{Host, Url};

/// Path of the metrics endpoint, below the URL of the collector.
const PATH: &str = "/v1/metrics";
/// The `User-Agent` of each request.
const AGENT: &str = concat!("prony/", env!("CARGO_PKG_VERSION"));

/// A collector of metrics, by the URL of its endpoint; `/v1/metrics` is appended if it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collector {
    url: Url,
    credentials: Option<Credentials>,
    headers: HeaderMap,
}

/// Why the description of a collector is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectorError {
    #[error(
        "`{0}` is not the URL of a collector: write it as http://127.0.0.1:4318 or https://collector.example"
    )]
    NoUrl(String),
    /// A header's text may be secret: the error has only its number.
    #[error("header {0} of those requested is invalid: write them as NAME=VALUE, separated by commas")]
    Header(usize),
    /// It cannot be spoken with.
    #[error("the collector cannot be reached: {0}")]
    Client(ClientError),
}

impl FromStr for Collector {
    type Err = CollectorError;

    fn from_str(text: &str) -> Result<Self, CollectorError> {
        let mut collector = Self::at(text)?;
        let path = collector.url.path().trim_end_matches('/').to_owned();
        if !path.ends_with(PATH) {
            collector.url.set_path(&format!("{path}{PATH}"));
        }
        Ok(collector)
    }
}

impl Collector {
    /// The collector whose endpoint for metrics has exactly this URL.
    pub fn at(text: &str) -> Result<Self, CollectorError> {
        let no_url = || CollectorError::NoUrl(text.to_owned());
        let mut url = Url::parse(text).map_err(|_| no_url())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(no_url());
        }
        let credentials = Credentials::of_url(url.username(), url.password());
        // A URL with a host can have both.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        url.set_fragment(None);
        Ok(Self {
            url,
            credentials,
            headers: HeaderMap::new(),
        })
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.url, formatter)
    }
}

impl Collector {
    /// Adds headers in the format of `OTEL_EXPORTER_OTLP_HEADERS`: `NAME=VALUE`, percent-encoded, separated by commas.
    pub fn with_headers(mut self, text: &str) -> Result<Self, CollectorError> {
        let written = text.split(',').map(str::trim).filter(|one| !one.is_empty());
        for (number, one) in (1..).zip(written) {
            let (name, value) = header(one).ok_or(CollectorError::Header(number))?;
            self.headers.append(name, value);
        }
        Ok(self)
    }

    /// Where it is.
    pub fn target(&self) -> Target {
        let host = match self.url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => String::new(),
        };
        let tls = (self.url.scheme() == "https").then(|| Tls {
            server_name: host.clone(),
            insecure: false,
            cacert: None,
            choices: TlsChoices::default(),
        });
        Target {
            url: self.url.to_string(),
            port: self.url.port_or_known_default().unwrap_or_default(),
            authority: self.url.authority().to_owned(),
            host,
            tls,
            connect: ConnectOptions::default(),
            credentials: self.credentials.clone(),
        }
    }

    /// The request that brings it these bytes.
    pub(crate) fn request(&self, body: Vec<u8>, is_compressed: bool) -> Request {
        let path = match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        };
        let header = |name: &str, value: &[u8]| Header {
            name: name.to_owned(),
            value: Template::literal(value.to_vec()),
        };
        let mut headers = vec![
            header("user-agent", AGENT.as_bytes()),
            header("content-type", b"application/x-protobuf"),
        ];
        if is_compressed {
            headers.push(header("content-encoding", b"gzip"));
        }
        let own = self.headers.iter();
        headers.extend(own.map(|(name, value)| header(name.as_str(), value.as_bytes())));
        Request {
            method: "POST".to_owned(),
            path: Template::literal(path.into_bytes()),
            headers,
            body: Body::Bytes(Template::literal(body)),
        }
    }
}

fn header(text: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = text.split_once('=')?;
    let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
    let decoded: Vec<u8> = percent_decode_str(value.trim()).collect();
    let mut value = HeaderValue::from_bytes(&decoded).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, CollectorError> {
        text.parse::<Collector>().map(|collector| collector.to_string())
    }

    #[test]
    fn the_path_is_added_where_it_is_missing() {
        for (typed, meant) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
            ("http://localhost:4318/", "http://localhost:4318/v1/metrics"),
            (
                "https://collector.example/otlp",
                "https://collector.example/otlp/v1/metrics",
            ),
            (
                "http://[::1]:9090/api/v1/otlp/v1/metrics",
                "http://[::1]:9090/api/v1/otlp/v1/metrics",
            ),
        ] {
            assert_eq!(parse(typed), Ok(meant.to_owned()), "{typed}");
        }
    }

    #[test]
    fn what_is_no_url_of_a_collector_is_refused() {
        for typed in ["4318", "localhost:4318", "grpc://localhost:4317", "http://"] {
            assert_eq!(parse(typed), Err(CollectorError::NoUrl(typed.to_owned())));
        }
    }

    #[test]
    fn a_password_is_sent_and_not_shown() {
        let collector: Collector = "http://me:s%20t@host:4318".parse().expect("a collector");
        assert_eq!(collector.to_string(), "http://host:4318/v1/metrics");
        let target = collector.target();
        let credentials = target.credentials.expect("credentials");
        assert_eq!(
            (credentials.user.as_str(), credentials.password.as_str()),
            ("me", "s t")
        );
        assert_eq!(
            (target.url.as_str(), target.authority.as_str()),
            ("http://host:4318/v1/metrics", "host:4318")
        );
    }

    #[test]
    fn hosts_are_named_as_a_resolver_wants_them() {
        let of = |text: &str| -> (String, u16, bool) {
            let collector: Collector = text.parse().expect("a collector");
            let target = collector.target();
            (target.host, target.port, target.tls.is_some())
        };
        assert_eq!(of("http://[::1]:4318"), ("::1".to_owned(), 4318, false));
        assert_eq!(
            of("https://collector.example"),
            ("collector.example".to_owned(), 443, true)
        );
    }

    #[test]
    fn headers_are_decoded_and_kept_secret() {
        let collector: Collector = "http://127.0.0.1:4318".parse().expect("a collector");
        let with = collector
            .clone()
            .with_headers("api-key=a%20b, x-scope = c=d,")
            .expect("headers");
        let request = with.request(Vec::new(), false);
        let value = |name: &str| {
            let header = request.headers.iter().find(|header| header.name == name)?;
            let mut value = Vec::new();
            header.value.render(&mut value, |_, _| {});
            String::from_utf8(value).ok()
        };
        assert_eq!(value("api-key").as_deref(), Some("a b"));
        assert_eq!(value("x-scope").as_deref(), Some("c=d"));
        assert_eq!(with.target().authority, "127.0.0.1:4318");
        assert_eq!(request.path, Template::literal("/v1/metrics"));
        assert!(!format!("{with:?}").contains("a b"));
        let refused = collector.with_headers("a=b,no header").expect_err("no header");
        assert_eq!(refused, CollectorError::Header(2));
    }
}
