//! One request and its reply, by the client that checks.

use super::client::Client;
use super::report::Failure;
use super::stream::Endpoint;
use prony_config::contract::{Exchange, SingleCall};
use prony_load::{Bag, Protocol, Target};
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
    let (endpoint, exchange) = (Endpoint::new(target, protocol), single.exchange.clone());
    let started = Instant::now();
    let answer = super::block_on(async move { Client::single(endpoint, protocol, &exchange).await });
    let answer = answer.map_err(|fault| fault.to_string())?;
    let took = started.elapsed();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(CallReply {
        failure: single
            .expected
            .then(|| mismatch(&single.exchange, &answer))
            .flatten(),
        status: answer.status,
        grpc_status: answer.grpc_status,
        headers: answer
            .headers
            .iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
        ends: answer
            .is_messages
            .then(|| answer.pieces.iter().map(|(end, _)| *end).collect()),
        body: answer.body,
        took,
    })
}

fn mismatch(exchange: &Exchange, answer: &super::exchange::Answer) -> Option<Failure> {
    let wrong = super::exchange::judge(exchange, answer, &mut Bag::default()).err()?;
    Some(Failure {
        request: exchange.label.clone(),
        what: wrong.what,
        expected: wrong.expected,
        got: wrong.got,
    })
}
