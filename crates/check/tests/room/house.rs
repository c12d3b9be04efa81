//! Rooms, their members, and who gets what.

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

/// Messages that are kept for a member who is behind.
const QUEUE: usize = 256;
/// Members in a room that is small to a wrong server.
const FEW: usize = 10;

/// A member's place in a room: what is sent to it waits in a queue.
#[derive(Clone)]
pub(super) struct QueuedMember {
    room: String,
    number: u64,
    queue: SyncSender<Vec<u8>>,
    stream: Arc<TcpStream>,
}

impl QueuedMember {
    /// Who is too far behind is dropped.
    pub(super) fn send(&self, bytes: Vec<u8>) {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(bytes) {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }

    /// Nothing is sent any more, once what waits was.
    pub(super) fn end(&self) {
        self.send(Vec::new());
    }
}

#[derive(Default)]
struct Room {
    seats: Vec<QueuedMember>,
    said: u64,
    /// What a wrong server keeps for later.
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
        self.fault == Fault::RefusesTheEleventh && room.is_some_and(|room| room.seats.len() >= FEW)
    }

    pub(super) fn enter(&self, name: &str, mut stream: TcpStream) -> QueuedMember {
        let (queue, waiting) = sync_channel::<Vec<u8>>(QUEUE);
        let mut rooms = self.rooms.lock().expect("no panic");
        rooms.0 += 1;
        let seat = QueuedMember {
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
        let room = rooms.1.entry(seat.room.clone()).or_default();
        if self.fault == Fault::Replays {
            room.history.iter().for_each(|message| seat.send(message.clone()));
        }
        room.seats.push(seat.clone());
        if self.fault == Fault::TellsWhoComes {
            let told = frame(&Message::text("somebody has come"));
            room.seats.iter().for_each(|seat| seat.send(told.clone()));
        }
        seat
    }

    /// Whoever has left before has not left again.
    pub(super) fn leave(&self, seat: &QueuedMember, politely: bool) {
        let mut rooms = self.rooms.lock().expect("no panic");
        let Some(room) = rooms.1.get_mut(&seat.room) else {
            return;
        };
        let Some(place) = room.seats.iter().position(|other| other.number == seat.number) else {
            return;
        };
        room.seats.remove(place);
        let was_first = place == 0;
        let told = frame(&Message::text("somebody has left"));
        match self.fault {
            Fault::TellsWhoLeaves => room.seats.iter().for_each(|seat| seat.send(told.clone())),
            Fault::StopsAfterLeave if politely => room.is_dead = true,
            Fault::StopsAfterCut if !politely => room.is_dead = true,
            Fault::EndsWithItsFirst if was_first => room.seats.iter().for_each(QueuedMember::end),
            // Whoever comes later sits in a room that nobody looks after.
            Fault::StaysOver if room.seats.is_empty() => room.is_dead = true,
            Fault::StaysOver => {}
            _ if room.seats.is_empty() && !room.is_dead => drop(rooms.1.remove(&seat.room)),
            _ => {}
        }
    }

    pub(super) fn bad_text(&self, seat: &QueuedMember) {
        let rooms = self.rooms.lock().expect("no panic");
        let others = rooms.1.get(&seat.room).into_iter().flat_map(|room| &room.seats);
        let others = others.filter(|other| other.number != seat.number);
        match self.fault {
            Fault::BadTextEndsAll => others.for_each(QueuedMember::end),
            Fault::SpreadsBadText => {
                let replaced = frame(&Message::text("\u{fffd}"));
                others.for_each(|other| other.send(replaced.clone()));
            }
            _ => {}
        }
    }

    /// A message goes to every member, in the order in which the lock is got.
    pub(super) fn say(&self, by: &QueuedMember, message: Message) {
        if self.fault == Fault::SenderHearsItselfFirst {
            by.send(frame(&message));
            // Long enough that others who speak now hear themselves, too.
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut rooms = self.rooms.lock().expect("no panic");
        let Some(room) = rooms.1.get_mut(&by.room) else {
            return;
        };
        room.said += 1;
        let is_lost = match self.fault {
            Fault::LosesEveryTenth => room.said.is_multiple_of(10),
            Fault::LosesUnderLoad => room.seats.len() > 1 && room.said > 10 && room.said.is_multiple_of(7),
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
        let Room { seats, held, .. } = room;
        for (place, seat) in seats.iter().enumerate() {
            let (is_one, is_own) = (place == 1, seat.number == by.number);
            match self.fault {
                Fault::MissesSender if is_own && seats.len() > 1 => {}
                Fault::MissesOthers if !is_own => {}
                Fault::MissesOne if is_one => {}
                Fault::MissesThoseBeyondTen if place >= FEW => {}
                Fault::AltersForOthers if !is_own => seat.send(frame(&altered(message.clone()))),
                Fault::SenderHearsItselfFirst if is_own => {}
                Fault::DoublesForOne if is_one => seat.send([bytes.clone(), bytes.clone()].concat()),
                Fault::Doubles => seat.send([bytes.clone(), bytes.clone()].concat()),
                Fault::LagsForOne if is_one && seats.len() > 2 => {
                    held.drain(..).for_each(|earlier| seat.send(earlier));
                    held.push(bytes.clone());
                }
                Fault::TextsFirstForOne if is_one && message.is_binary() => held.push(bytes.clone()),
                Fault::TextsFirstForOne if is_one => {
                    seat.send(bytes.clone());
                    held.drain(..).for_each(|earlier| seat.send(earlier));
                }
                Fault::WaitsForTheSlow => {
                    let _ = (&*seat.stream).write_all(&bytes);
                }
                _ => seat.send(bytes.clone()),
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

/// A message as a frame.
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
