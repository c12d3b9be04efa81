//! Cases: what a check sends, and what must come back.

mod common;
mod single;

pub use single::SingleCall;

use crate::call::{Call, Filling};
use crate::source::Draw;
use crate::template::{Bindings, Bound, constant};
use crate::written::{Deliver, WrittenCase};
use crate::{Contract, ContractError};
use prony_load::{Expectation, Protocol, Request};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use std::time::Duration;
use toml::Spanned;

/// One thing that a check tries.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What is tried, in words.
    pub name: String,
    /// Requests, in order, and what must come back.
    pub exchanges: Vec<Exchange>,
    /// How the requests reach the service.
    pub delivery: Delivery,
    /// Whether nothing else may be tried at the same time, because the case disturbs the backend.
    pub alone: bool,
    /// Whether the case takes so long that it is tried only where a thorough check is asked for.
    pub thorough: bool,
}

/// How the requests of a case reach the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// On one connection, each when the reply to the last is complete.
    InTurn,
    /// As [`Delivery::InTurn`], each request in single bytes.
    SingleBytes,
    /// So many requests in one write on one connection, then their replies in the same order, then the next requests.
    Packets(usize),
    /// As [`Delivery::InTurn`], each body chunked into pieces of this many bytes.
    Chunked(usize),
    /// Spread over this many connections at once.
    ManyConnections(usize),
}

/// A request without places, and what must come back.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The request as people read it: `GET /api/count/35`, `getPerson {"id": "1"}`.
    pub label: String,
    /// What is sent.
    pub request: Request,
    /// What must come back.
    pub expect: Expectation,
    /// The reply must be there after this long.
    pub within: Option<Duration>,
    /// The request is repeated until the expectation holds, this long.
    pub until: Option<Duration>,
}

/// Bytes of a chunk where a case is delivered in chunks.
const CHUNK: usize = 37;
/// Connections of a case that is delivered on many.
const CONNECTIONS: usize = 32;

impl Contract {
    /// Everything that a check tries over a protocol, the right calls of every operation first. The same seed gives the same cases; another seed gives other random
    /// values.
    pub fn cases(&self, protocol: Protocol, seed: u64) -> Vec<Case> {
        self.try_cases(protocol, seed)
            .expect("invariant: every case was built once when the contract was loaded")
    }

    pub(crate) fn try_cases(&self, protocol: Protocol, seed: u64) -> Result<Vec<Case>, ContractError> {
        let mut random = SmallRng::seed_from_u64(seed);
        let (mut cases, common): (Vec<Case>, Vec<Case>) = self
            .common_cases(protocol, &mut random)?
            .into_iter()
            .partition(|case| case.name == common::FIRST);
        for written in &self.written.case {
            cases.extend(self.case(written, protocol, &mut random)?);
        }
        cases.extend(common);
        Ok(cases)
    }

    /// Every call must be complete, and use what it is given.
    pub(crate) fn verify_calls(&self) -> Result<(), ContractError> {
        let protocols = self.protocols();
        for operation in self.written.operation.values() {
            let call = Spanned::new(operation.span(), operation.get_ref().into());
            self.call(&call)?.verify(&call.get_ref().with, &protocols)?;
        }
        for case in &self.written.case {
            for call in self.calls(case)? {
                self.call(call)?.verify(&call.get_ref().with, &protocols)?;
            }
        }
        self.verify_without()
    }

    fn calls<'a>(
        &self,
        case: &'a Spanned<WrittenCase>,
    ) -> Result<Vec<&'a Spanned<crate::written::WrittenCall>>, ContractError> {
        let written = case.get_ref();
        match (&written.call, written.calls.as_slice()) {
            (Some(call), []) => Ok(vec![call]),
            (None, calls @ [_, ..]) => Ok(calls.iter().collect()),
            _ => {
                let message = format!("case `{}`: give either `call` or `calls`", written.name.get_ref());
                Err(self.invalid(case.span(), message))
            }
        }
    }

    fn case(
        &self,
        case: &Spanned<WrittenCase>,
        protocol: Protocol,
        random: &mut SmallRng,
    ) -> Result<Option<Case>, ContractError> {
        let written = case.get_ref();
        let calls = self
            .calls(case)?
            .into_iter()
            .map(|call| self.call(call))
            .collect::<Result<Vec<_>, _>>()?;
        let speaks = calls.iter().all(|call| call.speaks(protocol));
        let delivery = match written.deliver {
            Deliver::Whole => Delivery::InTurn,
            Deliver::SingleBytes => Delivery::SingleBytes,
            Deliver::OnePacket => Delivery::Packets(usize::MAX),
            Deliver::Chunked => Delivery::Chunked(CHUNK),
            Deliver::ManyConnections => Delivery::ManyConnections(CONNECTIONS),
        };
        let of_http1 = !matches!(delivery, Delivery::InTurn | Delivery::ManyConnections(_));
        if !speaks || (of_http1 && protocol != Protocol::Http1) {
            return Ok(None);
        }
        let mut exchanges = Vec::new();
        for _ in 0..written.times.unwrap_or(1) {
            for call in &calls {
                exchanges.extend(call.exchanges(protocol, random)?);
            }
        }
        Ok(Some(Case {
            name: written.name.get_ref().clone(),
            exchanges,
            delivery,
            alone: written.alone,
            thorough: written.thorough,
        }))
    }
}

impl Call<'_> {
    /// An exchange for each combination of the values of the call's places.
    fn exchanges(&self, protocol: Protocol, random: &mut SmallRng) -> Result<Vec<Exchange>, ContractError> {
        let mut draw = Draw::new(random, self.tables());
        let mut combinations = vec![Bindings::new()];
        for (name, source) in self.with() {
            combinations = combinations
                .into_iter()
                .flat_map(|bindings| {
                    source.get_ref().values(&mut draw).into_iter().map(move |value| {
                        let mut more = bindings.clone();
                        more.insert(name.clone(), Bound::Text(value));
                        more
                    })
                })
                .collect();
        }
        combinations
            .iter()
            .map(|bindings| self.exchange(protocol, bindings))
            .collect()
    }

    /// An exchange with one value drawn for each place.
    fn drawn(&self, protocol: Protocol, random: &mut SmallRng) -> Result<Exchange, ContractError> {
        self.exchange(protocol, &self.draw(random))
    }

    fn exchange(&self, protocol: Protocol, bindings: &Bindings) -> Result<Exchange, ContractError> {
        let (request, expect) = self.build(protocol, &Filling::for_case(bindings))?;
        Ok(Exchange {
            label: label(protocol, &request, bindings),
            request,
            expect,
            within: self.written.within.map(|time| time.0),
            until: self.written.until.map(|time| time.0),
        })
    }
}

/// The request as people read it.
fn label(protocol: Protocol, request: &Request, bindings: &Bindings) -> String {
    let path = String::from_utf8_lossy(&constant(&request.path)).into_owned();
    if protocol != Protocol::Grpc {
        return format!("{} {path}", request.method);
    }
    let values: Vec<String> = bindings
        .iter()
        .map(|(name, value)| match value {
            Bound::Text(text) => format!("{name}={text}"),
            Bound::Parameter(_) => name.clone(),
        })
        .collect();
    format!("{}({})", path.trim_start_matches('/'), values.join(", "))
}
