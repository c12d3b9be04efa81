//! Runs WebSocket scripts (RFC 6455) over HTTP/1.1 connections. Frames are sent exactly as the script defines them, valid or not;
//! received frames must be valid and must be the expected ones.

mod room;

use super::judge::{FailedExchange, failure};
use super::report::Failure;
use prony_config::contract::{Exchange, ExpectedFrame, Frame, FrameKind, ScriptStep};
use prony_load::CapturedValues;
use prony_protocols::client::{self, BodyFraming, Client, ClientError, Connection, Delivery, RawFrame};
use prony_protocols::request_values::Parameters;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The status of a successful handshake.
const SWITCHING_PROTOCOLS: u16 = 101;
/// The close code of the client.
const NORMAL_CLOSURE: u16 = 1000;
/// Bytes of a message in a failure.
const EXCERPT_LENGTH: usize = 40;

/// Runs a script on a new connection. Afterwards the client closes it, and the service must not have sent anything unexpected.
pub(super) fn run_script(
    client: &Client,
    exchange: &Exchange,
    (delivery, timeout): (Delivery, Duration),
) -> Result<(), FailedExchange> {
    let options = ScriptOptions {
        client,
        delivery,
        timeout,
        deadline: Instant::now() + timeout,
    };
    if matches!(exchange.script.first(), Some(ScriptStep::SwitchTo(_))) {
        return room::run_script(options, exchange);
    }
    let Some(mut session) = ScriptSession::open(options, exchange)? else {
        return Ok(());
    };
    for step in &exchange.script {
        match step {
            ScriptStep::Send(frame) => session.queue(frame),
            ScriptStep::Expect(ExpectedFrame::Echo) => session.expect_echo()?,
            ScriptStep::Expect(ExpectedFrame::Close(codes)) => return session.expect_close(codes),
            ScriptStep::SwitchTo(_) | ScriptStep::StopReading | ScriptStep::Abort => {
                unreachable!("invariant: a script has members from its first step on, or none")
            }
        }
    }
    session.queue(&Frame::new(
        FrameKind::Close,
        NORMAL_CLOSURE.to_be_bytes().to_vec(),
    ));
    session.expect_close(&[Some(NORMAL_CLOSURE)])
}

/// Additional time for the messages of a script: a second per MiB is more than any service needs.
pub(super) fn time_for_messages(script: &[ScriptStep]) -> Duration {
    let lengths = script.iter().map(|step| match step {
        ScriptStep::Send(frame) => frame.payload.len() as u64,
        _ => 0,
    });
    Duration::from_secs(lengths.sum::<u64>() >> 20)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Binary,
}

/// A complete message.
type Message = (Kind, Vec<u8>);

/// How a script runs.
#[derive(Debug, Clone, Copy)]
struct ScriptOptions<'a> {
    client: &'a Client,
    delivery: Delivery,
    /// Timeout of the whole script.
    timeout: Duration,
    deadline: Instant,
}

impl ScriptOptions<'_> {
    fn missing_reply(&self, error: &ClientError) -> FailedExchange {
        FailedExchange::missing_reply(error, self.timeout)
    }
}

/// A connection, and the frames that the service still owes on it.
struct ScriptSession<'a> {
    options: ScriptOptions<'a>,
    connection: Connection,
    /// Frames queued since the script last waited: they are sent in one packet.
    to_send: Vec<RawFrame>,
    /// Whether the client has sent a close frame.
    sent_close: bool,
    /// The message whose last fragment is not queued yet.
    unfinished: Option<Message>,
    /// Messages that the service has not echoed yet.
    owed: VecDeque<Message>,
    /// Pings without a pong.
    pings: VecDeque<Vec<u8>>,
    /// Number of received messages.
    received: usize,
}

impl<'a> ScriptSession<'a> {
    /// Opens a connection; `None` if the service refused it, as expected.
    fn open(options: ScriptOptions<'a>, exchange: &Exchange) -> Result<Option<Self>, FailedExchange> {
        let (connection, status) =
            handshake(options, exchange).map_err(|error| options.missing_reply(&error))?;
        let expected = &exchange.expect.status;
        if !expected.contains(&status) {
            let codes: Vec<String> = expected.iter().map(u16::to_string).collect();
            return Err(failure("status", codes.join(" or "), status.to_string()).into());
        }
        Ok((status == SWITCHING_PROTOCOLS).then(|| Self {
            options,
            connection,
            to_send: Vec::new(),
            sent_close: false,
            unfinished: None,
            owed: VecDeque::new(),
            pings: VecDeque::new(),
            received: 0,
        }))
    }

    fn queue(&mut self, frame: &Frame) {
        self.to_send.push(raw_frame(frame));
        match frame.kind {
            FrameKind::Text => self.unfinished = Some((Kind::Text, frame.payload.clone())),
            FrameKind::Binary => self.unfinished = Some((Kind::Binary, frame.payload.clone())),
            FrameKind::More => {
                if let Some((_, message)) = &mut self.unfinished {
                    message.extend_from_slice(&frame.payload);
                }
            }
            FrameKind::Ping => return self.pings.push_back(frame.payload.clone()),
            FrameKind::Pong => return,
            FrameKind::Close => {
                self.sent_close = true;
                return;
            }
        }
        if frame.is_final {
            self.owed.extend(self.unfinished.take());
        }
    }

    fn send(&mut self, deadline: Instant) -> Result<(), ClientError> {
        let frames = std::mem::take(&mut self.to_send);
        self.connection
            .send_frames(&frames, self.options.delivery, deadline)
    }

    /// Waits for the next frame that is not a ping. Pings are answered.
    fn next_frame(&mut self, deadline: Instant) -> Result<client::Frame, ClientError> {
        loop {
            match self.connection.next_frame(deadline)? {
                client::Frame::Ping(payload) => {
                    self.to_send
                        .push(raw_frame(&Frame::new(FrameKind::Pong, payload)));
                    self.send(deadline)?;
                }
                frame => return Ok(frame),
            }
        }
    }

    /// Waits until the service has echoed all messages and answered all pings.
    fn expect_echo(&mut self) -> Result<(), FailedExchange> {
        self.send(self.options.deadline)
            .map_err(|error| self.options.missing_reply(&error))?;
        while let Some(expected) = self.describe_next() {
            let got = match self.next_frame(self.options.deadline) {
                Ok(client::Frame::Text(bytes)) => {
                    self.check_message(&(Kind::Text, bytes))?;
                    continue;
                }
                Ok(client::Frame::Binary(bytes)) => {
                    self.check_message(&(Kind::Binary, bytes))?;
                    continue;
                }
                Ok(client::Frame::Pong(payload)) => {
                    self.check_pong(&payload)?;
                    continue;
                }
                Ok(client::Frame::Close(code)) => describe_close(code),
                Ok(client::Frame::Ping(_)) => unreachable!("invariant: pings are answered"),
                Err(error) if error.is_end() => "the end of the connection".to_owned(),
                Err(error) => return Err(self.options.missing_reply(&error)),
            };
            return Err(failure(&message_label(self.received + 1), expected, got).into());
        }
        Ok(())
    }

    /// Describes the next frame that the service owes.
    fn describe_next(&self) -> Option<String> {
        let message = self.owed.front().map(describe);
        message.or_else(|| Some(format!("a pong of `{}`", excerpt(self.pings.front()?))))
    }

    /// Waits for a close frame with one of these codes; nothing else may come before or after it.
    fn expect_close(&mut self, codes: &[Option<u16>]) -> Result<(), FailedExchange> {
        let expected = || {
            codes
                .iter()
                .map(|code| describe_close(*code))
                .collect::<Vec<_>>()
                .join(" or ")
        };
        let options = self.options;
        let missing_reply = |error| options.missing_reply(&error);
        self.send(options.deadline).map_err(missing_reply)?;
        loop {
            let message = match self.next_frame(options.deadline) {
                Ok(client::Frame::Text(bytes)) => (Kind::Text, bytes),
                Ok(client::Frame::Binary(bytes)) => (Kind::Binary, bytes),
                Ok(client::Frame::Pong(_)) => continue,
                Ok(client::Frame::Ping(_)) => unreachable!("invariant: pings are answered"),
                Ok(client::Frame::Close(code)) if codes.contains(&code) => break,
                Ok(client::Frame::Close(code)) => {
                    return Err(failure("close", expected(), describe_close(code)).into());
                }
                Err(error) if error.is_end() => {
                    let got = "the end of the connection without a close".to_owned();
                    return Err(failure("close", expected(), got).into());
                }
                Err(error) => return Err(missing_reply(error)),
            };
            return Err(failure("close", expected(), describe(&message)).into());
        }
        // The side that did not start the closing handshake answers it. The service may have closed the socket already.
        if !self.sent_close {
            self.queue(&Frame::new(FrameKind::Close, Vec::new()));
            self.send(options.deadline).map_err(missing_reply)?;
        }
        self.connection
            .wait_for_end(options.deadline)
            .map_err(missing_reply)?;
        if self.connection.unread() == 0 {
            return Ok(());
        }
        let got = format!("{} bytes more", self.connection.unread());
        Err(failure("behind the close", "the end of the connection".to_owned(), got).into())
    }

    /// Checks that a received message echoes the oldest message without an echo.
    fn check_message(&mut self, message: &Message) -> Result<(), Failure> {
        self.received += 1;
        let label = message_label(self.received);
        let Some(due) = self.owed.pop_front() else {
            let expected = "nothing but pongs".to_owned();
            return Err(failure(&label, expected, describe(message)));
        };
        if *message == due {
            return Ok(());
        }
        let difference = message.1.iter().zip(&due.1).position(|(one, other)| one != other);
        let got = match difference {
            Some(at) if message.1.len() == due.1.len() && at >= EXCERPT_LENGTH => {
                format!("{}, which differs at byte {at}", describe(message))
            }
            _ => describe(message),
        };
        Err(failure(&label, describe(&due), got))
    }

    fn check_pong(&mut self, payload: &[u8]) -> Result<(), Failure> {
        match self.pings.pop_front() {
            // An unsolicited pong is allowed (section 5.5.3).
            None => Ok(()),
            Some(due) if due == payload => Ok(()),
            Some(due) => {
                let [due, got] = [due.as_slice(), payload].map(|bytes| format!("`{}`", excerpt(bytes)));
                Err(failure("pong", due, got))
            }
        }
    }
}

/// Requests a WebSocket connection; returns the status of the reply.
fn handshake(options: ScriptOptions<'_>, exchange: &Exchange) -> Result<(Connection, u16), ClientError> {
    let request = options.client.prepare(&exchange.request, BodyFraming::Length)?;
    let mut connection = options.client.connect(options.deadline)?;
    // A script uses no captured values.
    let (parameters, captured) = (Parameters::new(&[], 0), CapturedValues::default());
    let values = parameters.values(0).with_captured(Some(&captured));
    let token = connection.start(&request, values);
    connection.send(options.delivery, options.deadline)?;
    let reply = connection.reply(token, options.deadline)?;
    Ok((connection, reply.status))
}

/// The frame as sent (RFC 6455, section 5.2).
fn raw_frame(frame: &Frame) -> RawFrame {
    RawFrame {
        opcode: match frame.kind {
            FrameKind::More => 0,
            FrameKind::Text => 1,
            FrameKind::Binary => 2,
            FrameKind::Close => 8,
            FrameKind::Ping => 9,
            FrameKind::Pong => 10,
        },
        is_final: frame.is_final,
        is_masked: frame.is_masked,
        payload: frame.payload.clone(),
    }
}

fn message_label(number: usize) -> String {
    format!("message {number}")
}

fn describe((kind, bytes): &Message) -> String {
    let kind = match kind {
        Kind::Text => "a text",
        Kind::Binary => "a binary message",
    };
    format!("{kind} of {} bytes, `{}`", bytes.len(), excerpt(bytes))
}

fn excerpt(bytes: &[u8]) -> String {
    prony_load::excerpt(&bytes[..bytes.len().min(EXCERPT_LENGTH)])
}

fn describe_close(code: Option<u16>) -> String {
    match code {
        Some(code) => format!("a close with code {code}"),
        None => "a close without a code".to_owned(),
    }
}
