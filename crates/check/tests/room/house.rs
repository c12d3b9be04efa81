//! Rooms, and which members receive a message.

use super::server::Fault;
use std::collections::HashMap;
use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::protocol::frame::{Frame, FrameHeader};
use tungstenite::{Bytes, Message};

/// Maximum number of messages that wait for a slow member.
const QUEUE: usize = 256;
/// Room size that some faulty servers cannot exceed.
const FEW: usize = 10;

/// A member of a room. Messages to it wait in a queue.
#[derive(Clone)]
pub(super) struct QueuedMember {
    room: String,
    number: u64,
    queue: SyncSender<Vec<u8>>,
    stream: Arc<TcpStream>,
}

impl QueuedMember {
    /// Drops a member that is too far behind.
    pub(super) fn send(&self, bytes: Vec<u8>) {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(bytes) {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }

    /// Closes the connection after the queued messages.
    pub(super) fn end(&self) {
        self.send(Vec::new());
    }
}

#[derive(Default)]
struct Room {
    members: Vec<QueuedMember>,
    sent: u64,
    /// Messages that a faulty server delays.
    held: Vec<Vec<u8>>,
    history: Vec<Vec<u8>>,
    is_dead: bool,
}

pub(super) struct House {
    pub(super) fault: Fault,
    rooms: Mutex<(u64, HashMap<String, Room>)>,
}

impl House {
    pub(super) fn new(fault: Fault) -> Self {
        Self {
            fault,
            rooms: Mutex::default(),
        }
    }

    fn room_of(&self, name: &str) -> String {
        match self.fault {
            Fault::OneRoom => String::new(),
            Fault::IgnoresCase => name.to_lowercase(),
            Fault::CutsNames => name.chars().take(63).collect(),
            _ => name.to_owned(),
        }
    }

    pub(super) fn is_full(&self, name: &str) -> bool {
        let rooms = self.rooms.lock().expect("no panic");
        let room = rooms.1.get(name);
        self.fault == Fault::RefusesTheEleventh && room.is_some_and(|room| room.members.len() >= FEW)
    }

    pub(super) fn enter(&self, name: &str, mut stream: TcpStream) -> QueuedMember {
        let (queue, waiting) = sync_channel::<Vec<u8>>(QUEUE);
        let mut rooms = self.rooms.lock().expect("no panic");
        rooms.0 += 1;
        let member = QueuedMember {
            room: self.room_of(name),
            number: rooms.0,
            queue,
            stream: Arc::new(stream.try_clone().expect("a descriptor")),
        };
        std::thread::spawn(move || {
            while let Ok(bytes) = waiting.recv() {
                if bytes.is_empty() || stream.write_all(&bytes).is_err() {
                    break;
                }
            }
            let _ = stream.shutdown(Shutdown::Write);
        });
        let room = rooms.1.entry(member.room.clone()).or_default();
        if self.fault == Fault::Replays {
            room.history
                .iter()
                .for_each(|message| member.send(message.clone()));
        }
        room.members.push(member.clone());
        if self.fault == Fault::TellsWhoComes {
            let notice = frame(&Message::text("somebody has come"));
            room.members.iter().for_each(|member| member.send(notice.clone()));
        }
        member
    }

    /// Removes a member. Does nothing if it has left already.
    pub(super) fn leave(&self, member: &QueuedMember, politely: bool) {
        let mut rooms = self.rooms.lock().expect("no panic");
        let Some(room) = rooms.1.get_mut(&member.room) else {
            return;
        };
        let Some(index) = room
            .members
            .iter()
            .position(|other| other.number == member.number)
        else {
            return;
        };
        room.members.remove(index);
        let was_first = index == 0;
        let notice = frame(&Message::text("somebody has left"));
        match self.fault {
            Fault::TellsWhoLeaves => room.members.iter().for_each(|member| member.send(notice.clone())),
            Fault::StopsAfterLeave if politely => room.is_dead = true,
            Fault::StopsAfterCut if !politely => room.is_dead = true,
            Fault::EndsWithItsFirst if was_first => room.members.iter().for_each(QueuedMember::end),
            // Members that join later get no messages.
            Fault::StaysOver if room.members.is_empty() => room.is_dead = true,
            Fault::StaysOver => {}
            _ if room.members.is_empty() && !room.is_dead => drop(rooms.1.remove(&member.room)),
            _ => {}
        }
    }

    pub(super) fn bad_text(&self, member: &QueuedMember) {
        let rooms = self.rooms.lock().expect("no panic");
        let others = rooms
            .1
            .get(&member.room)
            .into_iter()
            .flat_map(|room| &room.members);
        let others = others.filter(|other| other.number != member.number);
        match self.fault {
            Fault::BadTextEndsAll => others.for_each(QueuedMember::end),
            Fault::SpreadsBadText => {
                let replaced = frame(&Message::text("\u{fffd}"));
                others.for_each(|other| other.send(replaced.clone()));
            }
            _ => {}
        }
    }

    /// Sends a message to every member, in the order in which the senders get the lock.
    pub(super) fn broadcast(&self, by: &QueuedMember, message: Message) {
        if self.fault == Fault::SenderHearsItselfFirst {
            by.send(frame(&message));
            // Long enough that other members that send now receive their own message first, too.
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut rooms = self.rooms.lock().expect("no panic");
        let Some(room) = rooms.1.get_mut(&by.room) else {
            return;
        };
        room.sent += 1;
        let is_lost = match self.fault {
            Fault::LosesEveryTenth => room.sent.is_multiple_of(10),
            Fault::LosesUnderLoad => room.members.len() > 1 && room.sent > 10 && room.sent.is_multiple_of(7),
            Fault::ForgetsEmpty => message.is_empty(),
            _ => false,
        };
        if is_lost || room.is_dead {
            return;
        }
        let message = self.changed(message);
        let bytes = frame(&message);
        if self.fault == Fault::Replays {
            room.history.push(bytes.clone());
        }
        let Room { members, held, .. } = room;
        for (index, member) in members.iter().enumerate() {
            let (is_one, is_own) = (index == 1, member.number == by.number);
            match self.fault {
                Fault::MissesSender if is_own && members.len() > 1 => {}
                Fault::MissesOthers if !is_own => {}
                Fault::MissesOne if is_one => {}
                Fault::MissesThoseBeyondTen if index >= FEW => {}
                Fault::AltersForOthers if !is_own => member.send(frame(&altered(message.clone()))),
                Fault::SenderHearsItselfFirst if is_own => {}
                Fault::DoublesForOne if is_one => member.send([bytes.clone(), bytes.clone()].concat()),
                Fault::Doubles => member.send([bytes.clone(), bytes.clone()].concat()),
                Fault::LagsForOne if is_one && members.len() > 2 => {
                    held.drain(..).for_each(|earlier| member.send(earlier));
                    held.push(bytes.clone());
                }
                Fault::TextsFirstForOne if is_one && message.is_binary() => held.push(bytes.clone()),
                Fault::TextsFirstForOne if is_one => {
                    member.send(bytes.clone());
                    held.drain(..).for_each(|earlier| member.send(earlier));
                }
                Fault::WaitsForTheSlow => {
                    let _ = (&*member.stream).write_all(&bytes);
                }
                _ => member.send(bytes.clone()),
            }
        }
    }

    fn changed(&self, message: Message) -> Message {
        match (self.fault, message) {
            (Fault::Alters, message) => altered(message),
            (Fault::TextForBinary, Message::Binary(bytes)) => match String::from_utf8(bytes.to_vec()) {
                Ok(text) => Message::text(text),
                Err(_) => Message::Binary(bytes),
            },
            (Fault::BinaryForText, Message::Text(text)) => Message::binary(text.as_bytes().to_vec()),
            (Fault::CutsAt64KiB, Message::Binary(bytes)) => {
                Message::binary(bytes[..bytes.len().min(65535)].to_vec())
            }
            (_, message) => message,
        }
    }
}

fn altered(message: Message) -> Message {
    match message {
        Message::Text(text) if text.ends_with(|last: char| last.is_ascii_alphanumeric()) => {
            Message::text(format!("{}~", &text[..text.len() - 1]))
        }
        message => message,
    }
}

fn frame(message: &Message) -> Vec<u8> {
    let (kind, bytes) = match message {
        Message::Text(text) => (Data::Text, text.as_bytes()),
        other => (
            Data::Binary,
            match other {
                Message::Binary(bytes) => &bytes[..],
                _ => &[][..],
            },
        ),
    };
    let header = FrameHeader {
        opcode: OpCode::Data(kind),
        ..FrameHeader::default()
    };
    let mut out = Vec::new();
    let frame = Frame::from_payload(header, Bytes::copy_from_slice(bytes));
    frame
        .format(&mut out)
        .expect("invariant: a vector takes all that is written");
    out
}
