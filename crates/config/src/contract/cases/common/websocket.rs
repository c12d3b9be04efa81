//! The common cases over WebSocket.

use super::{CaseResult, ExchangeGenerator, FIRST, MANY, ON_EACH, refused};
use crate::ConfigError;
use crate::contract::call::Call;
use crate::contract::cases::{CONNECTIONS, Delivery, Exchange};
use prony_load::Template;

/// Messages of each operation on one connection: a service must not stop after some of them.
const ON_ONE: usize = 50;
/// The same if each message is sent in single bytes.
const IN_BYTES: usize = 2;
/// The allowed statuses of a handshake at an unknown path.
const REFUSED: [u16; 3] = [400, 403, 404];

impl ExchangeGenerator<'_> {
    pub(super) fn over_web_socket(
        &mut self,
        name: &str,
        calls: &[Call<'_>],
    ) -> Result<(Delivery, Vec<Exchange>), ConfigError> {
        Ok(match name {
            FIRST => (Delivery::InTurn, joined(self.times(calls, ON_ONE)?)),
            MANY => (Delivery::ManyConnections(CONNECTIONS), self.connections(calls)?),
            "single bytes" => (Delivery::SingleBytes, joined(self.times(calls, IN_BYTES)?)),
            "unknown path" => (Delivery::InTurn, self.unknown_web_socket(calls)?),
            _ => (Delivery::InTurn, Vec::new()),
        })
    }

    /// The scripts of many connections.
    fn connections(&mut self, calls: &[Call<'_>]) -> CaseResult {
        let mut all = Vec::new();
        for _ in 0..CONNECTIONS {
            all.extend(joined(self.times(calls, ON_EACH)?));
        }
        Ok(all)
    }

    fn unknown_web_socket(&mut self, calls: &[Call<'_>]) -> CaseResult {
        let Some(call) = calls.first() else {
            return Ok(Vec::new());
        };
        let (_, right) = self.one(call)?;
        let mut unknown = right.clone();
        unknown.request.path = Template::literal("/no/such/path");
        unknown.script.clear();
        Ok(vec![refused(unknown, &REFUSED), right])
    }
}

/// Joins the scripts of connections with the same handshake into one connection.
fn joined(exchanges: Vec<Exchange>) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    for exchange in exchanges {
        let handshake = |one: &Exchange| (one.request.path.clone(), one.request.headers.clone());
        match all.iter_mut().find(|one| handshake(one) == handshake(&exchange)) {
            Some(one) => one.script.extend(exchange.script),
            None => all.push(exchange),
        }
    }
    all
}
