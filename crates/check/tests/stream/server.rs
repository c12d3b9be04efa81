//! A server of the contract `stream` that may be wrong in one way.

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

/// Long streams that have a place: fewer than those of the clients that leave and of those that come after them.
const PLACES: usize = 100;

/// A reply before it is sent.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    /// Pauses, and the messages that come after them.
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

/// How it treats calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultMode {
    Right,
    /// An echo waits for the end of the call, until a client has given one up.
    Collects,
    IgnoresDeadlines,
    /// What it says of a call whose deadline has passed.
    Late(u32),
    /// A cancelled stream keeps its place.
    IgnoresCancel,
}

/// Changes a reply: the method, and the numbers that were sent (`count` and `gap_us`, or those to be summed up).
type Change = dyn Fn(&str, &[i64], &mut Reply) + Send + Sync;
/// What comes back for a message, given its number from 1.
type Echo = dyn Fn(usize, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync;

pub(super) struct Service {
    pub(super) habit: FaultMode,
    pub(super) change: Box<Change>,
    pub(super) echo: Box<Echo>,
    pub(super) taken: AtomicUsize,
    pub(super) given_up: AtomicBool,
}

impl Service {
    pub(super) fn right() -> Self {
        Self {
            habit: FaultMode::Right,
            change: Box::new(|_, _, _| {}),
            echo: Box::new(|_, message| vec![message]),
            taken: AtomicUsize::new(0),
            given_up: AtomicBool::new(false),
        }
    }
}

/// A message with numbers in its fields, from 1 on; what is 0 is left out.
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

/// So many ticks, so far apart.
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

/// The messages of a call as they come.
struct MessageStream {
    body: RecvStream,
    buffer: Vec<u8>,
    is_given_up: bool,
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
                self.is_given_up = true;
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

/// The client is gone.
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
        let waits = head.headers.get("grpc-timeout").and_then(|value| {
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
                is_given_up: false,
            },
            &mut stream,
        );
        let ended = match waits.filter(|_| self.habit != FaultMode::IgnoresDeadlines) {
            None => call.await,
            Some(waits) => timeout(waits, call).await.unwrap_or(Ok(Some(match self.habit {
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

    /// Gives the status at the end.
    async fn run(
        &self,
        method: &str,
        mut incoming: MessageStream,
        stream: &mut SendStream<Bytes>,
    ) -> Result<Option<u32>, ClientGone> {
        let (numbers, mut reply) = match method {
            "echo" => return self.echo(incoming, stream).await,
            "tick" => {
                let asked = numbers(&incoming.next().await.unwrap_or_default());
                let of = |field| asked.get(&field).copied().unwrap_or_default();
                (vec![of(1), of(2)], tick(of(1), of(2)))
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
        let keeps_place = self.habit == FaultMode::IgnoresCancel && lasts > Duration::from_secs(5);
        if keeps_place && self.taken.fetch_add(1, Ordering::SeqCst) >= PLACES {
            return Ok(Some(RESOURCE_EXHAUSTED));
        }
        play(stream, &reply.steps, !keeps_place).await?;
        Ok(reply.status)
    }

    async fn echo(
        &self,
        mut incoming: MessageStream,
        stream: &mut SendStream<Bytes>,
    ) -> Result<Option<u32>, ClientGone> {
        let collects = self.habit == FaultMode::Collects && !self.given_up.load(Ordering::SeqCst);
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
        if incoming.is_given_up {
            self.given_up.store(true, Ordering::SeqCst);
        }
        play(stream, &collected, true).await?;
        let mut reply = Reply::of(Vec::new());
        (self.change)("echo", &[], &mut reply);
        Ok(reply.status)
    }
}
