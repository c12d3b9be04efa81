//! Runs cases: side by side where their order is free, those that disturb others alone.

use super::exchange::{Answer, Fault, judge};
use super::report::{CaseReport, Failure};
use super::{PATIENCE, http1, http2};
use prony_contract::{Case, Delivery, Exchange};
use prony_load::{HeaderValue, Protocol, Target};
use prony_measurement::{Warning, WarningKind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Cases under way at once.
const SIDE_BY_SIDE: usize = 8;
/// Failures of a case that are kept.
const KEPT: usize = 3;
/// Pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) async fn run(
    target: &Target,
    protocol: Protocol,
    cases: Vec<Case>,
) -> (Vec<CaseReport>, Vec<Warning>) {
    let places = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut reports: Vec<Option<Tally>> = cases.iter().map(|_| None).collect();
    let mut side_by_side = JoinSet::new();
    for (index, case) in cases.iter().enumerate().filter(|(_, case)| !case.alone) {
        let (case, places) = (case.clone(), Arc::clone(&places));
        let client = Client {
            target: target.clone(),
            protocol,
        };
        side_by_side.spawn(async move {
            let _place = places.acquire_owned().await;
            (index, client.case(case).await)
        });
    }
    while let Some(done) = side_by_side.join_next().await {
        let (index, tally) = done.expect("invariant: a case does not panic");
        reports[index] = Some(tally);
    }
    for (index, case) in cases.iter().enumerate().filter(|(_, case)| case.alone) {
        let client = Client {
            target: target.clone(),
            protocol,
        };
        reports[index] = Some(client.case(case.clone()).await);
    }
    let mut seen = Traits::default();
    let mut done = Vec::new();
    for (case, tally) in cases.into_iter().zip(reports.into_iter().flatten()) {
        seen.merge(&tally.traits);
        done.push(CaseReport {
            name: case.name,
            exchanges: tally.sent,
            failed: tally.failed,
            failures: tally.failures,
        });
    }
    (done, seen.warnings())
}

/// What came of some exchanges.
#[derive(Default)]
struct Tally {
    sent: usize,
    failed: usize,
    failures: Vec<Failure>,
    traits: Traits,
}

impl Tally {
    fn merge(&mut self, other: Self) {
        self.sent += other.sent;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.failures.truncate(KEPT);
        self.traits.merge(&other.traits);
    }

    fn record(&mut self, exchange: &Exchange, result: Result<(), Failure>) {
        self.sent += 1;
        if let Err(failure) = result {
            self.failed += 1;
            if self.failures.len() < KEPT {
                self.failures.push(Failure {
                    request: exchange.label.clone(),
                    ..failure
                });
            }
        }
    }
}

/// What is worth a warning: how many replies had it.
#[derive(Default)]
struct Traits {
    replies: usize,
    closed: usize,
    old: usize,
    without_date: usize,
    without_charset: usize,
}

impl Traits {
    /// Looks at a reply that is a success: errors may end the connection.
    fn see(&mut self, exchange: &Exchange, answer: &Answer, protocol: Protocol) {
        if !(200..300).contains(&answer.status) || protocol == Protocol::Grpc {
            return;
        }
        self.replies += 1;
        self.closed += usize::from(answer.closes);
        self.old += usize::from(answer.old);
        self.without_date += usize::from(answer.header("date").is_none());
        let text = answer
            .header("content-type")
            .map(<[u8]>::to_ascii_lowercase)
            .unwrap_or_default();
        let charset = text.windows(8).any(|window| window == b"charset=");
        // Where the contract names no type, it is not the service that chose it.
        let own = exchange
            .expect
            .headers
            .iter()
            .any(|rule| matches!(rule.value, HeaderValue::MediaType(_)));
        self.without_charset += usize::from(own && text.starts_with(b"text/") && !charset);
    }

    fn merge(&mut self, other: &Self) {
        self.replies += other.replies;
        self.closed += other.closed;
        self.old += other.old;
        self.without_date += other.without_date;
        self.without_charset += other.without_charset;
    }

    fn warnings(&self) -> Vec<Warning> {
        let all = self.replies;
        let of = |count: usize| {
            if count == all {
                "each reply".to_owned()
            } else {
                format!("{count} of {all} replies")
            }
        };
        let mut warnings = Vec::new();
        let mut warn = |count: usize, kind, text: String| {
            if count > 0 {
                warnings.push(Warning::new(kind, text));
            }
        };
        warn(
            self.closed,
            WarningKind::ConnectionClosed,
            format!("closes the connection after {}", of(self.closed)),
        );
        warn(
            self.old,
            WarningKind::ConnectionClosed,
            format!("answers {} with HTTP/1.0", of(self.old)),
        );
        warn(
            self.without_date,
            WarningKind::MissingHeader,
            format!("no Date in {}", of(self.without_date)),
        );
        warn(
            self.without_charset,
            WarningKind::Note,
            format!("no charset in the Content-Type of {}", of(self.without_charset)),
        );
        warnings
    }
}

/// Sends the exchanges of one case.
#[derive(Clone)]
struct Client {
    target: Target,
    protocol: Protocol,
}

/// A connection that may have ended.
enum Line {
    Http1(http1::Connection),
    Http2(http2::Connection),
}

impl Client {
    async fn case(&self, case: Case) -> Tally {
        match case.delivery {
            Delivery::ManyConnections(connections) => self.spread(case, connections).await,
            Delivery::Packets(size) => self.packets(&case.exchanges, size).await,
            delivery => self.in_turn(&case.exchanges, delivery).await,
        }
    }

    async fn spread(&self, case: Case, connections: usize) -> Tally {
        let mut lines = JoinSet::new();
        for place in 0..connections {
            let share: Vec<Exchange> = case
                .exchanges
                .iter()
                .skip(place)
                .step_by(connections)
                .cloned()
                .collect();
            let client = self.clone();
            lines.spawn(async move { client.in_turn(&share, Delivery::InTurn).await });
        }
        let mut tally = Tally::default();
        while let Some(done) = lines.join_next().await {
            tally.merge(done.expect("invariant: a connection does not panic"));
        }
        tally
    }

    async fn in_turn(&self, exchanges: &[Exchange], delivery: Delivery) -> Tally {
        let mut tally = Tally::default();
        let mut line = None;
        for exchange in exchanges {
            let result = self
                .until_right(&mut line, exchange, delivery, &mut tally.traits)
                .await;
            tally.record(exchange, result);
        }
        tally
    }

    /// Repeats the exchange as long as it may be repeated and is not right.
    async fn until_right(
        &self,
        line: &mut Option<Line>,
        exchange: &Exchange,
        delivery: Delivery,
        traits: &mut Traits,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        loop {
            let result = self.once(line, exchange, delivery, traits).await;
            match exchange.until {
                Some(limit) if result.is_err() && started.elapsed() < limit => {
                    tokio::time::sleep(PAUSE).await;
                }
                _ => return result,
            }
        }
    }

    async fn once(
        &self,
        line: &mut Option<Line>,
        exchange: &Exchange,
        delivery: Delivery,
        traits: &mut Traits,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let reused = line.is_some();
        let mut result = self.answer(line, exchange, delivery).await;
        if reused && matches!(result, Err(Fault::Closed)) {
            // The service closed the connection after its last reply without announcing it.
            traits.closed += 1;
            result = self.answer(line, exchange, delivery).await;
        }
        let answer = result.map_err(|fault| unanswered(&fault))?;
        traits.see(exchange, &answer, self.protocol);
        let took = started.elapsed();
        if answer.closes {
            *line = None;
        }
        judged(exchange, &answer)?;
        match exchange.within {
            Some(limit) if took > limit => Err(failure(
                "time",
                format!("a reply within {limit:?}"),
                format!("{took:?}"),
            )),
            _ => Ok(()),
        }
    }

    /// Sends a request and receives its reply; a connection that ended is forgotten.
    async fn answer(
        &self,
        line: &mut Option<Line>,
        exchange: &Exchange,
        delivery: Delivery,
    ) -> Result<Answer, Fault> {
        let result = timeout(PATIENCE, self.answer_on(line, exchange, delivery)).await;
        let result = result.unwrap_or(Err(Fault::TimedOut(PATIENCE)));
        if result.is_err() {
            *line = None;
        }
        result
    }

    async fn answer_on(
        &self,
        line: &mut Option<Line>,
        exchange: &Exchange,
        delivery: Delivery,
    ) -> Result<Answer, Fault> {
        if line.is_none() {
            *line = Some(self.open().await?);
        }
        match line.as_mut().expect("invariant: just opened") {
            Line::Http2(connection) => connection.exchange(exchange).await,
            Line::Http1(connection) => {
                let chunk = match delivery {
                    Delivery::Chunked(size) => Some(size),
                    _ => None,
                };
                let request = http1::serialise(exchange, &self.target.authority, chunk);
                match delivery {
                    Delivery::SingleBytes => connection.send_single_bytes(&request).await?,
                    _ => connection.send(&request).await?,
                }
                let answer = connection.receive(&exchange.request.method).await?;
                nothing_left(connection)?;
                Ok(answer)
            }
        }
    }

    async fn open(&self) -> Result<Line, Fault> {
        Ok(match self.protocol {
            Protocol::Http1 => Line::Http1(http1::Connection::open(&self.target).await?),
            Protocol::Http2 => Line::Http2(http2::Connection::open(&self.target, false).await?),
            Protocol::Grpc => Line::Http2(http2::Connection::open(&self.target, true).await?),
        })
    }

    /// Sends `size` requests in one write and reads their replies in order.
    async fn packets(&self, exchanges: &[Exchange], size: usize) -> Tally {
        let mut tally = Tally::default();
        let mut line = None;
        for packet in exchanges.chunks(size) {
            let answered = timeout(PATIENCE, self.packet(&mut line, packet, &mut tally)).await;
            let done = answered.unwrap_or(Err((0, Fault::TimedOut(PATIENCE))));
            if let Err((done, fault)) = done {
                line = None;
                tally.record(&packet[done], Err(unanswered(&fault)));
            }
        }
        tally
    }

    /// The error says which request of the packet had no reply.
    async fn packet(
        &self,
        line: &mut Option<http1::Connection>,
        packet: &[Exchange],
        tally: &mut Tally,
    ) -> Result<(), (usize, Fault)> {
        let requests: Vec<u8> = packet
            .iter()
            .flat_map(|exchange| http1::serialise(exchange, &self.target.authority, None))
            .collect();
        if line.is_none() {
            *line = Some(
                http1::Connection::open(&self.target)
                    .await
                    .map_err(|fault| (0, fault))?,
            );
        }
        let connection = line.as_mut().expect("invariant: just opened");
        connection.send(&requests).await.map_err(|fault| (0, fault))?;
        for (place, exchange) in packet.iter().enumerate() {
            let answer = connection
                .receive(&exchange.request.method)
                .await
                .map_err(|fault| (place, fault))?;
            tally.traits.see(exchange, &answer, self.protocol);
            tally.record(exchange, judged(exchange, &answer));
            // What closes after a reply cannot answer the next request: that is told as a warning.
            if answer.closes {
                *line = None;
                return Ok(());
            }
        }
        nothing_left(connection).map_err(|fault| (packet.len() - 1, fault))
    }
}

fn nothing_left(connection: &http1::Connection) -> Result<(), Fault> {
    match connection.left_over() {
        0 => Ok(()),
        bytes => Err(Fault::malformed(format!(
            "{bytes} bytes after the end of the reply"
        ))),
    }
}

fn judged(exchange: &Exchange, answer: &Answer) -> Result<(), Failure> {
    judge(exchange, answer).map_err(|mismatch| failure(&mismatch.what, mismatch.expected, mismatch.got))
}

fn failure(what: &str, expected: String, got: String) -> Failure {
    Failure {
        request: String::new(),
        what: what.to_owned(),
        expected,
        got,
    }
}

fn unanswered(fault: &Fault) -> Failure {
    failure("reply", "a complete reply".to_owned(), fault.to_string())
}
