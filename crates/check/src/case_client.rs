//! Sends the requests of a case in the way that it asks for, and has their replies judged.

use super::case_result::Tally;
use super::judge::{FailedExchange, failure, judge, late, of_call, unanswered};
use super::reply_traits::ReplyTraits;
use super::report::Failure;
use super::{PATIENCE, THOROUGH_PATIENCE, websocket};
use prony_config::contract::{Case, Delivery, Exchange};
use prony_load::{Body, CapturedValues, Protocol};
use prony_protocols::client::{self, BodyFraming, Client, ClientError, Connection, Reply};
use prony_protocols::protocol::Token;
use prony_protocols::request_values::Parameters;
use std::thread;
use std::time::{Duration, Instant};

/// Pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(10);

/// Sends the exchanges of one case.
#[derive(Clone, Copy)]
pub(super) struct CaseClient<'a> {
    client: &'a Result<Client, ClientError>,
    /// A request without a complete reply after this long has failed.
    patience: Duration,
}

/// How an exchange is sent, and what earlier replies of its case gave.
#[derive(Clone, Copy)]
struct ExchangeOptions<'a> {
    delivery: Delivery,
    bag: &'a CapturedValues,
}

impl<'a> CaseClient<'a> {
    /// A client for one case.
    pub(super) const fn of(client: &'a Result<Client, ClientError>, case: &Case) -> Self {
        Self::patient(
            client,
            if case.thorough {
                THOROUGH_PATIENCE
            } else {
                PATIENCE
            },
        )
    }

    /// A client that waits this long for each reply.
    pub(super) const fn patient(client: &'a Result<Client, ClientError>, patience: Duration) -> Self {
        Self { client, patience }
    }

    fn client(&self) -> Result<&'a Client, ClientError> {
        self.client.as_ref().map_err(Clone::clone)
    }

    fn protocol(&self) -> Option<Protocol> {
        self.client.as_ref().ok().map(Client::protocol)
    }

    /// A request on a connection of its own.
    pub(super) fn once_alone(&self, exchange: &Exchange) -> Result<Reply, ClientError> {
        let sending = ExchangeOptions {
            delivery: Delivery::InTurn,
            bag: &CapturedValues::default(),
        };
        self.reply(&mut None, exchange, sending)
    }

    pub(super) fn case(&self, case: &Case) -> Tally {
        match case.delivery {
            Delivery::ManyConnections(connections) => self.spread(case, connections),
            Delivery::Packets(size) => self.packets(&case.exchanges, size),
            delivery => self.in_turn(&mut case.exchanges.iter(), delivery),
        }
    }

    fn spread(&self, case: &Case, connections: usize) -> Tally {
        let mut tally = Tally::default();
        thread::scope(|scope| {
            let share = |place| {
                let mut exchanges = case.exchanges.iter().skip(place).step_by(connections);
                scope.spawn(move || self.in_turn(&mut exchanges, Delivery::InTurn))
            };
            let under_way: Vec<_> = (0..connections).map(share).collect();
            for done in under_way {
                tally.merge(done.join().expect("invariant: a connection does not panic"));
            }
        });
        tally
    }

    fn in_turn(&self, exchanges: &mut dyn Iterator<Item = &Exchange>, delivery: Delivery) -> Tally {
        let mut tally = Tally::default();
        let mut line = None;
        let mut bag = CapturedValues::default();
        for exchange in exchanges {
            let result = self.until_right(&mut line, exchange, (delivery, &mut bag), &mut tally.traits);
            let silent = matches!(&result, Err(wrong) if wrong.silent);
            tally.record(exchange, result.map_err(|wrong| wrong.failure));
            if silent {
                break;
            }
        }
        tally
    }

    /// Repeats the exchange as long as it may be repeated and is not right.
    fn until_right(
        &self,
        line: &mut Option<Connection>,
        exchange: &Exchange,
        (delivery, bag): (Delivery, &mut CapturedValues),
        traits: &mut ReplyTraits,
    ) -> Result<(), FailedExchange> {
        let started = Instant::now();
        loop {
            let result = self.once(line, exchange, (delivery, &mut *bag), traits);
            match exchange.until {
                Some(limit) if result.is_err() && started.elapsed() < limit => thread::sleep(PAUSE),
                _ => return result,
            }
        }
    }

    fn once(
        &self,
        line: &mut Option<Connection>,
        exchange: &Exchange,
        (delivery, bag): (Delivery, &mut CapturedValues),
        traits: &mut ReplyTraits,
    ) -> Result<(), FailedExchange> {
        let started = Instant::now();
        if self.protocol() == Some(Protocol::WebSocket) {
            self.talk(exchange, delivery)?;
            return in_time(exchange, started.elapsed());
        }
        let reused = line.is_some();
        let sending = ExchangeOptions { delivery, bag };
        let mut result = self.reply(line, exchange, sending);
        if reused && result.as_ref().is_err_and(ClientError::may_resend) {
            // The service closed the connection after its last reply without announcing it.
            traits.closed += 1;
            result = self.reply(line, exchange, sending);
        }
        let reply =
            result.map_err(|error| FailedExchange::unanswered(&error, self.patience_for(exchange)))?;
        if let Some(protocol) = self.protocol() {
            traits.see(&reply, protocol);
        }
        let took = started.elapsed();
        if reply.closes {
            *line = None;
        }
        judged(exchange, &reply, bag)?;
        in_time(exchange, took)
    }

    /// What is said and heard on a WebSocket of its own.
    fn talk(&self, exchange: &Exchange, delivery: Delivery) -> Result<(), FailedExchange> {
        let patience = self.patience + websocket::of_messages(&exchange.script);
        let unanswered = |error: &ClientError| FailedExchange::unanswered(error, patience);
        let client = self.client().map_err(|error| unanswered(&error))?;
        websocket::talk(client, exchange, (writes(delivery), patience))
    }

    fn patience_for(&self, exchange: &Exchange) -> Duration {
        self.patience + of_body(exchange)
    }

    /// Sends a request and receives its reply; a connection that ended is forgotten.
    fn reply(
        &self,
        line: &mut Option<Connection>,
        exchange: &Exchange,
        sending: ExchangeOptions<'_>,
    ) -> Result<Reply, ClientError> {
        let started = Instant::now();
        let deadline = started + self.patience_for(exchange);
        let reply = self.reply_on(line, exchange, sending, deadline);
        if reply.is_err() {
            *line = None;
        }
        match reply {
            Err(error) => late(exchange, &error, started).ok_or(error),
            Ok(mut reply) if self.protocol() == Some(Protocol::Grpc) => {
                of_call(exchange, &mut reply)?;
                Ok(reply)
            }
            Ok(reply) => Ok(reply),
        }
    }

    fn reply_on(
        &self,
        line: &mut Option<Connection>,
        exchange: &Exchange,
        sending: ExchangeOptions<'_>,
        deadline: Instant,
    ) -> Result<Reply, ClientError> {
        let connection = self.connected(line, deadline)?;
        let token = self.start(connection, exchange, sending)?;
        connection.send(writes(sending.delivery), deadline)?;
        let reply = connection.reply(token, deadline)?;
        nothing_left(connection)?;
        Ok(reply)
    }

    fn connected<'line>(
        &self,
        line: &'line mut Option<Connection>,
        deadline: Instant,
    ) -> Result<&'line mut Connection, ClientError> {
        match line {
            Some(connection) => Ok(connection),
            None => Ok(line.insert(self.client()?.connect(deadline)?)),
        }
    }

    fn start(
        &self,
        connection: &mut Connection,
        exchange: &Exchange,
        sending: ExchangeOptions<'_>,
    ) -> Result<Token, ClientError> {
        let framing = match sending.delivery {
            Delivery::Chunked(size) => BodyFraming::Chunked(size),
            _ => BodyFraming::Length,
        };
        let request = self.client()?.prepare(&exchange.request, framing)?;
        let parameters = Parameters::new(&[], 0);
        let values = parameters.values(0).with_taken(Some(sending.bag));
        Ok(connection.start(&request, values))
    }

    /// Sends `size` requests in one write and reads their replies in order.
    fn packets(&self, exchanges: &[Exchange], size: usize) -> Tally {
        let mut tally = Tally::default();
        let mut line = None;
        for packet in exchanges.chunks(size) {
            if let Err((done, error)) = self.packet(&mut line, packet, &mut tally) {
                line = None;
                tally.record(&packet[done], Err(unanswered(&error, self.patience)));
            }
        }
        tally
    }

    /// The error says which request of the packet had no reply.
    fn packet(
        &self,
        line: &mut Option<Connection>,
        packet: &[Exchange],
        tally: &mut Tally,
    ) -> Result<(), (usize, ClientError)> {
        let deadline = Instant::now() + self.patience;
        let first = |error| (0, error);
        let sending = ExchangeOptions {
            delivery: Delivery::InTurn,
            bag: &CapturedValues::default(),
        };
        let connection = self.connected(line, deadline).map_err(first)?;
        let tokens = packet
            .iter()
            .map(|exchange| self.start(connection, exchange, sending));
        let tokens: Vec<Token> = tokens.collect::<Result<_, _>>().map_err(first)?;
        connection
            .send(client::Delivery::Whole, deadline)
            .map_err(first)?;
        for (place, (exchange, token)) in packet.iter().zip(tokens).enumerate() {
            let reply = connection
                .reply(token, deadline)
                .map_err(|error| (place, error))?;
            if let Some(protocol) = self.protocol() {
                tally.traits.see(&reply, protocol);
            }
            tally.record(exchange, judged(exchange, &reply, &mut CapturedValues::default()));
            // What closes after a reply cannot answer the next request: that is a warning.
            if reply.closes {
                *line = None;
                return Ok(());
            }
        }
        nothing_left(connection).map_err(|error| (packet.len() - 1, error))
    }
}

/// How the bytes of a delivery are written.
const fn writes(delivery: Delivery) -> client::Delivery {
    match delivery {
        Delivery::SingleBytes => client::Delivery::SingleBytes,
        _ => client::Delivery::Whole,
    }
}

fn in_time(exchange: &Exchange, took: Duration) -> Result<(), FailedExchange> {
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

fn nothing_left(connection: &Connection) -> Result<(), ClientError> {
    match connection.unread() {
        0 => Ok(()),
        bytes => Err(ClientError::Malformed(format!(
            "{bytes} bytes after the end of the reply"
        ))),
    }
}

fn judged(exchange: &Exchange, reply: &Reply, bag: &mut CapturedValues) -> Result<(), Failure> {
    judge(exchange, reply, bag).map_err(|mismatch| failure(&mismatch.what, mismatch.expected, mismatch.got))
}
