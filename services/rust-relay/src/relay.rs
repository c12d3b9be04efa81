use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{Authority, Uri};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;

const BACKEND_LIMIT: Duration = Duration::from_secs(10);
const LARGEST_BODY_BYTES: usize = 16 << 20;

/// The headers of one connection alone (RFC 9110, 7.6.1).
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

type Reply = Response<BoxBody<Bytes, hyper::Error>>;

/// Answers GET /nop itself and relays the rest, but for messages that are dropped or are no JSON.
pub struct Relay {
    backend: Authority,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Relay {
    /// `None` where the URL names no host.
    pub fn new(backend: Uri) -> Option<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(connector);
        Some(Self {
            backend: backend.authority()?.clone(),
            client,
        })
    }

    pub async fn answer<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        if request.uri().path() == "/nop" && matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::OK, "OK");
        }
        let (parts, body) = request.into_parts();
        let body = match Limited::new(body, LARGEST_BODY_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return text(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
            }
            Err(_) => return text(StatusCode::BAD_REQUEST, "the body is broken"),
        };
        if is_json(&parts.headers) {
            match serde_json::from_slice(&body) {
                Ok(message) if is_dropped(&message) => return text(StatusCode::NO_CONTENT, ""),
                Ok(_) => {}
                Err(_) => return text(StatusCode::BAD_REQUEST, "the body is not JSON"),
            }
        }
        let mut request = Request::from_parts(parts, Full::new(body));
        self.point_to_backend(&mut request);
        let reply = tokio::time::timeout(BACKEND_LIMIT, self.client.request(request)).await;
        match reply {
            Ok(Ok(reply)) => from_backend(reply),
            Ok(Err(_)) => text(StatusCode::BAD_GATEWAY, "the backend cannot be reached"),
            Err(_) => text(StatusCode::GATEWAY_TIMEOUT, "the backend is too slow"),
        }
    }

    fn point_to_backend(&self, request: &mut Request<Full<Bytes>>) {
        let path = request.uri().path_and_query().cloned();
        let path = path.unwrap_or_else(|| "/".parse().expect("a slash is a path"));
        *request.uri_mut() = Uri::builder()
            .scheme("http")
            .authority(self.backend.clone())
            .path_and_query(path)
            .build()
            .expect("all three parts are there");
        remove_hop_by_hop(request.headers_mut());
        // Written anew for the body that was read.
        request.headers_mut().remove(header::CONTENT_LENGTH);
        *request.version_mut() = hyper::Version::HTTP_11;
    }
}

/// The decision on a parsed message.
fn is_dropped(message: &Value) -> bool {
    message.get("drop") == Some(&Value::Bool(true))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn from_backend(mut reply: Response<Incoming>) -> Reply {
    remove_hop_by_hop(reply.headers_mut());
    *reply.version_mut() = hyper::Version::HTTP_11;
    reply.map(BodyExt::boxed)
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

fn text(status: StatusCode, text: &'static str) -> Reply {
    let body = Full::new(Bytes::from_static(text.as_bytes())).map_err(|never| match never {});
    let mut reply = Response::new(body.boxed());
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    reply
}
