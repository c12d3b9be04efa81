//! The replies of the backend.
//!
//! | path | reply |
//! |---|---|
//! | `/received…` | 200, the description of the request as JSON |
//! | `/answer?…` | as set by the query: `status`, `type`, `body`, `header=name:value` (several), `chunks`, `delay_ms`, `hang_up`, `away_ms` |
//! | any other | 204 |

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::{Frame, Incoming};
use prony_config::contract::digest::{self, ReceivedRequest};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

type Body = BoxBody<Bytes, Infallible>;

pub(super) struct Reply {
    pub(super) response: Response<Body>,
    /// Overrides the backend's delay.
    pub(super) delay: Option<Duration>,
    /// Close the connection instead of replying.
    pub(super) hang_up: bool,
    /// Close the listening socket for this long after the reply.
    pub(super) away: Option<Duration>,
}

impl Reply {
    pub(super) async fn to(request: Request<Incoming>) -> Self {
        let (head, body) = request.into_parts();
        // A truncated body counts as empty.
        let body = body
            .collect()
            .await
            .map(http_body_util::Collected::to_bytes)
            .unwrap_or_default();
        let headers: Vec<(&str, &[u8])> = head
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        let target = head
            .uri
            .path_and_query()
            .map_or("/", http::uri::PathAndQuery::as_str);
        let received = ReceivedRequest {
            method: head.method.as_str(),
            target,
            headers: &headers,
            body: &body,
        };
        let digest = HeaderValue::try_from(received.digest()).expect("invariant: hexadecimal digits");
        let mut reply = if head.uri.path().starts_with("/received") {
            Self::with_body("application/json", received.description().to_string())
        } else if head.uri.path() == "/answer" {
            Self::from_query(head.uri.query().unwrap_or_default())
        } else {
            Self::empty(StatusCode::NO_CONTENT)
        };
        reply
            .response
            .headers_mut()
            .insert(HeaderName::from_static(digest::HEADER), digest);
        reply
    }

    fn empty(status: StatusCode) -> Self {
        let mut response = Response::new(Empty::new().boxed());
        *response.status_mut() = status;
        Self {
            response,
            delay: None,
            hang_up: false,
            away: None,
        }
    }

    fn with_body(kind: &'static str, body: String) -> Self {
        let mut reply = Self::empty(StatusCode::OK);
        *reply.response.body_mut() = Full::from(body).boxed();
        reply
            .response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        reply
    }

    /// The reply that the query describes; invalid values are ignored.
    fn from_query(query: &str) -> Self {
        let mut reply = Self::empty(StatusCode::OK);
        let (mut body, mut chunks) = (String::new(), 0);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "status" => reply.status(&value),
                "type" => reply.header("content-type", &value),
                "header" => {
                    let (name, value) = value.split_once(':').unwrap_or((&*value, ""));
                    reply.header(name, value);
                }
                "body" => body = value.into_owned(),
                "chunks" => chunks = value.parse().unwrap_or(0),
                "delay_ms" => reply.delay = value.parse().ok().map(Duration::from_millis),
                "hang_up" => reply.hang_up = true,
                "away_ms" => reply.away = value.parse().ok().map(Duration::from_millis),
                _ => {}
            }
        }
        if !body.is_empty() {
            *reply.response.body_mut() = in_chunks(body, chunks);
        }
        reply
    }

    fn status(&mut self, text: &str) {
        if let Ok(status) = text.parse() {
            *self.response.status_mut() = status;
            // A check that requests several statuses can tell which one was returned.
            self.header("x-status", text);
        }
    }

    fn header(&mut self, name: &str, value: &str) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            self.response.headers_mut().append(name, value);
        }
    }
}

/// The whole body, or `chunks` pieces without a Content-Length.
fn in_chunks(body: String, chunks: usize) -> Body {
    if chunks == 0 {
        return Full::from(body).boxed();
    }
    let body = Bytes::from(body);
    let size = body.len().div_ceil(chunks).max(1);
    let pieces: VecDeque<Bytes> = (0..body.len())
        .step_by(size)
        .map(|from| body.slice(from..body.len().min(from + size)))
        .collect();
    ChunkedBody(pieces).boxed()
}

/// A body sent in pieces, without announcing its length.
struct ChunkedBody(VecDeque<Bytes>);

impl hyper::body::Body for ChunkedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}
