//! WebSocket (RFC 6455) over a connection of HTTP/1.1, strict in reading and free in writing: a talk says frames as they are
//! written, right or wrong, and whatever comes must be what it expects.

mod room;

use super::judge::{FailedExchange, failure};
use super::report::Failure;
use prony_config::contract::{Exchange, ExpectedFrame, Frame, FrameKind, ScriptStep};
use prony_load::CapturedValues;
use prony_protocols::client::{self, BodyFraming, Client, ClientError, Connection, Delivery, RawFrame};
use prony_protocols::request_values::Parameters;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The status of a handshake that switches.
const SWITCHED: u16 = 101;
/// The code with which the client leaves.
const NORMAL: u16 = 1000;
/// Bytes of a message that are shown.
const SHOWN: usize = 40;

/// Has a talk on a connection of its own. After it the client leaves, and nothing may have come beside what was expected.
pub(super) fn talk(
    client: &Client,
    exchange: &Exchange,
    (delivery, patience): (Delivery, Duration),
) -> Result<(), FailedExchange> {
    let way = ScriptOptions {
        client,
        delivery,
        patience,
        deadline: Instant::now() + patience,
    };
    if matches!(exchange.script.first(), Some(ScriptStep::By(_))) {
        return room::talk(way, exchange);
    }
    let Some(mut talk) = ScriptSession::open(way, exchange)? else {
        return Ok(());
    };
    for turn in &exchange.script {
        match turn {
            ScriptStep::Say(frame) => talk.say(frame),
            ScriptStep::Hear(ExpectedFrame::Echo) => talk.echo()?,
            ScriptStep::Hear(ExpectedFrame::Close(codes)) => return talk.end(codes),
            ScriptStep::By(_) | ScriptStep::Deaf | ScriptStep::Cut => {
                unreachable!("invariant: a talk has members from its first turn on, or none")
            }
        }
    }
    talk.say(&Frame::new(FrameKind::Close, NORMAL.to_be_bytes().to_vec()));
    talk.end(&[Some(NORMAL)])
}

/// Time for what is said: a second for each MiB is more than any service needs.
pub(super) fn of_messages(talk: &[ScriptStep]) -> Duration {
    let said = talk.iter().map(|turn| match turn {
        ScriptStep::Say(frame) => frame.payload.len() as u64,
        _ => 0,
    });
    Duration::from_secs(said.sum::<u64>() >> 20)
}

/// What a message is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Binary,
}

/// A message, whole.
type Message = (Kind, Vec<u8>);

/// How a talk is had.
#[derive(Debug, Clone, Copy)]
struct ScriptOptions<'a> {
    client: &'a Client,
    delivery: Delivery,
    /// Time for all of it.
    patience: Duration,
    deadline: Instant,
}

impl ScriptOptions<'_> {
    fn unanswered(&self, error: &ClientError) -> FailedExchange {
        FailedExchange::unanswered(error, self.patience)
    }
}

/// A connection, and what is still due on it.
struct ScriptSession<'a> {
    way: ScriptOptions<'a>,
    connection: Connection,
    /// What was said since something was last waited for: it goes out in one packet.
    to_send: Vec<RawFrame>,
    /// Whether the client has said that it leaves.
    leaves: bool,
    /// The message whose last fragment was not said yet.
    unfinished: Option<Message>,
    /// Messages that have not come back yet.
    owed: VecDeque<Message>,
    /// Pings without a pong.
    pings: VecDeque<Vec<u8>>,
    /// Messages that came.
    heard: usize,
}

impl<'a> ScriptSession<'a> {
    /// Opens a connection; `None`: the service had to refuse it, and did.
    fn open(way: ScriptOptions<'a>, exchange: &Exchange) -> Result<Option<Self>, FailedExchange> {
        let (connection, status) = shake_hands(way, exchange).map_err(|error| way.unanswered(&error))?;
        let expected = &exchange.expect.status;
        if !expected.contains(&status) {
            let codes: Vec<String> = expected.iter().map(u16::to_string).collect();
            return Err(failure("status", codes.join(" or "), status.to_string()).into());
        }
        Ok((status == SWITCHED).then(|| Self {
            way,
            connection,
            to_send: Vec::new(),
            leaves: false,
            unfinished: None,
            owed: VecDeque::new(),
            pings: VecDeque::new(),
            heard: 0,
        }))
    }

    fn say(&mut self, frame: &Frame) {
        self.to_send.push(raw(frame));
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
                self.leaves = true;
                return;
            }
        }
        if frame.is_final {
            self.owed.extend(self.unfinished.take());
        }
    }

    fn send(&mut self, deadline: Instant) -> Result<(), ClientError> {
        let frames = std::mem::take(&mut self.to_send);
        self.connection.send_frames(&frames, self.way.delivery, deadline)
    }

    /// The next thing that comes. Pings are answered meanwhile.
    fn next(&mut self, deadline: Instant) -> Result<client::Frame, ClientError> {
        loop {
            match self.connection.next_frame(deadline)? {
                client::Frame::Ping(payload) => {
                    self.to_send.push(raw(&Frame::new(FrameKind::Pong, payload)));
                    self.send(deadline)?;
                }
                came => return Ok(came),
            }
        }
    }

    /// All that was said comes back.
    fn echo(&mut self) -> Result<(), FailedExchange> {
        self.send(self.way.deadline)
            .map_err(|error| self.way.unanswered(&error))?;
        while let Some(due) = self.due() {
            let got = match self.next(self.way.deadline) {
                Ok(client::Frame::Text(bytes)) => {
                    self.message(&(Kind::Text, bytes))?;
                    continue;
                }
                Ok(client::Frame::Binary(bytes)) => {
                    self.message(&(Kind::Binary, bytes))?;
                    continue;
                }
                Ok(client::Frame::Pong(payload)) => {
                    self.pong(&payload)?;
                    continue;
                }
                Ok(client::Frame::Close(code)) => ended(code),
                Ok(client::Frame::Ping(_)) => unreachable!("invariant: pings are answered"),
                Err(error) if error.is_end() => "the end of the connection".to_owned(),
                Err(error) => return Err(self.way.unanswered(&error)),
            };
            return Err(failure(&place(self.heard + 1), due, got).into());
        }
        Ok(())
    }

    /// What must come, in words.
    fn due(&self) -> Option<String> {
        let message = self.owed.front().map(shown);
        message.or_else(|| Some(format!("a pong of `{}`", excerpt(self.pings.front()?))))
    }

    /// The connection ends with one of these codes, and nothing else comes before or behind that.
    fn end(&mut self, codes: &[Option<u16>]) -> Result<(), FailedExchange> {
        let expected = || {
            codes
                .iter()
                .map(|code| ended(*code))
                .collect::<Vec<_>>()
                .join(" or ")
        };
        let way = self.way;
        let unanswered = |error| way.unanswered(&error);
        self.send(way.deadline).map_err(unanswered)?;
        loop {
            let message = match self.next(way.deadline) {
                Ok(client::Frame::Text(bytes)) => (Kind::Text, bytes),
                Ok(client::Frame::Binary(bytes)) => (Kind::Binary, bytes),
                Ok(client::Frame::Pong(_)) => continue,
                Ok(client::Frame::Ping(_)) => unreachable!("invariant: pings are answered"),
                Ok(client::Frame::Close(code)) if codes.contains(&code) => break,
                Ok(client::Frame::Close(code)) => {
                    return Err(failure("close", expected(), ended(code)).into());
                }
                Err(error) if error.is_end() => {
                    let got = "the end of the connection without a close".to_owned();
                    return Err(failure("close", expected(), got).into());
                }
                Err(error) => return Err(unanswered(error)),
            };
            return Err(failure("close", expected(), shown(&message)).into());
        }
        // Who did not begin with it answers it. The service may have left by now.
        if !self.leaves {
            self.say(&Frame::new(FrameKind::Close, Vec::new()));
            self.send(way.deadline).map_err(unanswered)?;
        }
        self.connection.wait_for_end(way.deadline).map_err(unanswered)?;
        if self.connection.unread() == 0 {
            return Ok(());
        }
        let got = format!("{} bytes more", self.connection.unread());
        Err(failure("behind the close", "the end of the connection".to_owned(), got).into())
    }

    /// The message that comes next is the one that was said first.
    fn message(&mut self, came: &Message) -> Result<(), Failure> {
        self.heard += 1;
        let place = place(self.heard);
        let Some(due) = self.owed.pop_front() else {
            let expected = "nothing but pongs".to_owned();
            return Err(failure(&place, expected, shown(came)));
        };
        if *came == due {
            return Ok(());
        }
        let differs = came.1.iter().zip(&due.1).position(|(one, other)| one != other);
        let got = match differs {
            Some(at) if came.1.len() == due.1.len() && at >= SHOWN => {
                format!("{}, which differs at byte {at}", shown(came))
            }
            _ => shown(came),
        };
        Err(failure(&place, shown(&due), got))
    }

    fn pong(&mut self, payload: &[u8]) -> Result<(), Failure> {
        match self.pings.pop_front() {
            // A pong that nobody asked for means nothing (section 5.5.3).
            None => Ok(()),
            Some(due) if due == payload => Ok(()),
            Some(due) => {
                let [due, got] = [due.as_slice(), payload].map(|bytes| format!("`{}`", excerpt(bytes)));
                Err(failure("pong", due, got))
            }
        }
    }
}

/// Asks for a WebSocket, and gives the status of the reply.
fn shake_hands(way: ScriptOptions<'_>, exchange: &Exchange) -> Result<(Connection, u16), ClientError> {
    let request = way.client.prepare(&exchange.request, BodyFraming::Length)?;
    let mut connection = way.client.connect(way.deadline)?;
    // Nothing of a talk depends on earlier replies.
    let (parameters, bag) = (Parameters::new(&[], 0), CapturedValues::default());
    let values = parameters.values(0).with_taken(Some(&bag));
    let token = connection.start(&request, values);
    connection.send(way.delivery, way.deadline)?;
    let reply = connection.reply(token, way.deadline)?;
    Ok((connection, reply.status))
}

/// A frame as it is sent (RFC 6455, section 5.2).
fn raw(frame: &Frame) -> RawFrame {
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

fn place(number: usize) -> String {
    format!("message {number}")
}

/// A message in words.
fn shown((kind, bytes): &Message) -> String {
    let kind = match kind {
        Kind::Text => "a text",
        Kind::Binary => "a binary message",
    };
    format!("{kind} of {} bytes, `{}`", bytes.len(), excerpt(bytes))
}

fn excerpt(bytes: &[u8]) -> String {
    prony_load::excerpt(&bytes[..bytes.len().min(SHOWN)])
}

/// The end of a connection in words.
fn ended(code: Option<u16>) -> String {
    match code {
        Some(code) => format!("a close with code {code}"),
        None => "a close without a code".to_owned(),
    }
}
