//! Implicit cases of every contract: how requests may be delivered, and what no service may do.

mod websocket;

use super::{CHUNK, CONNECTIONS, Case, Delivery, Exchange};
use crate::ConfigError;
use crate::contract::Contract;
use crate::contract::call::Call;
use crate::contract::template::constant;
use crate::contract::toml::{CallToml, HeaderText};
use crate::format::Spanned;
use crate::format::suggestion::suggest;
use prony_load::{Body, Expectation, Header, Protocol, Template};
use rand::rngs::SmallRng;
use std::collections::BTreeSet;

/// The common cases, by the names that `skip_common_cases` accepts.
const COMMON: [&str; 10] = [
    FIRST,
    "single bytes",
    "one packet",
    "chunked body",
    "100 headers",
    "percent-encoded path",
    "query string",
    "HEAD",
    "unknown path",
    "wrong method",
];
/// The case before those of the contract.
pub(super) const FIRST: &str = "keep-alive";
/// The last case.
const MANY: &str = "many connections";

/// Requests of an operation on one connection.
const IN_TURN: usize = 4;
/// Requests on each of many connections, per operation.
const ON_EACH: usize = 8;
/// Headers of the request with many, including `Host`.
const HEADERS: usize = 100;

/// `UNIMPLEMENTED` of gRPC.
const UNIMPLEMENTED: u32 = 12;

/// Whether this is the name of a case that every contract has.
pub fn is_common_case(name: &str) -> bool {
    COMMON.contains(&name) || name == MANY
}

impl Contract {
    pub(super) fn verify_skipped(&self) -> Result<(), ConfigError> {
        let all = || COMMON.into_iter().chain([MANY]);
        let unknown = self
            .written
            .skip_common_cases
            .iter()
            .find(|name| all().all(|known| known != name.get_ref()));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let message = format!("there is no common case \"{}\"", name.get_ref());
                let help = suggest(all(), name.get_ref());
                Err(self.file.invalid_with(name.span(), message, help))
            }
        }
    }

    pub(super) fn common_cases(
        &self,
        protocol: Protocol,
        random: &mut SmallRng,
        only_safe: bool,
    ) -> Result<Vec<Case>, ConfigError> {
        let mut calls = self.operation_calls(protocol)?;
        if only_safe {
            let mut is_safe = Vec::new();
            for call in &calls {
                is_safe.push(call.drawn(protocol, random)?.iter().all(|one| one.is_safe));
            }
            let mut is_safe = is_safe.into_iter();
            calls.retain(|_| is_safe.next().unwrap_or(false));
        }
        let known = self.known_lines();
        let mut draw = ExchangeGenerator {
            protocol,
            random,
            known: &known,
        };
        let mut cases = Vec::new();
        for name in COMMON.into_iter().chain([MANY]) {
            if self
                .written
                .skip_common_cases
                .iter()
                .any(|skipped| skipped.get_ref() == name)
            {
                continue;
            }
            let (delivery, exchanges) = draw.common(name, &calls)?;
            if !exchanges.is_empty() && delivery.fits(protocol) {
                cases.push(Case {
                    name: name.to_owned(),
                    operations: super::operations(calls.iter()),
                    exchanges,
                    delivery,
                    alone: false,
                    thorough: false,
                    restart: None,
                    leave: None,
                    trait_name: None,
                });
            }
        }
        Ok(cases)
    }

    /// The methods and paths of all operations, including those that only their own cases call.
    fn known_lines(&self) -> BTreeSet<String> {
        let operations = self.written.operation.values();
        operations
            .filter_map(|operation| operation.get_ref().http.as_ref())
            .map(|http| form(http.get_ref()))
            .collect()
    }

    /// Each operation that common cases call, as a call.
    fn operation_calls(&self, protocol: Protocol) -> Result<Vec<Call<'_>>, ConfigError> {
        let mut calls = Vec::new();
        for (name, operation) in crate::contract::toml::in_order(&self.written.operation) {
            if !operation.get_ref().common_cases {
                continue;
            }
            let call = self.call_of(name)?;
            if call.speaks(protocol) {
                calls.push(call);
            }
        }
        Ok(calls)
    }
}

/// Creates exchanges with random values.
struct ExchangeGenerator<'a> {
    protocol: Protocol,
    random: &'a mut SmallRng,
    /// Methods and paths of the contract.
    known: &'a BTreeSet<String>,
}

type CaseResult = Result<Vec<Exchange>, ConfigError>;

impl ExchangeGenerator<'_> {
    fn common(&mut self, name: &str, calls: &[Call<'_>]) -> Result<(Delivery, Vec<Exchange>), ConfigError> {
        if self.protocol == Protocol::WebSocket {
            return self.over_web_socket(name, calls);
        }
        let on_http = self.protocol != Protocol::Grpc;
        Ok(match name {
            FIRST => (Delivery::InTurn, self.times(calls, IN_TURN)?),
            MANY => {
                let each = CONNECTIONS * ON_EACH / calls.len().max(1);
                (
                    Delivery::ManyConnections(CONNECTIONS),
                    self.independent(calls, each)?,
                )
            }
            "unknown path" if on_http => (Delivery::InTurn, self.unknown_paths(calls)?),
            "unknown path" => (Delivery::InTurn, self.unknown_method(calls)?),
            _ if !on_http => (Delivery::InTurn, Vec::new()),
            "single bytes" => (Delivery::SingleBytes, self.times(calls, 1)?),
            "one packet" => (Delivery::Packets(2), self.independent(calls, 2)?),
            "chunked body" => {
                let mut exchanges = Vec::new();
                for call in calls {
                    let (before, call) = self.one(call)?;
                    if call.request.body != Body::None {
                        exchanges.extend(before);
                        exchanges.push(call);
                    }
                }
                (Delivery::Chunked(CHUNK), exchanges)
            }
            "100 headers" => (Delivery::InTurn, self.changed(calls, with_many_headers)?),
            "query string" => (Delivery::InTurn, self.changed(calls, with_query)?),
            "percent-encoded path" => (Delivery::InTurn, self.changed(calls, percent_encoded)?),
            "HEAD" => (Delivery::InTurn, self.heads(calls)?),
            "wrong method" => (Delivery::InTurn, self.wrong_methods(calls)?),
            _ => unreachable!("invariant: every common case has an arm"),
        })
    }

    /// The call, and the calls that it needs before.
    fn one(&mut self, call: &Call<'_>) -> Result<(Vec<Exchange>, Exchange), ConfigError> {
        let mut exchanges = call.drawn(self.protocol, self.random)?;
        let last = exchanges.pop().expect("invariant: the call itself is the last");
        Ok((exchanges, last))
    }

    /// Each call this number of times.
    fn times(&mut self, calls: &[Call<'_>], times: usize) -> CaseResult {
        let mut exchanges = Vec::new();
        for call in (0..times).flat_map(|_| calls) {
            let (before, call) = self.one(call)?;
            exchanges.extend(before);
            exchanges.push(call);
        }
        Ok(exchanges)
    }

    /// The same for calls that need no others, which can be delivered in any order.
    fn independent(&mut self, calls: &[Call<'_>], times: usize) -> CaseResult {
        let calls: Vec<Call<'_>> = calls
            .iter()
            .filter(|call| call.needs.is_empty())
            .cloned()
            .collect();
        self.times(&calls, times)
    }

    /// Each call after `change`, if it can be changed.
    fn changed(&mut self, calls: &[Call<'_>], change: fn(&mut CallToml) -> bool) -> CaseResult {
        let mut exchanges = Vec::new();
        for call in calls {
            let mut changed = call.clone();
            if change(&mut changed.written) {
                let (before, call) = self.one(&changed)?;
                exchanges.extend(before);
                exchanges.push(call);
            }
        }
        Ok(exchanges)
    }

    /// HEAD may be rejected, but the connection must stay in sync for the next request.
    fn heads(&mut self, calls: &[Call<'_>]) -> CaseResult {
        let mut exchanges = Vec::new();
        for call in calls {
            let (before, right) = self.one(call)?;
            if right.request.method == "GET" {
                exchanges.extend(before);
                let mut head = right.clone();
                head.request.method = "HEAD".into();
                exchanges.extend([refused(head, &[200, 404, 405, 501]), right]);
            }
        }
        Ok(exchanges)
    }

    /// A service may not answer every path, and must go on to serve known paths after an unknown one.
    fn unknown_paths(&mut self, calls: &[Call<'_>]) -> CaseResult {
        let mut exchanges = Vec::new();
        for call in calls {
            let (before, right) = self.one(call)?;
            if right.request.method != "GET" || !right.request.path.is_constant() {
                continue;
            }
            exchanges.extend(before);
            let right_path = path_of(&right);
            let longer = format!("{}/no/such", without_query(&right_path).trim_end_matches('/'));
            for (path, status) in [("/no/such/path".to_owned(), vec![404]), (longer, vec![400, 404])] {
                let mut unknown = right.clone();
                unknown.request.path = Template::literal(path.as_str());
                exchanges.push(refused(unknown, &status));
            }
            exchanges.push(right);
        }
        Ok(exchanges)
    }

    fn wrong_methods(&mut self, calls: &[Call<'_>]) -> CaseResult {
        let mut exchanges = Vec::new();
        for call in calls {
            let (before, right) = self.one(call)?;
            let pattern = call
                .written
                .http
                .as_ref()
                .and_then(|http| http.get_ref().split_once(' '));
            let Some((_, pattern)) = pattern else { continue };
            for method in ["DELETE", "POST"] {
                if self.known.contains(&form(&format!("{method} {pattern}"))) {
                    continue;
                }
                let mut wrong = right.clone();
                method.clone_into(&mut wrong.request.method);
                wrong.is_safe = false;
                if method == "POST" {
                    let headers = &mut wrong.request.headers;
                    headers.retain(|header| !header.name.eq_ignore_ascii_case("content-type"));
                    headers.push(Header {
                        name: "Content-Type".into(),
                        value: Template::literal("text/plain"),
                    });
                    wrong.request.body = Body::Bytes(Template::literal("a body"));
                }
                // What the call needs may permit it only once.
                exchanges.extend(before.iter().cloned());
                exchanges.extend([refused(wrong, &[404, 405]), right.clone()]);
            }
        }
        Ok(exchanges)
    }

    fn unknown_method(&mut self, calls: &[Call<'_>]) -> CaseResult {
        let Some(call) = calls.first() else {
            return Ok(Vec::new());
        };
        let (mut exchanges, right) = self.one(call)?;
        let path = path_of(&right);
        let service = path.rsplit_once('/').map_or("", |(service, _)| service);
        let mut unknown = right.clone();
        unknown.request.path = Template::literal(format!("{service}/noSuchMethod").as_str());
        unknown.label = path_of(&unknown).split_off(1);
        unknown.expect = Expectation {
            status: vec![200],
            grpc_status: Some(UNIMPLEMENTED),
            ..Expectation::default()
        };
        exchanges.extend([unknown, right]);
        Ok(exchanges)
    }
}

fn path_of(exchange: &Exchange) -> String {
    String::from_utf8_lossy(&constant(&exchange.request.path)).into_owned()
}

/// The exchange, expecting only one of these status codes.
fn refused(mut exchange: Exchange, status: &[u16]) -> Exchange {
    let path = if exchange.request.path.is_constant() {
        path_of(&exchange)
    } else {
        // The label names captured values.
        let label = exchange.label.split_once(' ');
        label.map_or_else(String::new, |(_, path)| path.to_owned())
    };
    exchange.label = format!("{} {path}", exchange.request.method);
    exchange.expect = Expectation {
        status: status.to_vec(),
        ..Expectation::default()
    };
    exchange
}

fn with_many_headers(call: &mut CallToml) -> bool {
    // The request also has a Host header, and with a body a Content-Length, and with JSON a Content-Type.
    let body = call.json.is_some() || call.text.is_some() || call.file.is_some() || call.generated.is_some();
    let own = call.headers.len() + 1 + usize::from(body) + usize::from(call.json.is_some());
    for number in own + 1..=HEADERS {
        let value = HeaderText::One(format!("value {number}"));
        call.headers
            .insert(format!("X-Header-{number}"), Spanned::new(0..0, value));
    }
    true
}

/// A method and a path without the query, with the same name for all placeholders.
fn form(http: &str) -> String {
    let mut out = String::new();
    for (number, piece) in without_query(http).split('{').enumerate() {
        match piece.split_once('}') {
            Some((_, rest)) if number > 0 => {
                out.push_str("{}");
                out.push_str(rest);
            }
            _ => out.push_str(piece),
        }
    }
    out
}

/// A path, or a method and a path, without the query.
fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

fn with_query(call: &mut CallToml) -> bool {
    change_path(call, |path| {
        let joint = if path.contains('?') { '&' } else { '?' };
        Some(format!("{path}{joint}page=1&text=%20a"))
    })
}

/// Writes the last letter of the first segment as `%xx`, which is the same path according to RFC 3986, section 6.2.2.2.
fn percent_encoded(call: &mut CallToml) -> bool {
    change_path(call, |path| {
        let segment = path.get(1..)?.split(['/', '?']).next()?;
        let letter = segment.chars().last().filter(char::is_ascii_alphabetic)?;
        let at = segment.len();
        Some(format!(
            "{}%{:02x}{}",
            &path[..at],
            u32::from(letter),
            &path[at + 1..]
        ))
    })
}

fn change_path(call: &mut CallToml, change: impl FnOnce(&str) -> Option<String>) -> bool {
    let Some(http) = &mut call.http else {
        return false;
    };
    let Some((method, path)) = http.get_ref().split_once(' ') else {
        return false;
    };
    match change(path) {
        None => false,
        Some(path) => {
            *http = Spanned::new(http.span(), format!("{method} {path}"));
            true
        }
    }
}
