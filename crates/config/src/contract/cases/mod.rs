//! Cases: the requests of a check, and the expected replies.

mod common;
mod disruptions;
mod single;

pub use common::is_common_case;
pub use disruptions::{ClientDisconnect, FileChange, Restart};
pub use single::SingleCall;

use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::call::{BODY_END, Bindings, BoundValue, Call, PlaceholderValues, ScriptStep, Slots};
use crate::contract::source::{MOST_REQUESTS, SourceToml, ValueGenerator, text_of};
use crate::contract::toml::{CallToml, CaseToml, Deliver, OneOrMany, OperationToml, in_order};
use crate::format::Faults;
use crate::format::Spanned;
use crate::format::suggestion::suggest;
use prony_load::{Body, Capture, Expectation, Protocol, Request};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// One case of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub name: String,
    /// The operations that it calls, each once.
    pub operations: Vec<String>,
    /// Requests, in order, with the expected replies.
    pub exchanges: Vec<Exchange>,
    /// How the requests are delivered to the service.
    pub delivery: Delivery,
    /// Whether no other case may run at the same time, because this one disturbs the backend.
    pub alone: bool,
    /// Whether only a thorough check runs the case, because it takes long.
    pub thorough: bool,
    /// The trait that the case shows: then it is never a failure.
    pub shows: Option<String>,
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
    /// Whether the request changes nothing.
    pub is_safe: bool,
    /// The longest time until the reply is complete.
    pub within: Option<Duration>,
    /// The request is repeated until the expectation holds, at most for this time.
    pub until: Option<Duration>,
    /// A file that changes just before the request.
    pub change: Option<FileChange>,
    /// The backing service that receives the request; `None`: the service.
    pub backing_service: Option<String>,
    /// Whether the connection may end before the reply is complete.
    pub may_break_off: bool,
}

impl Case {
    /// Whether it disturbs other cases: a backing service restarts, clients disconnect, or a file changes. Such a case runs after all
    /// others.
    pub fn is_disruptive(&self) -> bool {
        self.restart.is_some() || self.leave.is_some() || self.file_change().is_some()
    }

    /// The first change of a file.
    pub fn file_change(&self) -> Option<&FileChange> {
        self.exchanges
            .iter()
            .find_map(|exchange| exchange.change.as_ref())
    }

    /// Whether none of its requests changes data.
    pub fn is_safe(&self) -> bool {
        self.exchanges.iter().all(|exchange| exchange.is_safe)
    }

    /// The backing services that receive requests of this case.
    pub fn backing_services(&self) -> impl Iterator<Item = &str> {
        self.exchanges
            .iter()
            .filter_map(|exchange| exchange.backing_service.as_deref())
    }
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

    /// The cases for a server that prony did not start: none of their requests changes data.
    pub fn safe_cases(&self, protocol: Protocol, seed: u64) -> Vec<Case> {
        let mut cases = self
            .cases_with(protocol, seed, true)
            .expect("invariant: every case was built once when the contract was loaded");
        cases.retain(Case::is_safe);
        cases
    }

    pub(crate) fn try_cases(&self, protocol: Protocol, seed: u64) -> Result<Vec<Case>, ConfigError> {
        self.cases_with(protocol, seed, false)
    }

    /// `only_safe`: the common cases call only operations that change nothing.
    fn cases_with(&self, protocol: Protocol, seed: u64, only_safe: bool) -> Result<Vec<Case>, ConfigError> {
        let mut random = SmallRng::seed_from_u64(seed);
        let (mut cases, common): (Vec<Case>, Vec<Case>) = self
            .common_cases(protocol, &mut random, only_safe)?
            .into_iter()
            .partition(|case| case.name == common::FIRST);
        for written in &self.written.case {
            cases.extend(self.case(written, protocol, &mut random)?);
        }
        cases.extend(common);
        Ok(cases)
    }

    /// Every call must be complete and use all of its values. The faults of all operations and cases are found.
    pub(crate) fn verify_calls(&self, faults: &mut Faults) {
        let protocols = self.protocols();
        for (name, operation) in in_order(&self.written.operation) {
            faults.keep(self.verify_operation(name, operation, &protocols));
        }
        for case in &self.written.case {
            faults.keep(self.verify_case(case, &protocols));
        }
        faults.keep(self.verify_skipped());
    }

    fn verify_operation(
        &self,
        name: &str,
        operation: &Spanned<OperationToml>,
        protocols: &[Protocol],
    ) -> Result<(), ConfigError> {
        let captured = self.captured_before(name)?;
        self.call_of(name)?
            .verify(&operation.get_ref().with, &captured, protocols)
    }

    fn verify_case(&self, case: &Spanned<CaseToml>, protocols: &[Protocol]) -> Result<(), ConfigError> {
        let mut captured = BTreeSet::new();
        let mut calls = Vec::new();
        for (call, own) in self.calls(case)? {
            if let Some(name) = &call.written.backing_service {
                self.verify_backing_service(name)?;
            }
            let own = own.map(|own| own.with.clone()).unwrap_or_default();
            call.verify(&own, &captured, protocols)?;
            captured.extend(call.captured_names().map(str::to_owned));
            calls.push(call);
        }
        self.verify_restart(case, &calls)
    }

    /// The names that the operations which an operation needs capture.
    pub(super) fn captured_before(&self, operation: &str) -> Result<BTreeSet<String>, ConfigError> {
        let mut names = BTreeSet::new();
        for name in self.needed(operation)? {
            names.extend(self.written.operation[&name].get_ref().capture.keys().cloned());
        }
        Ok(names)
    }

    /// The operations that must be called before an operation, in order.
    pub(crate) fn needed(&self, operation: &str) -> Result<Vec<String>, ConfigError> {
        let mut order = Vec::new();
        self.add_needed(operation, &mut vec![operation.to_owned()], &mut order)?;
        Ok(order)
    }

    fn add_needed(
        &self,
        operation: &str,
        open: &mut Vec<String>,
        order: &mut Vec<String>,
    ) -> Result<(), ConfigError> {
        let all = &self.written.operation;
        let Some(written) = all.get(operation) else {
            return Ok(());
        };
        for need in &written.get_ref().needs {
            let name = need.get_ref();
            if !all.contains_key(name) {
                let help = suggest(all.keys().map(String::as_str), name);
                let message = format!("there is no operation `{name}`");
                return Err(self.file.invalid_with(need.span(), message, help));
            }
            if open.contains(name) {
                let message = if name == operation {
                    format!("`{operation}` needs itself")
                } else {
                    format!("`{operation}` needs `{name}`, which needs `{operation}`")
                };
                return Err(self.file.invalid_with(need.span(), message, "remove this name"));
            }
            if order.contains(name) {
                continue;
            }
            open.push(name.clone());
            self.add_needed(name, open, order)?;
            open.pop();
            order.push(name.clone());
        }
        Ok(())
    }

    /// The calls of a case, each with its own keys; `None` for calls that are there because a later one needs them.
    fn calls<'a>(
        &'a self,
        case: &'a Spanned<CaseToml>,
    ) -> Result<Vec<(Call<'a>, Option<&'a CallToml>)>, ConfigError> {
        let OneOrMany(written) = &case.get_ref().call;
        let mut calls: Vec<(Call<'_>, Option<&CallToml>)> = Vec::new();
        let mut called: BTreeSet<&str> = BTreeSet::new();
        let mut needed = Vec::new();
        for one in written {
            let call = self.call(one)?;
            for need in &call.needs {
                for name in self
                    .needed(need.get_ref())?
                    .into_iter()
                    .chain([need.get_ref().clone()])
                {
                    if !called.contains(name.as_str()) && !needed.contains(&name) {
                        calls.push((self.call_of(&name)?, None));
                        needed.push(name);
                    }
                }
            }
            if let Some(name) = &one.get_ref().operation {
                called.insert(name.get_ref());
            }
            calls.push((call, Some(one.get_ref())));
        }
        Ok(calls)
    }

    fn case(
        &self,
        case: &Spanned<CaseToml>,
        protocol: Protocol,
        random: &mut SmallRng,
    ) -> Result<Option<Case>, ConfigError> {
        let written = case.get_ref();
        let calls = self.calls(case)?;
        let speaks = calls.iter().all(|(call, _)| call.speaks(protocol));
        let delivery = match written.deliver {
            Deliver::Whole => Delivery::InTurn,
            Deliver::SingleBytes => Delivery::SingleBytes,
            Deliver::Pipelined => Delivery::Packets(usize::MAX),
            Deliver::Chunked => Delivery::Chunked(CHUNK),
            Deliver::ManyConnections => {
                Delivery::ManyConnections(written.connections.map_or(CONNECTIONS, |number| number as usize))
            }
        };
        if !speaks || !delivery.fits(protocol) {
            return Ok(None);
        }
        let captures = calls
            .iter()
            .any(|(call, _)| call.captured_names().next().is_some());
        if captures && matches!(delivery, Delivery::Packets(_) | Delivery::ManyConnections(_)) {
            let message = format!(
                "case \"{}\": calls with `capture` run one after the other",
                written.name.get_ref()
            );
            return Err(self
                .file
                .invalid_with(written.name.span(), message, "remove `deliver`"));
        }
        let slots = Slots::default();
        let mut exchanges = Vec::new();
        for _ in 0..written.times.unwrap_or(1) {
            let mut draw = ValueGenerator::new(random, &self.tables);
            let mut so_far = BTreeSet::new();
            let nothing = BTreeMap::new();
            for (call, own) in &calls {
                let scope = CaptureScope {
                    slots: &slots,
                    so_far: &so_far,
                    own: own.map_or(&nothing, |own| &own.with),
                };
                exchanges.extend(call.exchanges(protocol, &mut draw, &scope)?);
                if exchanges.len() > MOST_REQUESTS {
                    return Err(self.too_many_requests(&written.name));
                }
                so_far.extend(call.captured_names().map(str::to_owned));
            }
        }
        for exchange in &mut exchanges {
            assign_slots(&mut exchange.expect, &slots);
        }
        let restart = self.restart(case)?;
        let own = calls.iter().filter(|(_, own)| own.is_some());
        let operations = operations(own.map(|(call, _)| call));
        let calls: Vec<Call<'_>> = calls.into_iter().map(|(call, _)| call).collect();
        let leave = self.disconnect(case, &calls)?;
        if leave.is_some() && !matches!(protocol, Protocol::Http1 | Protocol::Grpc) {
            return Ok(None);
        }
        Ok(Some(Case {
            name: written.name.get_ref().clone(),
            operations,
            exchanges,
            delivery,
            alone: written.serial || restart.is_some() || leave.is_some(),
            thorough: written.slow,
            shows: written.shows.as_ref().map(|name| name.get_ref().clone()),
            restart,
            leave,
        }))
    }

    fn too_many_requests(&self, name: &Spanned<String>) -> ConfigError {
        let message = format!(
            "case \"{}\" has more than {MOST_REQUESTS} requests",
            name.get_ref()
        );
        let help = "give fewer calls or values, or lower `times`";
        self.file.invalid_with(name.span(), message, help)
    }
}

/// The operations of these calls, each once.
fn operations<'a>(calls: impl Iterator<Item = &'a Call<'a>>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in calls.filter_map(Call::operation) {
        if names.iter().all(|known| known != name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Gives each captured value the slots of the encodings in which later requests use it.
pub(crate) fn assign_slots(expect: &mut Expectation, slots: &Slots) {
    expect.take = std::mem::take(&mut expect.take)
        .into_iter()
        .flat_map(|capture| {
            let used = slots.of(&capture.name).into_iter();
            used.map(move |(slot, encoding)| Capture {
                slot,
                encoding,
                ..capture.clone()
            })
        })
        .collect();
}

impl Call<'_> {
    /// An exchange for each combination of values of the call's placeholders. Values that the case has captured take
    /// precedence over those of the call's operation.
    fn exchanges(
        &self,
        protocol: Protocol,
        draw: &mut ValueGenerator<'_>,
        captured: &CaptureScope<'_>,
    ) -> Result<Vec<Exchange>, ConfigError> {
        let mut exchanges = Vec::new();
        for mut bindings in self.combinations(draw)? {
            for name in captured.so_far {
                if !captured.own.contains_key(name) {
                    bindings.insert(name.clone(), BoundValue::Captured);
                }
            }
            exchanges.push(self.exchange(protocol, &bindings, captured.slots)?);
        }
        Ok(exchanges)
    }

    /// The call with one value drawn for each placeholder, after the calls that it needs.
    fn drawn(&self, protocol: Protocol, random: &mut SmallRng) -> Result<Vec<Exchange>, ConfigError> {
        let slots = Slots::default();
        let mut exchanges = Vec::new();
        let mut captured = BTreeSet::new();
        let mut needed: Vec<String> = Vec::new();
        for need in &self.needs {
            let before = self.contract().needed(need.get_ref())?;
            for name in before.into_iter().chain([need.get_ref().clone()]) {
                if !needed.contains(&name) {
                    needed.push(name);
                }
            }
        }
        for name in needed {
            let call = self.contract().call_of(&name)?;
            exchanges.push(call.bound_exchange(protocol, random, (&captured, &slots))?);
            captured.extend(call.captured_names().map(str::to_owned));
        }
        exchanges.push(self.bound_exchange(protocol, random, (&captured, &slots))?);
        for exchange in &mut exchanges {
            assign_slots(&mut exchange.expect, &slots);
        }
        Ok(exchanges)
    }

    fn bound_exchange(
        &self,
        protocol: Protocol,
        random: &mut SmallRng,
        (captured, slots): (&BTreeSet<String>, &Slots),
    ) -> Result<Exchange, ConfigError> {
        let mut bindings = self.draw(random)?;
        for name in captured {
            bindings.insert(name.clone(), BoundValue::Captured);
        }
        self.exchange(protocol, &bindings, slots)
    }

    fn exchange(
        &self,
        protocol: Protocol,
        bindings: &Bindings,
        slots: &Slots,
    ) -> Result<Exchange, ConfigError> {
        let filling = PlaceholderValues::for_case(self.contract(), bindings, slots);
        let (request, expect) = self.build(protocol, &filling)?;
        let within = self
            .written
            .expect
            .as_ref()
            .and_then(|expect| expect.get_ref().within);
        Ok(Exchange {
            label: label(protocol, &request, bindings, (slots, self.with())),
            script: self.script(&request, &filling)?,
            is_safe: self.is_safe(protocol),
            request,
            expect,
            within: within.map(|time| time.0),
            until: self.written.retry_for.map(|time| time.0),
            change: self.file_change()?,
            backing_service: self
                .written
                .backing_service
                .as_ref()
                .map(|name| name.get_ref().clone()),
            may_break_off: self.expect().get_ref().may_break_off,
        })
    }
}

/// The values that the calls of a case capture from replies.
struct CaptureScope<'a> {
    slots: &'a Slots,
    /// The names of those captured before this call.
    so_far: &'a BTreeSet<String>,
    /// The values that the call itself sets.
    own: &'a BTreeMap<String, Spanned<SourceToml>>,
}

/// The request in readable form.
fn label(
    protocol: Protocol,
    request: &Request,
    bindings: &Bindings,
    (slots, with): (&Slots, &BTreeMap<String, Spanned<SourceToml>>),
) -> String {
    let mut path = Vec::new();
    request.path.render(&mut path, |slot, out| {
        out.extend_from_slice(format!("{{{}}}", slots.name(slot)).as_bytes());
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
        .filter(|(name, _)| *name != BODY_END && with.contains_key(*name))
        .map(|(name, value)| match value {
            BoundValue::Known(value) if protocol == Protocol::WebSocket => {
                format!("{name}={}", text_of(value).escape_debug())
            }
            BoundValue::Known(value) => format!("{name}={}", text_of(value)),
            BoundValue::Captured | BoundValue::Drawn(_) | BoundValue::Alias(_) => name.clone(),
        })
        .collect();
    let values = values.join(", ");
    match protocol {
        Protocol::WebSocket => format!("WebSocket {path} ({values})"),
        _ => format!("{}({values})", path.trim_start_matches('/')),
    }
}
