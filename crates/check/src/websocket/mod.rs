//! WebSocket (RFC 6455) over a connection of HTTP/1.1, strict in reading and free in writing: a talk says frames as they are
//! written, right or wrong, and whatever comes must be what it expects.

mod frames;
mod handshake;
mod room;

use super::exchange::{Fault, Wrong, failure};
use super::http1;
use super::report::Failure;
use super::stream::Endpoint;
use frames::{Came, Frames, Kind};
use prony_config::contract::{Exchange, Frame, FrameKind, Heard, Turn};
use std::collections::VecDeque;
use std::time::Duration;

/// The code with which the client leaves.
const NORMAL: u16 = 1000;
/// Bytes of a message that are shown.
const SHOWN: usize = 40;

/// Has a talk on a connection of its own. After it the client leaves, and nothing may have come beside what was expected.
pub(super) async fn talk(endpoint: &Endpoint, exchange: &Exchange, in_bytes: bool) -> Result<(), Wrong> {
    if matches!(exchange.script.first(), Some(Turn::By(_))) {
        return room::talk(endpoint, exchange, in_bytes).await;
    }
    let Some(mut talk) = Talk::open(endpoint, exchange, in_bytes).await? else {
        return Ok(());
    };
    for turn in &exchange.script {
        match turn {
            Turn::Say(frame) => talk.say(frame),
            Turn::Hear(Heard::Echo) => talk.echo().await?,
            Turn::Hear(Heard::Close(codes)) => return talk.end(codes).await,
            Turn::By(_) | Turn::Deaf | Turn::Cut => {
                unreachable!("invariant: a talk has members from its first turn on, or none")
            }
        }
    }
    talk.say(&Frame::new(FrameKind::Close, NORMAL.to_be_bytes().to_vec()));
    talk.end(&[Some(NORMAL)]).await
}

/// Time for what is said: a second for each MiB is more than any service needs.
pub(super) fn of_messages(talk: &[Turn]) -> Duration {
    let said = talk.iter().map(|turn| match turn {
        Turn::Say(frame) => frame.payload.len() as u64,
        _ => 0,
    });
    Duration::from_secs(said.sum::<u64>() >> 20)
}

/// A message, whole.
type Message = (Kind, Vec<u8>);

/// A connection, and what is still due on it.
struct Talk {
    connection: http1::Connection,
    frames: Frames,
    /// Whether it is sent byte by byte.
    in_bytes: bool,
    /// What was said since something was last waited for: it goes out in one packet.
    to_send: Vec<u8>,
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

impl Talk {
    /// Opens a connection; `None`: the service had to refuse it, and did.
    async fn open(endpoint: &Endpoint, exchange: &Exchange, in_bytes: bool) -> Result<Option<Self>, Wrong> {
        let mut connection = http1::Connection::open(endpoint).await?;
        let is_open = handshake::shake(&mut connection, endpoint.authority(), exchange, in_bytes).await?;
        Ok(is_open.then(|| Self {
            connection,
            frames: Frames::default(),
            in_bytes,
            to_send: Vec::new(),
            leaves: false,
            unfinished: None,
            owed: VecDeque::new(),
            pings: VecDeque::new(),
            heard: 0,
        }))
    }

    fn say(&mut self, frame: &Frame) {
        frames::write(frame, &mut self.to_send);
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

    async fn send(&mut self) -> Result<(), Fault> {
        let bytes = std::mem::take(&mut self.to_send);
        if self.in_bytes {
            self.connection.send_single_bytes(&bytes).await
        } else {
            self.connection.send(&bytes).await
        }
    }

    /// The next thing that comes. Pings are answered meanwhile.
    async fn next(&mut self) -> Result<Came, Fault> {
        loop {
            match self.frames.take(self.connection.received())? {
                Some(Came::Ping(payload)) => {
                    frames::write(&Frame::new(FrameKind::Pong, payload), &mut self.to_send);
                    self.send().await?;
                }
                Some(came) => return Ok(came),
                None => self.connection.more().await?,
            }
        }
    }

    /// All that was said comes back.
    async fn echo(&mut self) -> Result<(), Wrong> {
        self.send().await?;
        while let Some(due) = self.due() {
            let got = match self.next().await {
                Ok(Came::Message(kind, bytes)) => {
                    self.message(&(kind, bytes))?;
                    continue;
                }
                Ok(Came::Pong(payload)) => {
                    self.pong(&payload)?;
                    continue;
                }
                Ok(Came::Close(code)) => ended(code),
                Ok(Came::Ping(_)) => unreachable!("invariant: pings are answered"),
                Err(Fault::Closed | Fault::Cut(_)) => "the end of the connection".to_owned(),
                Err(fault) => return Err(fault.into()),
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
    async fn end(&mut self, codes: &[Option<u16>]) -> Result<(), Wrong> {
        let expected = || {
            codes
                .iter()
                .map(|code| ended(*code))
                .collect::<Vec<_>>()
                .join(" or ")
        };
        self.send().await?;
        loop {
            match self.next().await {
                Ok(Came::Message(kind, bytes)) => {
                    return Err(failure("close", expected(), shown(&(kind, bytes))).into());
                }
                Ok(Came::Pong(_)) => {}
                Ok(Came::Ping(_)) => unreachable!("invariant: pings are answered"),
                Ok(Came::Close(code)) if codes.contains(&code) => break,
                Ok(Came::Close(code)) => return Err(failure("close", expected(), ended(code)).into()),
                Err(Fault::Closed | Fault::Cut(_)) => {
                    let got = "the end of the connection without a close".to_owned();
                    return Err(failure("close", expected(), got).into());
                }
                Err(fault) => return Err(fault.into()),
            }
        }
        // Who did not begin with it answers it. The service may have left by now.
        if !self.leaves {
            self.say(&Frame::new(FrameKind::Close, Vec::new()));
            self.send().await?;
        }
        if self.connection.left_over() == 0 && self.connection.more().await.is_err() {
            return Ok(());
        }
        let got = format!("{} bytes more", self.connection.left_over());
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
