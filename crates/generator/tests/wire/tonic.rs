//! A gRPC server in Rust whose messages are plain bytes.

use bytes::{Buf as _, BufMut as _};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{Grpc, NamedService};
use tonic::{Request, Response, Status, Streaming};
use tower::service_fn;

#[derive(Default)]
struct BytesCodec;

impl Codec for BytesCodec {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for BytesCodec {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for BytesCodec {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining()).to_vec()))
    }
}

/// `/toy.Echo/unary` echoes the message, `/toy.Echo/stream` sends each of its bytes as a separate message,
/// `/toy.Echo/endless` repeats the message forever, `/toy.Echo/deadline` sends one message and then status 4 with the
/// deadline of the call, `/toy.Echo/join` joins all messages into one, `/toy.Echo/both` echoes each message as it
/// arrives, `/toy.Echo/fail` sends status 5 with a text that needs percent-encoding; other paths are not implemented.
#[derive(Clone)]
struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "toy.Echo";
}

impl tower::Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move { Ok(answer(request).await) })
    }
}

async fn answer(request: http::Request<Body>) -> http::Response<Body> {
    let mut grpc = Grpc::new(BytesCodec);
    match request.uri().path() {
        "/toy.Echo/unary" => {
            let echo = |request: Request<Vec<u8>>| async { Ok(Response::new(request.into_inner())) };
            grpc.unary(service_fn(echo), request).await
        }
        "/toy.Echo/stream" => {
            let each = |request: Request<Vec<u8>>| async {
                let bytes = request.into_inner().into_iter();
                let messages = bytes.map(|byte| Ok::<_, Status>(vec![byte]));
                Ok(Response::new(tokio_stream::iter(messages)))
            };
            grpc.server_streaming(service_fn(each), request).await
        }
        "/toy.Echo/endless" => {
            let endless = |request: Request<Vec<u8>>| async {
                let messages = tokio_stream::iter(std::iter::repeat(request.into_inner()));
                let paced = messages.then(|message| async {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    Ok::<_, Status>(message)
                });
                Ok(Response::new(Box::pin(paced)))
            };
            grpc.server_streaming(service_fn(endless), request).await
        }
        "/toy.Echo/deadline" => {
            let timeout = request.headers().get("grpc-timeout").cloned();
            let late = move |request: Request<Vec<u8>>| {
                let timeout = timeout
                    .as_ref()
                    .map_or("", |timeout| timeout.to_str().unwrap_or_default());
                let status = Status::deadline_exceeded(format!("after {timeout}"));
                let messages = [Ok(request.into_inner()), Err(status)];
                std::future::ready(Ok(Response::new(tokio_stream::iter(messages))))
            };
            grpc.server_streaming(service_fn(late), request).await
        }
        "/toy.Echo/join" => {
            let join = |request: Request<Streaming<Vec<u8>>>| async {
                let mut messages = request.into_inner();
                let mut all = Vec::new();
                while let Some(message) = messages.message().await? {
                    all.extend(message);
                }
                Ok(Response::new(all))
            };
            grpc.client_streaming(service_fn(join), request).await
        }
        "/toy.Echo/both" => {
            let both =
                |request: Request<Streaming<Vec<u8>>>| async { Ok(Response::new(request.into_inner())) };
            grpc.streaming(service_fn(both), request).await
        }
        "/toy.Echo/fail" => {
            let fail = |_: Request<Vec<u8>>| async {
                Err::<Response<Vec<u8>>, _>(Status::not_found("no person is named Zoë"))
            };
            grpc.unary(service_fn(fail), request).await
        }
        _ => Status::unimplemented("").into_http(),
    }
}

/// A server, stopped on drop.
pub(crate) struct Tonic {
    pub(crate) port: u16,
    _runtime: Runtime,
}

pub(crate) fn start() -> Tonic {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let listener = runtime
        .block_on(TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = tonic::transport::Server::builder().add_service(Echo);
    runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    Tonic {
        port,
        _runtime: runtime,
    }
}
