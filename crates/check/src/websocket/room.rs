//! Several members talk: what one says comes to every member of its room, in one order for all.

use super::{Kind, Message, NORMAL, ScriptOptions, ScriptSession, ended, of_messages, shown};
use crate::judge::{FailedExchange, failure};
use crate::report::Failure;
use prony_config::contract::{Exchange, ExpectedFrame, Frame, FrameKind, Member, ScriptStep};
use prony_load::Template;
use prony_protocols::client::{self, ClientError};
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

/// How long a member waits for a message: less than a whole talk may take, so that the failure can say who heard nothing.
const SILENCE: Duration = Duration::from_secs(5);

/// Has a talk of several members, each on a connection of its own. After it those who are left leave one after the other, and
/// nothing may have come beside what was expected.
pub(super) fn talk(way: ScriptOptions<'_>, exchange: &Exchange) -> Result<(), FailedExchange> {
    let mut room = RoomScript {
        way,
        exchange,
        guests: Vec::new(),
        said: Vec::new(),
        current: 0,
    };
    for turn in &exchange.script {
        match turn {
            ScriptStep::By(member) => room.turn_of(member)?,
            ScriptStep::Say(frame) => room.say(frame),
            ScriptStep::Hear(ExpectedFrame::Echo) => room.hear()?,
            ScriptStep::Hear(ExpectedFrame::Close(codes)) => room.end(room.current, codes)?,
            ScriptStep::Deaf => room.guests[room.current].is_deaf = true,
            ScriptStep::Cut => room.guests[room.current].talk = None,
        }
    }
    for number in 0..room.guests.len() {
        room.leave(number)?;
    }
    Ok(())
}

/// A member that has come in.
struct RoomMember<'a> {
    name: String,
    path: Option<Vec<u8>>,
    /// Its connection, until that is over.
    talk: Option<ScriptSession<'a>>,
    /// Whether it reads nothing any more.
    is_deaf: bool,
}

/// What a member heard, and why it is not more.
type MemberTranscript = (Vec<Message>, Result<(), ClientError>);

struct RoomScript<'a> {
    way: ScriptOptions<'a>,
    exchange: &'a Exchange,
    guests: Vec<RoomMember<'a>>,
    /// Who said what that was not heard yet.
    said: Vec<(usize, Message)>,
    /// Whose turn it is.
    current: usize,
}

impl RoomScript<'_> {
    fn turn_of(&mut self, member: &Member) -> Result<(), FailedExchange> {
        let known = self.guests.iter().position(|guest| guest.name == member.name);
        self.current = match known {
            Some(number) => number,
            None => self.enter(member)?,
        };
        Ok(())
    }

    /// A member comes in. A service may answer the handshake before it counts the member in; who has heard itself is in.
    fn enter(&mut self, member: &Member) -> Result<usize, FailedExchange> {
        // Who comes in must not hear what was said before.
        self.hear()?;
        let mut exchange = self.exchange.clone();
        if let Some(path) = &member.path {
            exchange.request.path = Template::literal(path.clone());
        }
        let talk = ScriptSession::open(self.way, &exchange)?;
        self.guests.push(RoomMember {
            name: member.name.clone(),
            path: member.path.clone(),
            is_deaf: talk.is_none(),
            talk,
        });
        self.current = self.guests.len() - 1;
        let greeting = format!("{} is here: {:016x}", member.name, rand::random::<u64>());
        self.say(&Frame::new(FrameKind::Text, greeting.into_bytes()));
        self.hear()?;
        Ok(self.current)
    }

    fn say(&mut self, frame: &Frame) {
        let guest = &mut self.guests[self.current];
        if let Some(talk) = &mut guest.talk {
            talk.say(frame);
            let said = talk.owed.drain(..).map(|message| (self.current, message));
            self.said.extend(said);
        }
    }

    /// All that was said comes to every member of the room in which it was said.
    fn hear(&mut self) -> Result<(), FailedExchange> {
        let said = std::mem::take(&mut self.said);
        let patience = SILENCE + of_messages(&self.exchange.script);
        let due: Vec<usize> = self
            .guests
            .iter()
            .map(|guest| {
                let here = said.iter().filter(|(by, _)| self.guests[*by].path == guest.path);
                here.count()
            })
            .collect();
        let deadline = Instant::now() + patience;
        let heard: Vec<Option<MemberTranscript>> = thread::scope(|scope| {
            let mut listening = Vec::new();
            for (guest, count) in self.guests.iter_mut().zip(due) {
                let talk = guest.talk.as_mut().filter(|_| !guest.is_deaf);
                listening.push(talk.map(|talk| scope.spawn(move || listen(talk, count, deadline))));
            }
            let done = listening
                .into_iter()
                .map(|one| one.map(thread::ScopedJoinHandle::join));
            done.map(|one| one.map(|heard| heard.expect("invariant: who listens does not panic")))
                .collect()
        });
        let mut first: Vec<(&Option<Vec<u8>>, usize)> = Vec::new();
        for (number, own) in heard.iter().enumerate() {
            let Some((messages, all)) = own else { continue };
            let guest = &self.guests[number];
            let known = first.iter().find(|(path, _)| **path == guest.path);
            let order = known.and_then(|(_, number)| heard[*number].as_ref().map(|(all, _)| all));
            let mut judge = Judge::new(guest, &self.guests, &said);
            if let (Some(order), Some((_, number))) = (order, known) {
                judge.same(messages, order, &self.guests[*number].name)?;
            } else {
                first.push((&guest.path, number));
                judge.own(messages)?;
            }
            if let Err(error) = all {
                return Err(FailedExchange {
                    failure: judge.silent(messages.len(), (error, patience)),
                    silent: *error == ClientError::TimedOut,
                });
            }
        }
        Ok(())
    }

    /// A member's connection ends with one of these codes. What it has just said is why, and goes to nobody.
    fn end(&mut self, number: usize, codes: &[Option<u16>]) -> Result<(), FailedExchange> {
        self.said.retain(|(by, _)| *by != number);
        let guest = &mut self.guests[number];
        let Some(mut talk) = guest.talk.take() else {
            return Ok(());
        };
        talk.end(codes).map_err(|mut wrong| {
            wrong.failure.what = format!("{}, {}", guest.name, wrong.failure.what);
            wrong
        })
    }

    /// A member leaves, and had nothing more to hear. Who reads nothing is left to be dropped.
    fn leave(&mut self, number: usize) -> Result<(), FailedExchange> {
        let guest = &mut self.guests[number];
        match &mut guest.talk {
            Some(talk) if !guest.is_deaf => {
                talk.say(&Frame::new(FrameKind::Close, NORMAL.to_be_bytes().to_vec()));
                self.end(number, &[Some(NORMAL)])
            }
            _ => Ok(()),
        }
    }
}

/// Sends what is to be sent, and takes this number of messages, and a pong for each ping.
fn listen(talk: &mut ScriptSession<'_>, count: usize, deadline: Instant) -> MemberTranscript {
    let mut heard = Vec::new();
    let all = listen_to(talk, count, (&mut heard, deadline));
    (heard, all)
}

fn listen_to(
    talk: &mut ScriptSession<'_>,
    count: usize,
    (heard, deadline): (&mut Vec<Message>, Instant),
) -> Result<(), ClientError> {
    talk.send(deadline)?;
    while heard.len() < count || !talk.pings.is_empty() {
        match talk.next(deadline)? {
            client::Frame::Text(bytes) => heard.push((Kind::Text, bytes)),
            client::Frame::Binary(bytes) => heard.push((Kind::Binary, bytes)),
            client::Frame::Pong(payload) if talk.pings.front() == Some(&payload) => {
                talk.pings.pop_front();
            }
            client::Frame::Pong(_) => {}
            client::Frame::Ping(_) => unreachable!("invariant: pings are answered"),
            client::Frame::Close(code) => return Err(ClientError::Malformed(ended(code))),
        }
    }
    Ok(())
}

/// What one member must hear.
struct Judge<'a> {
    name: &'a str,
    /// What of each member is due, in the order in which it was said: that order holds for each.
    due: Vec<(usize, VecDeque<&'a Message>)>,
}

impl<'a> Judge<'a> {
    fn new(guest: &'a RoomMember<'_>, guests: &[RoomMember<'_>], said: &'a [(usize, Message)]) -> Self {
        let mut due: Vec<(usize, VecDeque<&Message>)> = Vec::new();
        for (by, message) in said.iter().filter(|(by, _)| guests[*by].path == guest.path) {
            match due.iter_mut().find(|(member, _)| member == by) {
                Some((_, messages)) => messages.push_back(message),
                None => due.push((*by, VecDeque::from([message]))),
            }
        }
        Self {
            name: &guest.name,
            due,
        }
    }

    fn place(&self, number: usize) -> String {
        format!("{}, message {}", self.name, number + 1)
    }

    /// What may come next, in words.
    fn next(&self) -> String {
        let next = self.due.iter().filter_map(|(_, messages)| messages.front());
        let next: Vec<String> = next.map(|message| shown(message)).collect();
        next.join(" or ")
    }

    /// The first one that is heard of: each message is one that is due.
    fn own(&mut self, heard: &[Message]) -> Result<(), Failure> {
        for (number, message) in heard.iter().enumerate() {
            let said = self.due.iter_mut().find(|(_, due)| due.front() == Some(&message));
            match said {
                Some((_, due)) => drop(due.pop_front()),
                None => return Err(failure(&self.place(number), self.next(), shown(message))),
            }
        }
        Ok(())
    }

    /// The others hear what the first one did, in its order.
    fn same(&mut self, heard: &[Message], order: &[Message], first: &str) -> Result<(), Failure> {
        for (number, message) in heard.iter().enumerate() {
            match order.get(number) {
                Some(right) if right == message => {}
                Some(right) => {
                    let expected = format!("{}, as {first} heard it", shown(right));
                    return Err(failure(&self.place(number), expected, shown(message)));
                }
                None => return self.own(heard),
            }
        }
        // What is due now is known by what came.
        self.own(heard)
    }

    /// So many were heard, and then nothing more.
    fn silent(&self, heard: usize, (error, patience): (&ClientError, Duration)) -> Failure {
        let got = match error {
            error if error.is_end() => "the end of the connection".to_owned(),
            ClientError::TimedOut => format!("nothing within {patience:?}"),
            error => error.to_string(),
        };
        let next = self.next();
        let expected = if next.is_empty() {
            "a pong".to_owned()
        } else {
            next
        };
        failure(&self.place(heard), expected, got)
    }
}
