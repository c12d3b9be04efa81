//! HTTP/2, by prior knowledge or through TLS, and gRPC on it.

use super::exchange::{Answer, Fault, Headers, body, bytes};
use super::grpc::{self, Outgoing};
use super::stream::{Endpoint, Heard};
use ::bytes::Bytes;
use h2::RecvStream;
use h2::client::{ResponseFuture, SendRequest};
use prony_config::contract::Exchange;
use prony_load::Bag;
use std::time::Instant;
use tokio::task::JoinHandle;

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
        let (requests, connection) = h2::client::Builder::new()
            // A stream may be thousands of small messages, each in a frame of its own.
            .data_frame_budget(usize::MAX)
            .handshake(stream)
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
        let sent = Instant::now();
        let (response, mut outgoing) = self.send(exchange, bag).await?;
        let is_late = |error: &h2::Error| self.grpc && grpc::is_late(exchange, error, sent);
        let mut answer = Answer {
            sent: Some(sent),
            ..Answer::default()
        };
        let (head, mut incoming) = match response.await {
            Ok(response) => response.into_parts(),
            Err(error) if is_late(&error) => return Ok(grpc::late(answer)),
            Err(error) => return Err(self.failed(&error)),
        };
        answer.status = head.status.as_u16();
        answer.headers = owned(&head.headers);
        while let Some(data) = incoming.data().await {
            let data = match data {
                Ok(data) => data,
                Err(error) if is_late(&error) => return Ok(grpc::late(answer)),
                Err(error) => return Err(self.failed(&error)),
            };
            let _ = incoming.flow_control().release_capacity(data.len());
            answer.body.extend_from_slice(&data);
            answer.came(answer.body.len());
            outgoing.answered(&answer.body);
        }
        let trailers = incoming.trailers().await.map_err(|error| self.failed(&error))?;
        if self.grpc {
            grpc::read(&mut answer, trailers.as_ref().map(owned).as_ref(), exchange)?;
        }
        Ok(answer)
    }

    /// A stream that has begun: something of the reply came.
    pub(super) async fn begin(&mut self, exchange: &Exchange) -> Result<Begun, Fault> {
        let (response, outgoing) = self.send(exchange, &Bag::default()).await?;
        let response = response.await.map_err(|error| self.failed(&error))?;
        let status = response.status();
        if status != 200 {
            return Err(Fault::malformed(format!("no stream: status {}", status.as_u16())));
        }
        let mut begun = Begun {
            incoming: response.into_body(),
            _outgoing: outgoing,
        };
        match begun.skip().await {
            Some(Ok(())) => Ok(begun),
            Some(Err(error)) => Err(self.failed(&error)),
            None => Err(Fault::malformed("no stream: the reply has no body")),
        }
    }

    fn failed(&self, error: &h2::Error) -> Fault {
        self.heard.explain(Fault::malformed(format!("HTTP/2: {error}")))
    }

    /// Sends a request, or the begin of it where the rest waits for replies.
    async fn send(&mut self, exchange: &Exchange, bag: &Bag) -> Result<(ResponseFuture, Outgoing), Fault> {
        let mut outgoing = if self.grpc {
            Outgoing::of_call(exchange, bag)
        } else {
            Outgoing::of_body(body(exchange, bag))
        };
        let request = self.request(exchange, bag)?;
        std::future::poll_fn(|context| self.requests.poll_ready(context))
            .await
            .map_err(|error| self.failed(&error))?;
        let (response, stream) = self
            .requests
            .send_request(request, outgoing.is_empty())
            .map_err(|error| self.failed(&error))?;
        outgoing.begin(stream);
        Ok((response, outgoing))
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

fn owned(headers: &http::HeaderMap) -> Headers {
    headers
        .iter()
        .map(|(name, value)| (name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect()
}

/// A stream whose client may leave at any time.
pub(super) struct Begun {
    incoming: RecvStream,
    /// Where it is dropped before its end, the stream is cancelled.
    _outgoing: Outgoing,
}

impl Begun {
    /// Waits for the next piece; `None`: the stream has ended.
    pub(super) async fn skip(&mut self) -> Option<Result<(), h2::Error>> {
        let data = self.incoming.data().await?;
        Some(data.map(|data| {
            let _ = self.incoming.flow_control().release_capacity(data.len());
        }))
    }
}
