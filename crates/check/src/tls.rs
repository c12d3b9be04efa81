//! The common cases of TLS: what the handshake agrees to, which certificates are sent, and what the port does without TLS. Traits are
//! what a server may do or leave out.

use super::judge::failure;
use super::report::{CaseReport, Failure};
use super::{CheckRequest, DeclaredTls, TIMEOUT};
use prony_config::TlsProtocol;
use prony_config::contract::Exchange;
use prony_load::{Protocol, Target};
use prony_protocols::client::{BodyFraming, Client, ClientError, ProbedConnection, TlsProbe};
use prony_protocols::request_values::Parameters;
use prony_protocols::tls;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const H2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";
/// A protocol that no server knows.
const UNKNOWN: &[u8] = b"prony/1";
/// How a reply of HTTP/1.1 begins, and one of HTTP/1.0.
const VERSION: &[u8] = b"HTTP/1.";
/// Requests in flight at the same time over HTTP/2: the least that its specification recommends (RFC 9113, section 6.5.2).
const STREAMS: usize = 100;
/// Timeout of a handshake, and of a reply to a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the cases that belong to the protocol of the request.
pub(super) fn cases(request: &CheckRequest<'_>, declared: DeclaredTls<'_>) -> Vec<CaseReport> {
    let target = request.target;
    let is_http2 = request.protocol == Protocol::Http2;
    let mut cases = vec![
        case("TLS certificates", [certificates(target, declared, is_http2)]),
        case("TLS 1.3", [version(target, is_http2)]),
    ];
    if is_http2 {
        let agrees = |offered| agrees_on_h2(target, offered);
        cases.push(case("TLS ALPN", [agrees(&[H2]), agrees(&[H2, HTTP1])]));
    } else {
        cases.push(case(
            "TLS ALPN",
            offers_of_http1(declared).map(|offer| agrees_on_http1(target, &offer)),
        ));
    }
    if let Some(exchange) = first_exchange(request) {
        cases.push(case("TLS required", [refuses_clear_text(target, &exchange)]));
        if is_http2 {
            cases.push(case("TLS 100 streams", [many_streams(target, &exchange)]));
        }
    }
    cases
}

/// What the server does of what it may leave out, by name. Empty if that cannot be found out over this protocol.
pub(super) fn traits(request: &CheckRequest<'_>) -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    if request.protocol != Protocol::Http1 {
        return found;
    }
    let Ok(probe) = TlsProbe::new(request.target, &[HTTP1], PROBE_TIMEOUT) else {
        return found;
    };
    let ask = |connection: &mut ProbedConnection| connection.exchange(&closing_request(request.target));
    let Ok(first) = probe.connect().and_then(|mut first| ask(&mut first)) else {
        return found;
    };
    found.insert("close_notify".to_owned(), first.is_closed_cleanly);
    if let Ok(again) = probe.connect() {
        found.insert("resumes".to_owned(), again.is_resumed());
        found.insert("refuses 0-RTT".to_owned(), !again.takes_early_data());
    }
    found
}

fn case(name: &str, results: impl IntoIterator<Item = Result<(), Failure>>) -> CaseReport {
    let results: Vec<_> = results.into_iter().collect();
    let exchanges = results.len();
    let failures: Vec<Failure> = results.into_iter().filter_map(Result::err).collect();
    CaseReport {
        name: name.to_owned(),
        operations: Vec::new(),
        exchanges,
        failed: failures.len(),
        failures,
    }
}

fn failed(request: &str, what: &str, expected: impl Into<String>, got: impl Into<String>) -> Failure {
    Failure {
        request: request.to_owned(),
        ..failure(what, expected.into(), got.into())
    }
}

fn no_handshake(request: &str, error: &ClientError) -> Failure {
    failed(request, "handshake", "a TLS connection", error.to_string())
}

fn connect(target: &Target, offered: &[&'static [u8]]) -> Result<ProbedConnection, ClientError> {
    TlsProbe::new(target, offered, PROBE_TIMEOUT)?.connect()
}

const fn offered_of(is_http2: bool) -> &'static [&'static [u8]] {
    if is_http2 { &[H2] } else { &[HTTP1] }
}

/// The certificates must be those of the file, byte for byte: another one would make another handshake.
fn certificates(target: &Target, declared: DeclaredTls<'_>, is_http2: bool) -> Result<(), Failure> {
    let request = "the certificates of a handshake";
    let connection = connect(target, offered_of(is_http2)).map_err(|error| no_handshake(request, &error))?;
    let expected = tls::certificates(declared.certificates)
        .map_err(|error| failed(request, "TLS_CERT", "certificates in PEM", error.to_string()))?;
    let sent = connection.certificates();
    if sent.first() != expected.first() {
        return Err(failed(
            request,
            "leaf",
            "the first certificate of TLS_CERT",
            "another one",
        ));
    }
    if sent != expected {
        let count = |certificates: &[Vec<u8>]| format!("{} certificates", certificates.len());
        let expected = format!("all {} of TLS_CERT, in order", count(&expected));
        return Err(failed(request, "chain", expected, count(&sent)));
    }
    Ok(())
}

/// TLS 1.3 is agreed with a client that offers 1.2, too.
fn version(target: &Target, is_http2: bool) -> Result<(), Failure> {
    let request = "a handshake that offers TLS 1.2 and 1.3";
    let mut any = target.clone();
    if let Some(tls) = &mut any.tls {
        tls.choices.uniform = false;
    }
    let connection = connect(&any, offered_of(is_http2)).map_err(|error| no_handshake(request, &error))?;
    if connection.is_tls13() {
        Ok(())
    } else {
        Err(failed(request, "version", "TLS 1.3", "an older one"))
    }
}

fn agrees_on_h2(target: &Target, offered: &[&'static [u8]]) -> Result<(), Failure> {
    let request = format!("ALPN {}", names(offered));
    let connection = connect(target, offered).map_err(|error| no_handshake(&request, &error))?;
    match connection.agreed() {
        Some(H2) => Ok(()),
        other => Err(failed(&request, "agreed", "h2", agreed_name(other))),
    }
}

/// What a client offers that is to be answered with HTTP/1.1.
struct Http1Offer {
    offered: &'static [&'static [u8]],
    /// Whether the server may refuse the handshake instead.
    may_be_refused: bool,
}

fn offers_of_http1(declared: DeclaredTls<'_>) -> impl Iterator<Item = Http1Offer> {
    let has_h2 = declared.protocols.contains(&TlsProtocol::H2);
    let always: [(&'static [&'static [u8]], bool); 3] = [(&[HTTP1], false), (&[], false), (&[UNKNOWN], true)];
    let without_h2: [(&'static [&'static [u8]], bool); 2] = [(&[H2, HTTP1], false), (&[H2], true)];
    let offers = always
        .into_iter()
        .chain(without_h2.into_iter().filter(move |_| !has_h2));
    offers.map(|(offered, may_be_refused)| Http1Offer {
        offered,
        may_be_refused,
    })
}

/// The server selects HTTP/1.1 or nothing, and speaks HTTP/1.1.
fn agrees_on_http1(target: &Target, offer: &Http1Offer) -> Result<(), Failure> {
    let request = match offer.offered {
        [] => "no ALPN".to_owned(),
        offered => format!("ALPN {}", names(offered)),
    };
    let mut connection = match connect(target, offer.offered) {
        Ok(connection) => connection,
        Err(_) if offer.may_be_refused => return Ok(()),
        Err(error) => return Err(no_handshake(&request, &error)),
    };
    match connection.agreed() {
        None => {}
        Some(HTTP1) if offer.offered.contains(&HTTP1) => {}
        other => {
            return Err(failed(
                &request,
                "agreed",
                "http/1.1, or none",
                agreed_name(other),
            ));
        }
    }
    let reply = connection.begin_of_reply(&closing_request(target), VERSION.len() as u64);
    let begin = reply.unwrap_or_default();
    if begin == VERSION {
        return Ok(());
    }
    let begin = String::from_utf8_lossy(&begin).into_owned();
    Err(failed(&request, "reply", "HTTP/1.1", format!("{begin:?}")))
}

fn names(offered: &[&[u8]]) -> String {
    let names = offered
        .iter()
        .map(|name| String::from_utf8_lossy(name).into_owned());
    names.collect::<Vec<_>>().join(", ")
}

fn agreed_name(agreed: Option<&[u8]>) -> String {
    agreed.map_or_else(|| "none".to_owned(), |name| names(&[name]))
}

/// A request of HTTP/1.1 after which the server closes the connection.
fn closing_request(target: &Target) -> Vec<u8> {
    let authority = &target.authority;
    format!("GET / HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n").into_bytes()
}

/// The first request of the contract that succeeds.
fn first_exchange(request: &CheckRequest<'_>) -> Option<Exchange> {
    let is_granted = |exchange: &Exchange| {
        let mut status = exchange.expect.status.iter();
        status.all(|status| (200..300).contains(status))
    };
    let mut cases = request
        .cases(request.seed)
        .into_iter()
        .filter(|case| !case.alone && !case.thorough);
    cases.find_map(|case| case.exchanges.into_iter().next().filter(is_granted))
}

fn refuses_clear_text(target: &Target, exchange: &Exchange) -> Result<(), Failure> {
    let clear = Target {
        tls: None,
        ..target.clone()
    };
    let reply = Client::new(&clear, Protocol::Http1)
        .and_then(|client| client.ask(&exchange.request, Instant::now() + PROBE_TIMEOUT));
    match reply {
        Ok(reply) if (200..300).contains(&reply.status) => Err(failed(
            "a request without TLS on the TLS port",
            "status",
            "no success",
            reply.status.to_string(),
        )),
        _ => Ok(()),
    }
}

/// A server must take 100 requests at the same time on a connection.
fn many_streams(target: &Target, exchange: &Exchange) -> Result<(), Failure> {
    let request = format!("{STREAMS} requests at the same time");
    let broken = |error: &ClientError| failed(&request, "reply", "a reply to each", error.to_string());
    let deadline = Instant::now() + TIMEOUT;
    let client = Client::new(target, Protocol::Http2).map_err(|error| broken(&error))?;
    let mut connection = client
        .connect(deadline)
        .map_err(|error| no_handshake(&request, &error))?;
    let prepared = client
        .prepare(&exchange.request, BodyFraming::Length)
        .map_err(|error| broken(&error))?;
    let parameters = Parameters::new(&[], 0);
    let tokens: Vec<_> = (0..STREAMS)
        .map(|_| connection.start(&prepared, parameters.values(0)))
        .collect();
    let sent = connection.send(prony_protocols::client::Delivery::Whole, deadline);
    sent.map_err(|error| broken(&error))?;
    for (number, token) in tokens.into_iter().enumerate() {
        match connection.reply(token, deadline) {
            Ok(reply) if (200..300).contains(&reply.status) => {}
            Ok(reply) => return Err(failed(&request, "status", "success", reply.status.to_string())),
            Err(ClientError::Unprocessed) => {
                let got = format!("a limit of {number} streams");
                return Err(failed(&request, "streams", format!("{STREAMS}"), got));
            }
            Err(error) => return Err(broken(&error)),
        }
    }
    Ok(())
}
