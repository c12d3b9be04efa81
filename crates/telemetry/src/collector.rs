//! The destination of metrics: the URL of a collector, and the headers that it requires.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body_util::Full;
use percent_encoding::percent_decode_str;
use prony_protocols::tls::TlsError;
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
    headers: HeaderMap,
}

/// Why the description of a collector is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectorError {
    #[error(
        "`{0}` is not the URL of a collector: write it as http://127.0.0.1:4318 or https://collector.example"
    )]
    NoUrl(String),
    #[error(
        "a name or password in the URL of a collector is not sent: set OTEL_EXPORTER_OTLP_HEADERS='authorization=Basic …' instead"
    )]
    Credentials,
    /// A header's text may be secret: the error has only its number.
    #[error("header {0} of those requested is invalid: write them as NAME=VALUE, separated by commas")]
    Header(usize),
    #[error("the collector cannot be reached: {0}")]
    Tls(#[from] TlsError),
}

impl FromStr for Collector {
    type Err = CollectorError;

    fn from_str(text: &str) -> Result<Self, CollectorError> {
        let no_url = || CollectorError::NoUrl(text.to_owned());
        let mut url = Url::parse(text).map_err(|_| no_url())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(no_url());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(CollectorError::Credentials);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with(PATH) {
            url.set_path(&format!("{path}{PATH}"));
        }
        url.set_fragment(None);
        Ok(Self {
            url,
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

    pub(crate) fn host(&self) -> String {
        match self.url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => String::new(),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    pub(crate) fn speaks_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The request that sends it these bytes.
    pub(crate) fn request(&self, body: Bytes) -> Result<Request<Full<Bytes>>, http::Error> {
        let path = match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        };
        let mut request = Request::post(path)
            .header(HOST, self.url.authority())
            .header(USER_AGENT, AGENT)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::new(body))?;
        request.headers_mut().extend(self.headers.clone());
        Ok(request)
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

    fn parsed(text: &str) -> Result<String, CollectorError> {
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
            assert_eq!(parsed(typed), Ok(meant.to_owned()), "{typed}");
        }
    }

    #[test]
    fn what_is_no_url_of_a_collector_is_refused() {
        for typed in ["4318", "localhost:4318", "grpc://localhost:4317", "http://"] {
            assert_eq!(parsed(typed), Err(CollectorError::NoUrl(typed.to_owned())));
        }
        assert_eq!(
            parsed("http://me:secret@host:4318"),
            Err(CollectorError::Credentials)
        );
    }

    #[test]
    fn hosts_are_named_as_a_resolver_wants_them() {
        let of = |text: &str| -> (String, u16, bool) {
            let collector: Collector = text.parse().expect("a collector");
            (collector.host(), collector.port(), collector.speaks_tls())
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
        let request = with.request(Bytes::new()).expect("a request");
        assert_eq!(request.headers()["api-key"], "a b");
        assert_eq!(request.headers()["x-scope"], "c=d");
        assert_eq!(
            (request.uri().path(), &request.headers()[HOST]),
            ("/v1/metrics", &HeaderValue::from_static("127.0.0.1:4318"))
        );
        assert!(!format!("{with:?}").contains("a b"));
        let refused = collector.with_headers("a=b,no header").expect_err("no header");
        assert_eq!(refused, CollectorError::Header(2));
    }
}
