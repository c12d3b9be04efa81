//! HTTP/2, by prior knowledge or through TLS, and gRPC on it.

use super::exchange::{Answer, Fault, body, bytes};
use super::stream::{Endpoint, Heard};
use ::bytes::Bytes;
use h2::client::SendRequest;
use prony_contract::Exchange;
use prony_load::Bag;
use tokio::task::JoinHandle;

/// Bytes before a message of gRPC: whether it is compressed, and its length.
const PREFIX: usize = 5;

pub(super) struct Connection {
    requests: SendRequest<Bytes>,
    driver: JoinHandle<()>,
    endpoint: Endpoint,
    heard: Heard,
    grpc: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    pub(super) async fn open(endpoint: &Endpoint, grpc: bool) -> Result<Self, Fault> {
        let stream = endpoint.connect().await?;
        let heard = stream.heard();
        let (requests, connection) = h2::client::handshake(stream)
            .await
            .map_err(|error| Fault::malformed(format!("no HTTP/2: {error}")))?;
        let driver = tokio::spawn(async move {
            // An error of the connection is an error of each request on it.
            let _ = connection.await;
        });
        Ok(Self {
            requests,
            driver,
            endpoint: endpoint.clone(),
            heard,
            grpc,
        })
    }

    pub(super) async fn exchange(&mut self, exchange: &Exchange, bag: &Bag) -> Result<Answer, Fault> {
        let first = self.heard.clone();
        let failed = |error: h2::Error| first.explain(Fault::malformed(format!("HTTP/2: {error}")));
        let mut message = body(exchange, bag);
        if self.grpc {
            message = message.map(|message| prefixed(&message));
        }
        let request = self.request(exchange, bag)?;
        std::future::poll_fn(|context| self.requests.poll_ready(context))
            .await
            .map_err(failed)?;
        let (response, mut stream) = self
            .requests
            .send_request(request, message.is_none())
            .map_err(failed)?;
        if let Some(message) = message {
            // A refused stream says so in its reply.
            let _ = stream.send_data(message.into(), true);
        }
        let (head, mut incoming) = response.await.map_err(failed)?.into_parts();
        let mut answer = Answer {
            status: head.status.as_u16(),
            headers: owned(&head.headers),
            ..Answer::default()
        };
        while let Some(data) = incoming.data().await {
            let data = data.map_err(failed)?;
            let _ = incoming.flow_control().release_capacity(data.len());
            answer.body.extend_from_slice(&data);
        }
        let trailers = incoming.trailers().await.map_err(failed)?;
        if self.grpc {
            unary(&mut answer, trailers.as_ref().map(owned).as_ref())?;
        }
        Ok(answer)
    }

    fn request(&self, exchange: &Exchange, bag: &Bag) -> Result<http::Request<()>, Fault> {
        let wrong = |error: http::Error| Fault::malformed(format!("the request cannot be sent: {error}"));
        let path = String::from_utf8_lossy(&bytes(&exchange.request.path, bag)).into_owned();
        let uri = http::Uri::builder()
            .scheme(self.endpoint.scheme())
            .authority(self.endpoint.authority())
            .path_and_query(path)
            .build()
            .map_err(wrong)?;
        let mut request = http::Request::builder()
            .method(exchange.request.method.as_str())
            .version(http::Version::HTTP_2)
            .uri(uri);
        if self.grpc {
            request = request
                .header("content-type", "application/grpc")
                .header("te", "trailers");
        }
        for header in &exchange.request.headers {
            request = request.header(header.name.to_ascii_lowercase(), bytes(&header.value, bag));
        }
        request.body(()).map_err(wrong)
    }
}

type Headers = Vec<(Vec<u8>, Vec<u8>)>;

fn owned(headers: &http::HeaderMap) -> Headers {
    headers
        .iter()
        .map(|(name, value)| (name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect()
}

fn prefixed(message: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
    out
}

/// Reads a unary reply: its status from the trailers, or from the headers where there is nothing else; its one message.
fn unary(answer: &mut Answer, trailers: Option<&Headers>) -> Result<(), Fault> {
    if answer.status != 200 {
        return Ok(());
    }
    let kind = answer.header("content-type").unwrap_or_default();
    if !kind.starts_with(b"application/grpc") {
        return Err(Fault::malformed(format!(
            "content-type `{}` is not application/grpc",
            kind.escape_ascii()
        )));
    }
    let trailers = trailers.unwrap_or(&answer.headers);
    let status = trailers
        .iter()
        .find(|(name, _)| name == b"grpc-status")
        .map(|(_, value)| value.as_slice());
    let number = status
        .and_then(|value| std::str::from_utf8(value).ok())
        .and_then(|text| text.parse().ok());
    answer.grpc_status = number;
    let Some(number) = number else {
        return Err(Fault::malformed("no grpc-status in the trailers"));
    };
    if number != 0 {
        answer.body.clear();
        return Ok(());
    }
    let [compressed, a, b, c, d, ..] = *answer.body.as_slice() else {
        return Err(Fault::malformed(format!(
            "no message: {} bytes",
            answer.body.len()
        )));
    };
    if compressed != 0 {
        return Err(Fault::malformed("a compressed message, which was not asked for"));
    }
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if answer.body.len() != PREFIX + length {
        let got = answer.body.len() - PREFIX;
        return Err(Fault::malformed(format!(
            "a message of {length} bytes as its prefix says, and {got} bytes came"
        )));
    }
    answer.body.drain(..PREFIX);
    Ok(())
}
