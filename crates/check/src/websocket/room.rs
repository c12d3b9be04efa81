//! Runs scripts with several members: each message must reach every member of its room, in the same order for all.

use super::{
    Kind, Message, NORMAL_CLOSURE, ScriptOptions, ScriptSession, describe, describe_close, time_for_messages,
};
use crate::judge::{FailedExchange, failure};
use crate::report::Failure;
use prony_config::contract::{Exchange, ExpectedFrame, Frame, FrameKind, Member, ScriptStep};
use prony_load::Template;
use prony_protocols::client::{self, ClientError};
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

/// How long a member waits for a message: it is shorter than the script timeout, so that the failure can name the member.
const SILENCE: Duration = Duration::from_secs(5);

/// Runs a script of several members, each on its own connection. Afterwards the remaining members leave one after the other, and
/// the service must not have sent them anything unexpected.
pub(super) fn run_script(options: ScriptOptions<'_>, exchange: &Exchange) -> Result<(), FailedExchange> {
    let mut room = RoomScript {
        options,
        exchange,
        members: Vec::new(),
        sent: Vec::new(),
        current: 0,
    };
    for step in &exchange.script {
        match step {
            ScriptStep::SwitchTo(member) => room.switch_to(member)?,
            ScriptStep::Send(frame) => room.queue(frame),
            ScriptStep::Expect(ExpectedFrame::Echo) => room.receive_all()?,
            ScriptStep::Expect(ExpectedFrame::Close(codes)) => room.expect_close(room.current, codes)?,
            ScriptStep::StopReading => room.members[room.current].reads_nothing = true,
            ScriptStep::Abort => room.members[room.current].session = None,
        }
    }
    for number in 0..room.members.len() {
        room.leave(number)?;
    }
    Ok(())
}

/// A member that has joined.
struct RoomMember<'a> {
    name: String,
    path: Option<Vec<u8>>,
    /// `None` after its connection has ended.
    session: Option<ScriptSession<'a>>,
    /// Whether it has stopped reading.
    reads_nothing: bool,
}

/// The messages that a member received, and the error that stopped it from receiving the rest.
type MemberTranscript = (Vec<Message>, Result<(), ClientError>);

struct RoomScript<'a> {
    options: ScriptOptions<'a>,
    exchange: &'a Exchange,
    members: Vec<RoomMember<'a>>,
    /// Messages that are not received yet, each with the number of its sender.
    sent: Vec<(usize, Message)>,
    /// The number of the member that the script is at.
    current: usize,
}

impl RoomScript<'_> {
    fn switch_to(&mut self, member: &Member) -> Result<(), FailedExchange> {
        let known = self.members.iter().position(|known| known.name == member.name);
        self.current = match known {
            Some(number) => number,
            None => self.join(member)?,
        };
        Ok(())
    }

    /// Adds a member. A service may answer the handshake before it adds the member to the room, so the member sends a greeting and
    /// waits until it receives that itself.
    fn join(&mut self, member: &Member) -> Result<usize, FailedExchange> {
        // A new member must not receive earlier messages.
        self.receive_all()?;
        let mut exchange = self.exchange.clone();
        if let Some(path) = &member.path {
            exchange.request.path = Template::literal(path.clone());
        }
        let session = ScriptSession::open(self.options, &exchange)?;
        self.members.push(RoomMember {
            name: member.name.clone(),
            path: member.path.clone(),
            reads_nothing: session.is_none(),
            session,
        });
        self.current = self.members.len() - 1;
        let greeting = format!("{} is here: {:016x}", member.name, rand::random::<u64>());
        self.queue(&Frame::new(FrameKind::Text, greeting.into_bytes()));
        self.receive_all()?;
        Ok(self.current)
    }

    fn queue(&mut self, frame: &Frame) {
        let member = &mut self.members[self.current];
        if let Some(session) = &mut member.session {
            session.queue(frame);
            let sent = session.owed.drain(..).map(|message| (self.current, message));
            self.sent.extend(sent);
        }
    }

    /// Waits until every member has received all messages of its room.
    fn receive_all(&mut self) -> Result<(), FailedExchange> {
        let sent = std::mem::take(&mut self.sent);
        let timeout = SILENCE + time_for_messages(&self.exchange.script);
        let due: Vec<usize> = self
            .members
            .iter()
            .map(|member| {
                let here = sent
                    .iter()
                    .filter(|(by, _)| self.members[*by].path == member.path);
                here.count()
            })
            .collect();
        let deadline = Instant::now() + timeout;
        let transcripts: Vec<Option<MemberTranscript>> = thread::scope(|scope| {
            let mut readers = Vec::new();
            for (member, count) in self.members.iter_mut().zip(due) {
                let session = member.session.as_mut().filter(|_| !member.reads_nothing);
                readers.push(session.map(|session| scope.spawn(move || receive(session, count, deadline))));
            }
            let done = readers
                .into_iter()
                .map(|one| one.map(thread::ScopedJoinHandle::join));
            done.map(|one| {
                one.map(|result| result.expect("invariant: the thread of a member does not panic"))
            })
            .collect()
        });
        let mut first: Vec<(&Option<Vec<u8>>, usize)> = Vec::new();
        for (number, own) in transcripts.iter().enumerate() {
            let Some((messages, result)) = own else { continue };
            let member = &self.members[number];
            let known = first.iter().find(|(path, _)| **path == member.path);
            let order =
                known.and_then(|(_, number)| transcripts[*number].as_ref().map(|(messages, _)| messages));
            let mut judge = Judge::new(member, &self.members, &sent);
            if let (Some(order), Some((_, number))) = (order, known) {
                judge.check_same_order(messages, order, &self.members[*number].name)?;
            } else {
                first.push((&member.path, number));
                judge.check_all_due(messages)?;
            }
            if let Err(error) = result {
                return Err(FailedExchange {
                    failure: judge.missing_message(messages.len(), (error, timeout)),
                    timed_out: *error == ClientError::TimedOut,
                });
            }
        }
        Ok(())
    }

    /// Waits until the service closes a member's connection with one of these codes. The member's last message caused that, and no
    /// member may receive it.
    fn expect_close(&mut self, number: usize, codes: &[Option<u16>]) -> Result<(), FailedExchange> {
        self.sent.retain(|(by, _)| *by != number);
        let member = &mut self.members[number];
        let Some(mut session) = member.session.take() else {
            return Ok(());
        };
        session.expect_close(codes).map_err(|mut wrong| {
            wrong.failure.what = format!("{}, {}", member.name, wrong.failure.what);
            wrong
        })
    }

    /// Closes the connection of a member that must not receive anything more. A member that reads nothing is simply dropped.
    fn leave(&mut self, number: usize) -> Result<(), FailedExchange> {
        let member = &mut self.members[number];
        match &mut member.session {
            Some(session) if !member.reads_nothing => {
                session.queue(&Frame::new(
                    FrameKind::Close,
                    NORMAL_CLOSURE.to_be_bytes().to_vec(),
                ));
                self.expect_close(number, &[Some(NORMAL_CLOSURE)])
            }
            _ => Ok(()),
        }
    }
}

/// Sends the queued frames; receives this number of messages, and a pong for each ping.
fn receive(session: &mut ScriptSession<'_>, count: usize, deadline: Instant) -> MemberTranscript {
    let mut messages = Vec::new();
    let result = receive_into(session, count, (&mut messages, deadline));
    (messages, result)
}

fn receive_into(
    session: &mut ScriptSession<'_>,
    count: usize,
    (messages, deadline): (&mut Vec<Message>, Instant),
) -> Result<(), ClientError> {
    session.send(deadline)?;
    while messages.len() < count || !session.pings.is_empty() {
        match session.next_frame(deadline)? {
            client::Frame::Text(bytes) => messages.push((Kind::Text, bytes)),
            client::Frame::Binary(bytes) => messages.push((Kind::Binary, bytes)),
            client::Frame::Pong(payload) if session.pings.front() == Some(&payload) => {
                session.pings.pop_front();
            }
            client::Frame::Pong(_) => {}
            client::Frame::Ping(_) => unreachable!("invariant: pings are answered"),
            client::Frame::Close(code) => return Err(ClientError::Malformed(describe_close(code))),
        }
    }
    Ok(())
}

/// Judges the messages that one member received.
struct Judge<'a> {
    name: &'a str,
    /// The messages that are due from each sender, in the order in which it sent them.
    due: Vec<(usize, VecDeque<&'a Message>)>,
}

impl<'a> Judge<'a> {
    fn new(member: &'a RoomMember<'_>, members: &[RoomMember<'_>], sent: &'a [(usize, Message)]) -> Self {
        let mut due: Vec<(usize, VecDeque<&Message>)> = Vec::new();
        for (by, message) in sent.iter().filter(|(by, _)| members[*by].path == member.path) {
            match due.iter_mut().find(|(member, _)| member == by) {
                Some((_, messages)) => messages.push_back(message),
                None => due.push((*by, VecDeque::from([message]))),
            }
        }
        Self {
            name: &member.name,
            due,
        }
    }

    fn message_label(&self, number: usize) -> String {
        format!("{}, message {}", self.name, number + 1)
    }

    /// Describes the messages that may come next.
    fn describe_next(&self) -> String {
        let next = self.due.iter().filter_map(|(_, messages)| messages.front());
        let next: Vec<String> = next.map(|message| describe(message)).collect();
        next.join(" or ")
    }

    /// Checks that each message is the next one that is due from some sender.
    fn check_all_due(&mut self, received: &[Message]) -> Result<(), Failure> {
        for (number, message) in received.iter().enumerate() {
            let due = self.due.iter_mut().find(|(_, due)| due.front() == Some(&message));
            match due {
                Some((_, due)) => drop(due.pop_front()),
                None => {
                    return Err(failure(
                        &self.message_label(number),
                        self.describe_next(),
                        describe(message),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that the messages have the order in which the first member received them.
    fn check_same_order(
        &mut self,
        received: &[Message],
        order: &[Message],
        first: &str,
    ) -> Result<(), Failure> {
        for (number, message) in received.iter().enumerate() {
            match order.get(number) {
                Some(right) if right == message => {}
                Some(right) => {
                    let expected = format!("{}, as {first} received it", describe(right));
                    return Err(failure(&self.message_label(number), expected, describe(message)));
                }
                None => return self.check_all_due(received),
            }
        }
        // Removes the received messages from those that are due.
        self.check_all_due(received)
    }

    /// The failure of a member that received this number of messages and then none.
    fn missing_message(&self, received: usize, (error, timeout): (&ClientError, Duration)) -> Failure {
        let got = match error {
            error if error.is_end() => "the end of the connection".to_owned(),
            ClientError::TimedOut => format!("nothing within {timeout:?}"),
            error => error.to_string(),
        };
        let next = self.describe_next();
        let expected = if next.is_empty() {
            "a pong".to_owned()
        } else {
            next
        };
        failure(&self.message_label(received), expected, got)
    }
}
