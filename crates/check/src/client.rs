//! Sends the requests of a case as it is told, and has their replies judged.

use super::case_result::Tally;
use super::exchange::{Answer, Fault, Wrong, failure, judge, unanswered};
use super::reply_traits::Traits;
use super::report::Failure;
use super::stream::Endpoint;
use super::{PATIENCE, THOROUGH_PATIENCE, http1, http2, websocket};
use prony_config::contract::{Case, Delivery, Exchange};
use prony_load::{Bag, Body, Protocol};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(10);

/// Sends the exchanges of one case.
#[derive(Clone)]
pub(super) struct Client {
    endpoint: Endpoint,
    protocol: Protocol,
    /// A request without a complete reply after this long has failed.
    patience: Duration,
}

/// A connection that may have ended.
enum Line {
    Http1(http1::Connection),
    Http2(http2::Connection),
}

impl Client {
    /// A client for one case.
    pub(super) fn of(endpoint: &Endpoint, protocol: Protocol, case: &Case) -> Self {
        Self {
            endpoint: endpoint.clone(),
            protocol,
            patience: if case.thorough {
                THOROUGH_PATIENCE
            } else {
                PATIENCE
            },
        }
    }

    /// One request on a connection of its own.
    pub(super) async fn single(
        endpoint: Endpoint,
        protocol: Protocol,
        exchange: &Exchange,
    ) -> Result<Answer, Fault> {
        Self::patient(endpoint, protocol, THOROUGH_PATIENCE)
            .once_alone(exchange)
            .await
    }

    /// A client that waits so long for each reply.
    pub(super) const fn patient(endpoint: Endpoint, protocol: Protocol, patience: Duration) -> Self {
        Self {
            endpoint,
            protocol,
            patience,
        }
    }

    /// A request on a connection of its own.
    pub(super) async fn once_alone(&self, exchange: &Exchange) -> Result<Answer, Fault> {
        self.answer(&mut None, exchange, (Delivery::InTurn, &Bag::default()))
            .await
    }

    pub(super) async fn case(&self, case: Case) -> Tally {
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
        let mut bag = Bag::default();
        for exchange in exchanges {
            let result = self
                .until_right(&mut line, exchange, (delivery, &mut bag), &mut tally.traits)
                .await;
            let silent = matches!(&result, Err(wrong) if wrong.silent);
            tally.record(exchange, result.map_err(|wrong| wrong.failure));
            if silent {
                break;
            }
        }
        tally
    }

    /// Repeats the exchange as long as it may be repeated and is not right.
    async fn until_right(
        &self,
        line: &mut Option<Line>,
        exchange: &Exchange,
        (delivery, bag): (Delivery, &mut Bag),
        traits: &mut Traits,
    ) -> Result<(), Wrong> {
        let started = Instant::now();
        loop {
            let result = self.once(line, exchange, (delivery, &mut *bag), traits).await;
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
        (delivery, bag): (Delivery, &mut Bag),
        traits: &mut Traits,
    ) -> Result<(), Wrong> {
        let started = Instant::now();
        if self.protocol == Protocol::WebSocket {
            self.script(exchange, delivery).await?;
            return in_time(exchange, started.elapsed());
        }
        let reused = line.is_some();
        let mut result = self.answer(line, exchange, (delivery, &*bag)).await;
        if reused && matches!(result, Err(Fault::Closed)) {
            // The service closed the connection after its last reply without announcing it.
            traits.closed += 1;
            result = self.answer(line, exchange, (delivery, &*bag)).await;
        }
        let answer = result?;
        traits.see(&answer, self.protocol);
        let took = started.elapsed();
        if answer.closes {
            *line = None;
        }
        judged(exchange, &answer, bag)?;
        in_time(exchange, took)
    }

    /// What is said and heard on a WebSocket of its own.
    async fn talk(&self, exchange: &Exchange, delivery: Delivery) -> Result<(), Wrong> {
        let patience = self.patience + websocket::of_messages(&exchange.script);
        let in_bytes = delivery == Delivery::SingleBytes;
        let talk = timeout(patience, websocket::talk(&self.endpoint, exchange, in_bytes)).await;
        talk.unwrap_or_else(|_| Err(Fault::TimedOut(patience).into()))
    }

    /// Sends a request and receives its reply; a connection that ended is forgotten.
    async fn answer(
        &self,
        line: &mut Option<Line>,
        exchange: &Exchange,
        (delivery, bag): (Delivery, &Bag),
    ) -> Result<Answer, Fault> {
        let patience = self.patience + of_body(exchange);
        let result = timeout(patience, self.answer_on(line, exchange, (delivery, bag))).await;
        let result = result.unwrap_or(Err(Fault::TimedOut(patience)));
        if result.is_err() {
            *line = None;
        }
        result
    }

    async fn answer_on(
        &self,
        line: &mut Option<Line>,
        exchange: &Exchange,
        (delivery, bag): (Delivery, &Bag),
    ) -> Result<Answer, Fault> {
        if line.is_none() {
            *line = Some(self.open().await?);
        }
        match line.as_mut().expect("invariant: just opened") {
            Line::Http2(connection) => connection.exchange(exchange, bag).await,
            Line::Http1(connection) => {
                let chunk = match delivery {
                    Delivery::Chunked(size) => Some(size),
                    _ => None,
                };
                let request = http1::serialise(exchange, self.endpoint.authority(), chunk, bag);
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
            Protocol::Http1 => Line::Http1(http1::Connection::open(&self.endpoint).await?),
            Protocol::Http2 => Line::Http2(http2::Connection::open(&self.endpoint, false).await?),
            Protocol::Grpc => Line::Http2(http2::Connection::open(&self.endpoint, true).await?),
            Protocol::WebSocket => {
                unreachable!("invariant: talks have connections of their own, and single requests speak HTTP")
            }
        })
    }

    /// Sends `size` requests in one write and reads their replies in order.
    async fn packets(&self, exchanges: &[Exchange], size: usize) -> Tally {
        let mut tally = Tally::default();
        let mut line = None;
        for packet in exchanges.chunks(size) {
            let answered = timeout(self.patience, self.packet(&mut line, packet, &mut tally)).await;
            let done = answered.unwrap_or(Err((0, Fault::TimedOut(self.patience))));
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
            .flat_map(|exchange| http1::serialise(exchange, self.endpoint.authority(), None, &Bag::default()))
            .collect();
        if line.is_none() {
            *line = Some(
                http1::Connection::open(&self.endpoint)
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
            tally.traits.see(&answer, self.protocol);
            tally.record(exchange, judged(exchange, &answer, &mut Bag::default()));
            // What closes after a reply cannot answer the next request: that is told as a warning.
            if answer.closes {
                *line = None;
                return Ok(());
            }
        }
        nothing_left(connection).map_err(|fault| (packet.len() - 1, fault))
    }
}

fn in_time(exchange: &Exchange, took: Duration) -> Result<(), Wrong> {
    match exchange.within {
        Some(limit) if took > limit => {
            Err(failure("time", format!("a reply within {limit:?}"), format!("{took:?}")).into())
        }
        _ => Ok(()),
    }
}

/// A long body takes its time: a second for each MiB is more than any service needs.
fn of_body(exchange: &Exchange) -> Duration {
    match &exchange.request.body {
        Body::Generated(generated) => Duration::from_secs(generated.bytes >> 20),
        _ => Duration::ZERO,
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

fn judged(exchange: &Exchange, answer: &Answer, bag: &mut Bag) -> Result<(), Failure> {
    judge(exchange, answer, bag).map_err(|mismatch| failure(&mismatch.what, mismatch.expected, mismatch.got))
}
