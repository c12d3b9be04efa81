//! Replies as the checking clients deliver them, and what may keep them from it.

use prony_contract::Exchange;
use prony_load::{Bag, Memory, Mismatch, Reply, Template};
use std::time::Duration;

/// A whole reply.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) grpc_status: Option<u32>,
    pub(super) headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) body: Vec<u8>,
    /// HTTP/1.0.
    pub(super) old: bool,
    /// The connection ends with this reply.
    pub(super) closes: bool,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value.as_slice())
    }
}

/// Why there is no reply to judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("no connection: {0}")]
    Unreachable(String),
    /// Before the first byte of a reply: on a used connection the service may have closed it rightly.
    #[error("the service closed the connection without a reply")]
    Closed,
    #[error("the service closed the connection within a reply, after {0} bytes")]
    Cut(usize),
    #[error("no complete reply within {0:?}")]
    TimedOut(Duration),
    #[error("{0}")]
    Malformed(String),
}

impl Fault {
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed(message.into())
    }
}

/// Judges an answer. The bag holds what earlier replies of the case gave, and gets what this one gives.
pub(super) fn judge(exchange: &Exchange, answer: &Answer, bag: &mut Bag) -> Result<(), Mismatch> {
    let headers: Vec<(&[u8], &[u8])> = answer
        .headers
        .iter()
        .map(|(name, value)| (name.as_slice(), value.as_slice()))
        .collect();
    let reply = Reply {
        status: answer.status,
        grpc_status: answer.grpc_status,
        headers: &headers,
        body: &answer.body,
    };
    let expect = exchange.expect.compile();
    let expect = expect.expect("invariant: expectations were compiled when the contract was loaded");
    let mut memory = Memory::default();
    expect.judge_with(&mut memory, &reply, |slot, out| {
        out.extend_from_slice(bag.get(slot));
    })?;
    expect.give(&memory, bag);
    Ok(())
}

/// The bytes of a template whose places are what earlier replies gave.
pub(super) fn bytes(template: &Template, bag: &Bag) -> Vec<u8> {
    let mut out = Vec::new();
    template.render(&mut out, |slot, out| out.extend_from_slice(bag.get(slot)));
    out
}

pub(super) fn body(exchange: &Exchange, bag: &Bag) -> Option<Vec<u8>> {
    exchange
        .request
        .body
        .render(|slot, out| out.extend_from_slice(bag.get(slot)))
}
