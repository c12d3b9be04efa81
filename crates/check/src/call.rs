//! Sends one request with the client of the check, for `prony call`.

use super::SLOW_TIMEOUT;
use super::case_client::CaseClient;
use super::clients::Clients;
use super::judge::{has_messages, judge, missing_reply};
use super::report::Failure;
use prony_config::contract::{Exchange, SingleCall};
use prony_load::{CapturedValues, Protocol, Target};
use prony_protocols::client::Reply;
use std::time::{Duration, Instant};

/// A reply, and whether it meets the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallReply {
    /// Status code of HTTP.
    pub status: u16,
    /// Status code of gRPC; `None` for other protocols.
    pub grpc_status: Option<u32>,
    /// Headers in the order of the reply.
    pub headers: Vec<(String, String)>,
    /// The body; over gRPC the message, or the concatenated messages of a stream.
    pub body: Vec<u8>,
    /// Where each message of a gRPC stream ends in the body; `None` for any other reply.
    pub ends: Option<Vec<usize>>,
    /// From connecting to the end of the reply.
    pub took: Duration,
    /// How the reply differs from the contract.
    pub failure: Option<Failure>,
}

/// Sends one request on a new connection. The error says why there is no reply.
pub fn call(target: &Target, protocol: Protocol, single: &SingleCall) -> Result<CallReply, String> {
    let started = Instant::now();
    let clients = Clients::service(target, protocol);
    let client = CaseClient::with_timeout(&clients, SLOW_TIMEOUT);
    let exchange = &single.exchange;
    let reply = client.reply_on_new_connection(exchange);
    let reply = reply.map_err(|error| missing_reply(&error, SLOW_TIMEOUT).got)?;
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
