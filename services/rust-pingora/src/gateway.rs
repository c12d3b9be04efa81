use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use http::{Method, Uri};
use pingora_core::Result;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_core::{ErrorType, OrErr};
use pingora_http::RequestHeader;
use pingora_proxy::{ProxyHttp, Session};

const CONNECTION_LIMIT: Duration = Duration::from_secs(10);

/// Relays two operations to the model, with its key in place of the client's.
pub struct Gateway {
    model: String,
    /// The path of the model's URL.
    base: String,
    authorization: String,
}

impl Gateway {
    pub fn new(model: &str, key: &str) -> Result<Self, Box<dyn Error>> {
        let url: Uri = model.parse()?;
        let model = url
            .authority()
            .ok_or("MODEL_URL must name the model, like http://127.0.0.1:9000/v1")?;
        Ok(Self {
            model: model.to_string(),
            base: url.path().trim_end_matches('/').to_owned(),
            authorization: format!("Bearer {key}"),
        })
    }
}

#[async_trait]
impl ProxyHttp for Gateway {
    type CTX = ();

    fn new_ctx(&self) -> Self::CTX {}

    /// By default Pingora drops requests that a client sends before it has read the reply.
    async fn early_request_filter(&self, session: &mut Session, _: &mut Self::CTX) -> Result<()> {
        session.as_downstream_mut().set_pipelining_enabled(true);
        Ok(())
    }

    /// Whether the request has been answered.
    async fn request_filter(&self, session: &mut Session, _: &mut Self::CTX) -> Result<bool> {
        let request = session.req_header();
        let allowed = match request.uri.path() {
            "/v1/chat/completions" => Some(Method::POST),
            "/v1/models" => Some(Method::GET),
            _ => None,
        };
        let status = match allowed {
            None => 404,
            Some(method) if method != request.method => 405,
            Some(_) => return Ok(false),
        };
        session.respond_error(status).await?;
        Ok(true)
    }

    async fn upstream_peer(&self, _: &mut Session, _: &mut Self::CTX) -> Result<Box<HttpPeer>> {
        let mut peer = HttpPeer::new(&self.model, false, String::new());
        peer.options.connection_timeout = Some(CONNECTION_LIMIT);
        Ok(Box::new(peer))
    }

    async fn upstream_request_filter(
        &self,
        _: &mut Session,
        request: &mut RequestHeader,
        _: &mut Self::CTX,
    ) -> Result<()> {
        let path = request.uri.path_and_query().map_or("", |path| path.as_str());
        let path = format!("{}{}", self.base, path.strip_prefix("/v1").unwrap_or(path));
        let uri = path.parse().or_err(ErrorType::InternalError, "not a path")?;
        request.set_uri(uri);
        request.insert_header("Host", &self.model)?;
        request.insert_header("Authorization", &self.authorization)
    }
}
