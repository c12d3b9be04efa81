//! A server of the contract `stream` that can have one fault.

use crate::listening::Tasks;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use prony_load::grpc::{PREFIX, frame};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

pub(super) const CANCELLED: u32 = 1;
pub(super) const UNKNOWN: u32 = 2;
pub(super) const INVALID_ARGUMENT: u32 = 3;
pub(super) const DEADLINE_EXCEEDED: u32 = 4;
pub(super) const RESOURCE_EXHAUSTED: u32 = 8;
pub(super) const UNIMPLEMENTED: u32 = 12;
pub(super) const INTERNAL: u32 = 13;

/// Limit of concurrent long streams: fewer than the streams of both groups of clients in the disconnect case.
const STREAM_LIMIT: usize = 100;

/// A reply before it is sent.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    /// Messages, each with the pause before it.
    pub(super) steps: Vec<(Duration, Vec<u8>)>,
    pub(super) status: Option<u32>,
}

impl Reply {
    pub(super) fn failed(status: u32) -> Self {
        Self {
            steps: Vec::new(),
            status: Some(status),
        }
    }

    fn of(steps: Vec<(Duration, Vec<u8>)>) -> Self {
        Self {
            steps,
            status: Some(0),
        }
    }

    pub(super) fn is_ok(&self) -> bool {
        self.status == Some(0)
    }
}

/// A fault in handling calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultMode {
    Right,
    /// An echo deadline for the end of the call, until a client has cancelled one.
    Collects,
    IgnoresDeadlines,
    /// Reports this status for a call whose deadline has passed.
    Late(u32),
    /// A cancelled stream still counts towards the limit of concurrent streams.
    IgnoresCancel,
}

/// Changes a reply, given the method and the numbers of the request (`count` and `gap_us`, or the summands).
type Change = dyn Fn(&str, &[i64], &mut Reply) + Send + Sync;
/// The echoes of a message, given its number from 1.
type Echo = dyn Fn(usize, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync;

pub(super) struct Service {
    pub(super) fault: FaultMode,
    pub(super) change: Box<Change>,
    pub(super) echo: Box<Echo>,
    pub(super) long_streams: AtomicUsize,
    pub(super) has_cancelled_call: AtomicBool,
}

impl Service {
    pub(super) fn right() -> Self {
        Self {
            fault: FaultMode::Right,
            change: Box::new(|_, _, _| {}),
            echo: Box::new(|_, message| vec![message]),
            long_streams: AtomicUsize::new(0),
            has_cancelled_call: AtomicBool::new(false),
        }
    }
}

/// A message with these numbers in its fields, from field 1 on; zeros are omitted.
pub(super) fn message(numbers: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    for (field, number) in (1_u8..).zip(numbers).filter(|(_, number)| **number != 0) {
        out.push(field << 3);
        let mut rest = *number as u64;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    out
}

/// The numbers of a message by their fields.
fn numbers(message: &[u8]) -> BTreeMap<u8, i64> {
    let mut found = BTreeMap::new();
    let mut bytes = message.iter();
    while let Some(tag) = bytes.next() {
        let (mut number, mut shift) = (0_u64, 0);
        for byte in bytes.by_ref() {
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        found.insert(tag >> 3, number as i64);
    }
    found
}

/// A stream of `count` ticks, `gap_us` apart.
pub(super) fn ticks(count: i64, gap_us: i64) -> Reply {
    let gap = Duration::from_micros(gap_us as u64);
    let pause = |n| if n == 1 { Duration::ZERO } else { gap };
    Reply::of((1..=count).map(|n| (pause(n), message(&[n, count]))).collect())
}

fn tick(count: i64, gap_us: i64) -> Reply {
    if (1..=10_000).contains(&count) && (0..=1_000_000).contains(&gap_us) {
        ticks(count, gap_us)
    } else {
        Reply::failed(INVALID_ARGUMENT)
    }
}

fn sum(numbers: &[i64]) -> Reply {
    let total = numbers.iter().sum();
    Reply::of(vec![(Duration::ZERO, message(&[numbers.len() as i64, total]))])
}

pub(super) fn start(service: Service) -> Tasks {
    Tasks::start(|listener| serve(listener, Arc::new(service)))
}

async fn serve(listener: TcpListener, service: Arc<Service>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            let mut builder = h2::server::Builder::new();
            builder.data_frame_budget(usize::MAX);
            let Ok(mut connection) = builder.handshake(stream).await else {
                return;
            };
            while let Some(Ok((request, respond))) = connection.accept().await {
                let service = Arc::clone(&service);
                tokio::spawn(async move { service.answer(request, respond).await });
            }
        });
    }
}

/// The incoming messages of a call.
struct MessageStream {
    body: RecvStream,
    buffer: Vec<u8>,
    is_cancelled: bool,
}

impl MessageStream {
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some((&[_, a, b, c, d], rest)) = self.buffer.split_first_chunk::<PREFIX>()
                && let Some(message) = rest.get(..u32::from_be_bytes([a, b, c, d]) as usize)
            {
                let message = message.to_vec();
                self.buffer.drain(..PREFIX + message.len());
                return Some(message);
            }
            let Ok(data) = self.body.data().await? else {
                self.is_cancelled = true;
                return None;
            };
            let _ = self.body.flow_control().release_capacity(data.len());
            self.buffer.extend_from_slice(&data);
        }
    }

    async fn all(&mut self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(message) = self.next().await {
            all.push(message);
        }
        all
    }
}

/// The client has cancelled the call or disconnected.
struct ClientGone;

fn send(stream: &mut SendStream<Bytes>, message: &[u8]) -> Result<(), ClientGone> {
    let mut framed = Vec::new();
    frame(message, &mut framed);
    stream.send_data(framed.into(), false).map_err(|_| ClientGone)
}

async fn play(
    stream: &mut SendStream<Bytes>,
    steps: &[(Duration, Vec<u8>)],
    sees_cancel: bool,
) -> Result<(), ClientGone> {
    for (pause, message) in steps {
        if !pause.is_zero() {
            tokio::select! {
                () = sleep(*pause) => {}
                _ = std::future::poll_fn(|context| stream.poll_reset(context)), if sees_cancel => return Err(ClientGone),
            }
        }
        let sent = send(stream, message);
        if sees_cancel {
            sent?;
        }
    }
    Ok(())
}

impl Service {
    async fn answer(&self, request: http::Request<RecvStream>, mut respond: SendResponse<Bytes>) {
        let (head, body) = request.into_parts();
        let method = head.uri.path().rsplit('/').next().unwrap_or_default().to_owned();
        let deadline = head.headers.get("grpc-timeout").and_then(|value| {
            let micros = value.to_str().ok()?.strip_suffix('u')?.parse().ok()?;
            Some(Duration::from_micros(micros))
        });
        let response = http::Response::builder().header("content-type", "application/grpc");
        let response = response.body(()).expect("a head");
        let Ok(mut stream) = respond.send_response(response, false) else {
            return;
        };
        let call = self.run(
            &method,
            MessageStream {
                body,
                buffer: Vec::new(),
                is_cancelled: false,
            },
            &mut stream,
        );
        let ended = match deadline.filter(|_| self.fault != FaultMode::IgnoresDeadlines) {
            None => call.await,
            Some(deadline) => timeout(deadline, call).await.unwrap_or(Ok(Some(match self.fault {
                FaultMode::Late(status) => status,
                _ => DEADLINE_EXCEEDED,
            }))),
        };
        match ended {
            Err(ClientGone) => stream.send_reset(Reason::CANCEL),
            Ok(status) => {
                let mut trailers = http::HeaderMap::new();
                if let Some(status) = status {
                    trailers.insert("grpc-status", status.into());
                }
                let _ = stream.send_trailers(trailers);
            }
        }
    }

    /// Returns the status of the call.
    async fn run(
        &self,
        method: &str,
        mut incoming: MessageStream,
        stream: &mut SendStream<Bytes>,
    ) -> Result<Option<u32>, ClientGone> {
        let (numbers, mut reply) = match method {
            "echo" => return self.echo(incoming, stream).await,
            "tick" => {
                let request = numbers(&incoming.next().await.unwrap_or_default());
                let number = |field| request.get(&field).copied().unwrap_or_default();
                (vec![number(1), number(2)], tick(number(1), number(2)))
            }
            "sum" => {
                let all = incoming.all().await;
                let all: Vec<i64> = all
                    .iter()
                    .map(|message| numbers(message).get(&1).copied().unwrap_or_default())
                    .collect();
                let reply = sum(&all);
                (all, reply)
            }
            _ => (Vec::new(), Reply::failed(UNIMPLEMENTED)),
        };
        (self.change)(method, &numbers, &mut reply);
        let lasts: Duration = reply.steps.iter().map(|(pause, _)| *pause).sum();
        let ignores_cancel = self.fault == FaultMode::IgnoresCancel && lasts > Duration::from_secs(5);
        if ignores_cancel && self.long_streams.fetch_add(1, Ordering::SeqCst) >= STREAM_LIMIT {
            return Ok(Some(RESOURCE_EXHAUSTED));
        }
        play(stream, &reply.steps, !ignores_cancel).await?;
        Ok(reply.status)
    }

    async fn echo(
        &self,
        mut incoming: MessageStream,
        stream: &mut SendStream<Bytes>,
    ) -> Result<Option<u32>, ClientGone> {
        let collects = self.fault == FaultMode::Collects && !self.has_cancelled_call.load(Ordering::SeqCst);
        let mut collected = Vec::new();
        let mut number = 0;
        while let Some(message) = incoming.next().await {
            number += 1;
            for message in (self.echo)(number, message) {
                if collects {
                    collected.push((Duration::ZERO, message));
                } else {
                    send(stream, &message)?;
                }
            }
        }
        if incoming.is_cancelled {
            self.has_cancelled_call.store(true, Ordering::SeqCst);
        }
        play(stream, &collected, true).await?;
        let mut reply = Reply::of(Vec::new());
        (self.change)("echo", &[], &mut reply);
        Ok(reply.status)
    }
}
