//! Sends the requests of a case with the delivery that the case specifies, and judges the replies.

use super::clients::Clients;
use super::judge::{FailedExchange, check_message_count, failure, judge, missing_reply, reply_at_deadline};
use super::report::Failure;
use super::tally::{ReplyTraits, Tally};
use super::{SLOW_TIMEOUT, TIMEOUT, websocket};
use prony_config::contract::{Case, Delivery, Exchange, FileChange};
use prony_load::{Body, CapturedValues, Protocol};
use prony_protocols::client::{self, BodyFraming, ClientError, Connection, Reply};
use prony_protocols::protocol::Token;
use prony_protocols::request_values::Parameters;
use std::thread;
use std::time::{Duration, Instant};

/// Pause before a request is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// Sends the exchanges of one case.
#[derive(Clone, Copy)]
pub(super) struct CaseClient<'a> {
    clients: &'a Clients,
    /// Timeout of a request, without the time for its body.
    timeout: Duration,
}

/// How an exchange is sent, and the values captured from earlier replies of its case.
#[derive(Clone, Copy)]
struct ExchangeOptions<'a> {
    delivery: Delivery,
    captured: &'a CapturedValues,
}

/// What the exchanges of a case hand on.
#[derive(Default)]
struct CaseState {
    connection: Option<Connection>,
    captured: CapturedValues,
    tally: Tally,
}

impl<'a> CaseClient<'a> {
    pub(super) const fn for_case(clients: &'a Clients, case: &Case) -> Self {
        Self::with_timeout(clients, if case.thorough { SLOW_TIMEOUT } else { TIMEOUT })
    }

    pub(super) const fn with_timeout(clients: &'a Clients, timeout: Duration) -> Self {
        Self { clients, timeout }
    }

    fn protocol(&self) -> Option<Protocol> {
        self.clients.protocol()
    }

    /// Sends a request on a new connection.
    pub(super) fn reply_on_new_connection(&self, exchange: &Exchange) -> Result<Reply, ClientError> {
        let options = ExchangeOptions {
            delivery: Delivery::InTurn,
            captured: &CapturedValues::default(),
        };
        self.request(&mut None, exchange, options)
    }

    pub(super) fn run_case(&self, case: &Case) -> Tally {
        match case.delivery {
            Delivery::ManyConnections(connections) => self.run_on_connections(case, connections),
            Delivery::Packets(size) => self.send_packets(&case.exchanges, size),
            delivery => self.run_in_order(&mut case.exchanges.iter(), delivery),
        }
    }

    fn run_on_connections(&self, case: &Case, connections: usize) -> Tally {
        let mut tally = Tally::default();
        thread::scope(|scope| {
            let run_share = |index| {
                let mut exchanges = case.exchanges.iter().skip(index).step_by(connections);
                scope.spawn(move || self.run_in_order(&mut exchanges, Delivery::InTurn))
            };
            let under_way: Vec<_> = (0..connections).map(run_share).collect();
            for done in under_way {
                tally.merge(
                    done.join()
                        .expect("invariant: the thread of a connection does not panic"),
                );
            }
        });
        tally
    }

    fn run_in_order(&self, exchanges: &mut dyn Iterator<Item = &Exchange>, delivery: Delivery) -> Tally {
        let mut state = CaseState::default();
        for exchange in exchanges {
            if self.run_next(exchange, delivery, &mut state) {
                break;
            }
        }
        state.tally
    }

    /// Sends the exchanges one after the other. `change` changes the file that an exchange wants changed before it is sent.
    pub(super) fn run_with_changes<E>(
        &self,
        case: &Case,
        mut change: impl FnMut(&FileChange) -> Result<(), E>,
    ) -> Result<Tally, E> {
        let mut state = CaseState::default();
        for exchange in &case.exchanges {
            if let Some(wanted) = &exchange.change {
                change(wanted)?;
            }
            if self.run_next(exchange, case.delivery, &mut state) {
                break;
            }
        }
        Ok(state.tally)
    }

    /// Sends the next exchange of a case. Returns whether it timed out.
    fn run_next(&self, exchange: &Exchange, delivery: Delivery, state: &mut CaseState) -> bool {
        let result = self.run_until_valid(
            &mut state.connection,
            exchange,
            (delivery, &mut state.captured),
            &mut state.tally.traits,
        );
        let timed_out = matches!(&result, Err(wrong) if wrong.timed_out);
        state
            .tally
            .record(exchange, result.map_err(|wrong| wrong.failure));
        timed_out
    }

    /// Sends requests to backing services, one after the other.
    pub(super) fn ask_backing_services<'e>(&self, exchanges: impl Iterator<Item = &'e Exchange>) -> Tally {
        self.run_in_order(&mut { exchanges }, Delivery::InTurn)
    }

    /// Repeats an exchange that has a time limit for that, until it passes. What a backing service replies is no trait of the service.
    fn run_until_valid(
        &self,
        connection: &mut Option<Connection>,
        exchange: &Exchange,
        (delivery, captured): (Delivery, &mut CapturedValues),
        traits: &mut ReplyTraits,
    ) -> Result<(), FailedExchange> {
        let started = Instant::now();
        let (mut own_connection, mut own_traits) = (None, ReplyTraits::default());
        let (connection, traits) = match &exchange.backing_service {
            None => (connection, traits),
            Some(_) => (&mut own_connection, &mut own_traits),
        };
        loop {
            let result = self.run_exchange(connection, exchange, (delivery, &mut *captured), traits);
            match exchange.until {
                Some(limit) if result.is_err() && started.elapsed() < limit => thread::sleep(RETRY_PAUSE),
                _ => return result,
            }
        }
    }

    fn run_exchange(
        &self,
        connection: &mut Option<Connection>,
        exchange: &Exchange,
        (delivery, captured): (Delivery, &mut CapturedValues),
        traits: &mut ReplyTraits,
    ) -> Result<(), FailedExchange> {
        let started = Instant::now();
        if self.protocol() == Some(Protocol::WebSocket) {
            self.run_script(exchange, delivery)?;
            return check_duration(exchange, started.elapsed());
        }
        let reused = connection.is_some();
        let options = ExchangeOptions { delivery, captured };
        let mut result = self.request(connection, exchange, options);
        if reused && result.as_ref().is_err_and(ClientError::may_resend) {
            // The service closed the connection after the previous reply without announcing it.
            traits.closed += 1;
            result = self.request(connection, exchange, options);
        }
        if exchange.may_break_off
            && result
                .as_ref()
                .is_err_and(|error| *error != ClientError::TimedOut)
        {
            return Ok(());
        }
        let reply =
            result.map_err(|error| FailedExchange::missing_reply(&error, self.timeout_for(exchange)))?;
        if let Some(protocol) = self.protocol() {
            traits.count(&reply, protocol);
        }
        let took = started.elapsed();
        if reply.closes {
            *connection = None;
        }
        check_reply(exchange, &reply, captured)?;
        check_duration(exchange, took)
    }

    /// Runs the script of an exchange on a new WebSocket connection.
    fn run_script(&self, exchange: &Exchange, delivery: Delivery) -> Result<(), FailedExchange> {
        let timeout = self.timeout + websocket::time_for_messages(&exchange.script);
        let missing_reply = |error: &ClientError| FailedExchange::missing_reply(error, timeout);
        let client = self.clients.of_exchange(exchange);
        let client = client.map_err(|error| missing_reply(&error))?;
        websocket::run_script(client, exchange, (write_mode(delivery), timeout))
    }

    fn timeout_for(&self, exchange: &Exchange) -> Duration {
        self.timeout + time_for_body(exchange)
    }

    /// Sends a request and receives its reply. Drops the connection after an error.
    fn request(
        &self,
        connection: &mut Option<Connection>,
        exchange: &Exchange,
        options: ExchangeOptions<'_>,
    ) -> Result<Reply, ClientError> {
        let started = Instant::now();
        let deadline = started + self.timeout_for(exchange);
        let reply = self.request_on(connection, exchange, options, deadline);
        if reply.is_err() {
            *connection = None;
        }
        match reply {
            Err(error) => reply_at_deadline(exchange, &error, started).ok_or(error),
            Ok(mut reply) if self.protocol() == Some(Protocol::Grpc) => {
                check_message_count(exchange, &mut reply)?;
                Ok(reply)
            }
            Ok(reply) => Ok(reply),
        }
    }

    fn request_on(
        &self,
        connection: &mut Option<Connection>,
        exchange: &Exchange,
        options: ExchangeOptions<'_>,
        deadline: Instant,
    ) -> Result<Reply, ClientError> {
        let connection = self.connect_if_needed(connection, exchange, deadline)?;
        let token = self.start_request(connection, exchange, options)?;
        connection.send(write_mode(options.delivery), deadline)?;
        let reply = connection.reply(token, deadline)?;
        check_nothing_unread(connection)?;
        Ok(reply)
    }

    fn connect_if_needed<'c>(
        &self,
        connection: &'c mut Option<Connection>,
        exchange: &Exchange,
        deadline: Instant,
    ) -> Result<&'c mut Connection, ClientError> {
        match connection {
            Some(connection) => Ok(connection),
            None => Ok(connection.insert(self.clients.of_exchange(exchange)?.connect(deadline)?)),
        }
    }

    fn start_request(
        &self,
        connection: &mut Connection,
        exchange: &Exchange,
        options: ExchangeOptions<'_>,
    ) -> Result<Token, ClientError> {
        let framing = match options.delivery {
            Delivery::Chunked(size) => BodyFraming::Chunked(size),
            _ => BodyFraming::Length,
        };
        let client = self.clients.of_exchange(exchange)?;
        let request = client.prepare(&exchange.request, framing)?;
        let parameters = Parameters::new(&[], 0);
        let values = parameters.values(0).with_captured(Some(options.captured));
        Ok(connection.start(&request, values))
    }

    /// Sends `size` requests in one write and reads their replies in order.
    fn send_packets(&self, exchanges: &[Exchange], size: usize) -> Tally {
        let mut tally = Tally::default();
        let mut connection = None;
        for packet in exchanges.chunks(size) {
            if let Err((done, error)) = self.send_packet(&mut connection, packet, &mut tally) {
                connection = None;
                tally.record(&packet[done], Err(missing_reply(&error, self.timeout)));
            }
        }
        tally
    }

    /// On an error, also returns the index of the request without a reply.
    fn send_packet(
        &self,
        reusable: &mut Option<Connection>,
        packet: &[Exchange],
        tally: &mut Tally,
    ) -> Result<(), (usize, ClientError)> {
        let deadline = Instant::now() + self.timeout;
        let first = |error| (0, error);
        let options = ExchangeOptions {
            delivery: Delivery::InTurn,
            captured: &CapturedValues::default(),
        };
        let connection = self
            .connect_if_needed(reusable, &packet[0], deadline)
            .map_err(first)?;
        let tokens = packet
            .iter()
            .map(|exchange| self.start_request(connection, exchange, options));
        let tokens: Vec<Token> = tokens.collect::<Result<_, _>>().map_err(first)?;
        connection
            .send(client::Delivery::Whole, deadline)
            .map_err(first)?;
        for (index, (exchange, token)) in packet.iter().zip(tokens).enumerate() {
            let reply = connection
                .reply(token, deadline)
                .map_err(|error| (index, error))?;
            if let Some(protocol) = self.protocol() {
                tally.traits.count(&reply, protocol);
            }
            tally.record(
                exchange,
                check_reply(exchange, &reply, &mut CapturedValues::default()),
            );
            // A service that closes the connection after a reply gets a warning; the rest of the packet cannot be answered.
            if reply.closes {
                *reusable = None;
                return Ok(());
            }
        }
        check_nothing_unread(connection).map_err(|error| (packet.len() - 1, error))
    }
}

/// How the client writes the bytes of a delivery.
const fn write_mode(delivery: Delivery) -> client::Delivery {
    match delivery {
        Delivery::SingleBytes => client::Delivery::SingleBytes,
        _ => client::Delivery::Whole,
    }
}

fn check_duration(exchange: &Exchange, took: Duration) -> Result<(), FailedExchange> {
    match exchange.within {
        Some(limit) if took > limit => {
            Err(failure("time", format!("a reply within {limit:?}"), format!("{took:?}")).into())
        }
        _ => Ok(()),
    }
}

/// Additional time for a long body: a second per MiB is more than any service needs.
fn time_for_body(exchange: &Exchange) -> Duration {
    match &exchange.request.body {
        Body::Generated(generated) => Duration::from_secs(generated.bytes >> 20),
        _ => Duration::ZERO,
    }
}

fn check_nothing_unread(connection: &Connection) -> Result<(), ClientError> {
    match connection.unread() {
        0 => Ok(()),
        bytes => Err(ClientError::Malformed(format!(
            "{bytes} bytes after the end of the reply"
        ))),
    }
}

fn check_reply(exchange: &Exchange, reply: &Reply, captured: &mut CapturedValues) -> Result<(), Failure> {
    judge(exchange, reply, captured)
        .map_err(|mismatch| failure(&mismatch.what, mismatch.expected, mismatch.got))
}
