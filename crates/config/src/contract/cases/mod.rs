//! Cases: the requests of a check, and the expected replies.

mod common;
mod disruptions;
mod single;

pub use disruptions::{ClientDisconnect, Restart};
pub use single::SingleCall;

use crate::contract::call::{BODY_END, Call, PlaceholderValues, ScriptStep};
use crate::contract::source::{SourceToml, ValueGenerator};
use crate::contract::template::{Bindings, BoundValue};
use crate::contract::toml::{CaseToml, Deliver};
use crate::ConfigError;
use crate::contract::Contract;
use prony_load::{Body, Expectation, Protocol, Request};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use crate::format::Spanned;

/// One case of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub name: String,
    /// Requests, in order, with the expected replies.
    pub exchanges: Vec<Exchange>,
    /// How the requests are delivered to the service.
    pub delivery: Delivery,
    /// Whether no other case may run at the same time, because this one disturbs the backend.
    pub alone: bool,
    /// Whether only a thorough check runs the case, because it takes long.
    pub thorough: bool,
    /// The backing service that goes away during the case. Such a case runs after all others.
    pub restart: Option<Restart>,
    /// The clients that disconnect in the middle of their streams. Such a case also runs after all others.
    pub leave: Option<ClientDisconnect>,
}

/// How the requests of a case are delivered to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// On one connection, each when the previous reply is complete.
    InTurn,
    /// As [`Delivery::InTurn`], each request in single bytes.
    SingleBytes,
    /// This number of requests in one write on one connection, then their replies in the same order, then the next requests.
    Packets(usize),
    /// As [`Delivery::InTurn`], each body chunked into pieces of this many bytes.
    Chunked(usize),
    /// Spread over this many connections at once.
    ManyConnections(usize),
}

impl Delivery {
    /// Whether requests of a protocol can be delivered this way.
    const fn fits(self, protocol: Protocol) -> bool {
        match self {
            Self::InTurn | Self::ManyConnections(_) => true,
            Self::SingleBytes => matches!(protocol, Protocol::Http1 | Protocol::WebSocket),
            Self::Packets(_) | Self::Chunked(_) => matches!(protocol, Protocol::Http1),
        }
    }
}

/// A request without placeholders, and the expected reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The request in readable form: `GET /api/count/35`, `getPerson {"id": "1"}`.
    pub label: String,
    pub request: Request,
    pub expect: Expectation,
    /// The script of a WebSocket, on a connection of its own; empty for other protocols.
    pub script: Vec<ScriptStep>,
    /// The longest time until the reply is complete.
    pub within: Option<Duration>,
    /// The request is repeated until the expectation holds, at most for this time.
    pub until: Option<Duration>,
}

/// Bytes of a chunk of a case that is delivered in chunks.
const CHUNK: usize = 37;
/// Connections of a case that is delivered over many.
const CONNECTIONS: usize = 32;

impl Contract {
    /// Every case of a check over a protocol, starting with the valid calls of every operation. The same seed always gives the
    /// same cases; another seed gives other random values.
    pub fn cases(&self, protocol: Protocol, seed: u64) -> Vec<Case> {
        self.try_cases(protocol, seed)
            .expect("invariant: every case was built once when the contract was loaded")
    }

    pub(crate) fn try_cases(&self, protocol: Protocol, seed: u64) -> Result<Vec<Case>, ConfigError> {
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

    /// Every call must be complete and use all of its values.
    pub(crate) fn verify_calls(&self) -> Result<(), ConfigError> {
        let protocols = self.protocols();
        for operation in self.written.operation.values() {
            let call = Spanned::new(operation.span(), operation.get_ref().into());
            let nothing = BTreeSet::new();
            self.call(&call)?
                .verify(&call.get_ref().with, &nothing, &protocols)?;
        }
        for case in &self.written.case {
            let mut taken = BTreeSet::new();
            let mut calls = Vec::new();
            for written in self.calls(case)? {
                let call = self.call(written)?;
                call.verify(&written.get_ref().with, &taken, &protocols)?;
                taken.extend(call.taken_names().map(str::to_owned));
                calls.push(call);
            }
            self.verify_restart(case, &calls)?;
        }
        self.verify_without()
    }

    fn calls<'a>(
        &self,
        case: &'a Spanned<CaseToml>,
    ) -> Result<Vec<&'a Spanned<crate::contract::toml::CallToml>>, ConfigError> {
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
        case: &Spanned<CaseToml>,
        protocol: Protocol,
        random: &mut SmallRng,
    ) -> Result<Option<Case>, ConfigError> {
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
        if !speaks || !delivery.fits(protocol) {
            return Ok(None);
        }
        let mut slots: Vec<String> = Vec::new();
        for name in calls.iter().flat_map(Call::taken_names) {
            if !slots.iter().any(|known| known == name) {
                slots.push(name.to_owned());
            }
        }
        if !slots.is_empty() && matches!(delivery, Delivery::Packets(_) | Delivery::ManyConnections(_)) {
            let message = format!(
                "case `{}`: calls with `capture` run one after the other: remove `deliver`",
                written.name.get_ref()
            );
            return Err(self.invalid(case.span(), message));
        }
        let mut exchanges = Vec::new();
        for _ in 0..written.times.unwrap_or(1) {
            let mut draw = ValueGenerator::new(random, &self.tables);
            let mut so_far = BTreeSet::new();
            for (call, as_written) in calls.iter().zip(self.calls(case)?) {
                let taken = CaptureScope {
                    slots: &slots,
                    so_far: &so_far,
                    own: &as_written.get_ref().with,
                };
                exchanges.extend(call.exchanges(protocol, &mut draw, &taken)?);
                so_far.extend(call.taken_names().map(str::to_owned));
            }
        }
        let restart = self.restart(case)?;
        let leave = self.leave(case, &calls)?;
        if leave.is_some() && !matches!(protocol, Protocol::Http1 | Protocol::Grpc) {
            return Ok(None);
        }
        Ok(Some(Case {
            name: written.name.get_ref().clone(),
            exchanges,
            delivery,
            alone: written.alone || restart.is_some() || leave.is_some(),
            thorough: written.thorough,
            restart,
            leave,
        }))
    }
}

impl Call<'_> {
    /// An exchange for each combination of values of the call's placeholders. Values that the case has captured take
    /// precedence over those of the call's operation.
    fn exchanges(
        &self,
        protocol: Protocol,
        draw: &mut ValueGenerator<'_>,
        taken: &CaptureScope<'_>,
    ) -> Result<Vec<Exchange>, ConfigError> {
        let mut exchanges = Vec::new();
        for mut bindings in self.combinations(draw)? {
            for (slot, name) in taken.slots.iter().enumerate() {
                if taken.so_far.contains(name) && !taken.own.contains_key(name) {
                    bindings.insert(name.clone(), BoundValue::Parameter(slot));
                }
            }
            exchanges.push(self.exchange(protocol, &bindings, taken.slots)?);
        }
        Ok(exchanges)
    }

    /// An exchange with one value drawn for each placeholder.
    fn drawn(&self, protocol: Protocol, random: &mut SmallRng) -> Result<Exchange, ConfigError> {
        self.exchange(protocol, &self.draw(random)?, &[])
    }

    fn exchange(
        &self,
        protocol: Protocol,
        bindings: &Bindings,
        slots: &[String],
    ) -> Result<Exchange, ConfigError> {
        let filling = PlaceholderValues::for_case(bindings).with_slots(slots);
        let (request, expect) = self.build(protocol, &filling)?;
        Ok(Exchange {
            label: label(protocol, &request, bindings, slots),
            script: self.script(&request, &filling)?,
            request,
            expect,
            within: self.written.within.map(|time| time.0),
            until: self.written.until.map(|time| time.0),
        })
    }
}

/// The values that the calls of a case capture from replies.
struct CaptureScope<'a> {
    /// The names of all, in the order of their slots.
    slots: &'a [String],
    /// Those captured before this call.
    so_far: &'a BTreeSet<String>,
    /// The values that the call itself sets.
    own: &'a BTreeMap<String, Spanned<SourceToml>>,
}

/// The request in readable form.
fn label(protocol: Protocol, request: &Request, bindings: &Bindings, slots: &[String]) -> String {
    let mut path = Vec::new();
    request.path.render(&mut path, |slot, out| {
        out.extend_from_slice(format!("{{{}}}", slots[slot]).as_bytes());
    });
    let path = String::from_utf8_lossy(&path).into_owned();
    if let Body::Generated(generated) = &request.body
        && protocol != Protocol::WebSocket
    {
        let how = if generated.chunk.is_some() {
            "in chunks"
        } else {
            "with a length"
        };
        return format!("{} {path} ({} bytes {how})", request.method, generated.bytes);
    }
    if matches!(protocol, Protocol::Http1 | Protocol::Http2) {
        return format!("{} {path}", request.method);
    }
    let values: Vec<String> = bindings
        .iter()
        .filter(|(name, _)| *name != BODY_END)
        .map(|(name, value)| match value {
            BoundValue::Text(text) if protocol == Protocol::WebSocket => {
                format!("{name}={}", text.escape_debug())
            }
            BoundValue::Text(text) => format!("{name}={text}"),
            BoundValue::Parameter(_) => name.clone(),
        })
        .collect();
    let values = values.join(", ");
    match protocol {
        Protocol::WebSocket => format!("WebSocket {path} ({values})"),
        _ => format!("{}({values})", path.trim_start_matches('/')),
    }
}
