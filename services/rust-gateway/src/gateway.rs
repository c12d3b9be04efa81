use std::error::Error;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{Authority, Uri};
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

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

/// Relays two operations to the model, with its key in place of the client's.
pub struct Gateway {
    model: Authority,
    /// The path of the model's URL.
    base: String,
    host: HeaderValue,
    authorization: HeaderValue,
    client: Client<HttpConnector, Incoming>,
}

impl Gateway {
    pub fn new(model: &str, key: &str) -> Result<Self, Box<dyn Error>> {
        let url: Uri = model.parse()?;
        let model = url
            .authority()
            .ok_or("MODEL_URL must name the model, like http://127.0.0.1:9000/v1")?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self {
            model: model.clone(),
            base: url.path().trim_end_matches('/').to_owned(),
            host: HeaderValue::from_str(model.as_str())?,
            authorization: HeaderValue::from_str(&format!("Bearer {key}"))?,
            client,
        })
    }

    pub async fn answer(&self, request: Request<Incoming>) -> Reply {
        let allowed = match request.uri().path() {
            "/v1/chat/completions" => Method::POST,
            "/v1/models" => Method::GET,
            _ => return refusal(StatusCode::NOT_FOUND, "there is no such operation"),
        };
        if request.method() != allowed {
            return refusal(StatusCode::METHOD_NOT_ALLOWED, "the operation has another method");
        }
        match self.client.request(self.to_model(request)).await {
            Ok(reply) => from_model(reply),
            Err(_) => refusal(StatusCode::BAD_GATEWAY, "the model cannot be reached"),
        }
    }

    /// The body is relayed while it arrives.
    fn to_model(&self, mut request: Request<Incoming>) -> Request<Incoming> {
        let path = request.uri().path_and_query().map_or("", |path| path.as_str());
        let path = format!("{}{}", self.base, path.strip_prefix("/v1").unwrap_or(path));
        *request.uri_mut() = Uri::builder()
            .scheme("http")
            .authority(self.model.clone())
            .path_and_query(path)
            .build()
            .expect("it is part of a valid path");
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        remove_hop_by_hop(headers);
        headers.insert(header::HOST, self.host.clone());
        headers.insert(header::AUTHORIZATION, self.authorization.clone());
        request
    }
}

/// Each piece of the body is sent on when it arrives. Its error closes the client's connection.
fn from_model(mut reply: Response<Incoming>) -> Reply {
    remove_hop_by_hop(reply.headers_mut());
    *reply.version_mut() = Version::HTTP_11;
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

fn refusal(status: StatusCode, message: &str) -> Reply {
    let body = format!(r#"{{"error":{{"message":"{message}","type":"gateway_error"}}}}"#);
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {});
    let mut reply = Response::new(body.boxed());
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
