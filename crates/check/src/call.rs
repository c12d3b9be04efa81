//! One request and its reply, by the client that checks.

use super::THOROUGH_PATIENCE;
use super::case_client::CaseClient;
use super::judge::{has_messages, judge, unanswered};
use super::report::Failure;
use prony_config::contract::{Exchange, SingleCall};
use prony_load::{CapturedValues, Protocol, Target};
use prony_protocols::client::{Client, Reply};
use std::time::{Duration, Instant};

/// A reply, and whether it is what the contract expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallReply {
    /// Status code of HTTP.
    pub status: u16,
    /// Status code of gRPC, where that was spoken.
    pub grpc_status: Option<u32>,
    /// Headers in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body; over gRPC the message, or the messages of a stream one after the other.
    pub body: Vec<u8>,
    /// Where each message of a stream of gRPC ends in the body; `None` where it is none.
    pub ends: Option<Vec<usize>>,
    /// From the opening of the connection to the end of the reply.
    pub took: Duration,
    /// What differs from what the contract expects.
    pub failure: Option<Failure>,
}

/// Sends one request on a connection of its own. The error says why there is no reply.
pub fn call(target: &Target, protocol: Protocol, single: &SingleCall) -> Result<CallReply, String> {
    let started = Instant::now();
    let client = Client::new(target, protocol);
    let client = CaseClient::patient(&client, THOROUGH_PATIENCE);
    let exchange = &single.exchange;
    let reply = client.once_alone(exchange);
    let reply = reply.map_err(|error| unanswered(&error, THOROUGH_PATIENCE).got)?;
    let took = started.elapsed();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(CallReply {
        failure: single.expected.then(|| mismatch(exchange, &reply)).flatten(),
        status: reply.status,
        grpc_status: reply.grpc_status,
        headers: reply
            .headers
            .iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
        ends: has_messages(exchange, &reply).then(|| reply.pieces.iter().map(|piece| piece.end).collect()),
        body: reply.body,
        took,
    })
}

fn mismatch(exchange: &Exchange, reply: &Reply) -> Option<Failure> {
    let wrong = judge(exchange, reply, &mut CapturedValues::default()).err()?;
    Some(Failure {
        request: exchange.label.clone(),
        what: wrong.what,
        expected: wrong.expected,
        got: wrong.got,
    })
}
