//! Rooms of a WebSocket on correct servers, and on ones that lose, swap, duplicate, mix and alter messages: the
//! counts must match the server's behavior.

use crate::toy::{MS, Server, arrivals, fails, job, read_request, run};
use prony_load::{
    Body, BodyRule, Expectation, Job, Load, Operation, Parameter, Part, Protocol, Request, Source, Spacing,
    Template, TransportChoice, Workload,
};
use prony_records::{Recording, Rooms, WarningKind};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

on_both_transports!(
    each_message_is_delivered_to_all,
    many_members_receive_at_once,
    threads_have_rooms_of_their_own,
    an_open_load_sends_messages_at_its_rate,
    large_binary_messages_come_to_all,
    what_is_lost_lowers_the_reach,
    another_order_for_one_is_wrong,
    what_comes_twice_ends_the_connection,
    a_message_of_another_room_is_reported,
    an_altered_message_is_reported,
    a_message_of_another_kind_is_wrong,
    a_member_that_is_cut_off_comes_back,
    a_connection_without_its_own_greeting_is_no_member,
    a_message_without_delivery_is_a_timeout,
);

/// The frames that a server sends to the member number `seat` for the `n`-th message of its room.
type FramesFn = dyn Fn(u64, usize, &Message, &mut Vec<Message>) -> Vec<Message> + Send + Sync;

struct Member {
    socket: WebSocket<TcpStream>,
    /// Messages held back for this member.
    held: Vec<Message>,
}

#[derive(Default)]
struct Room {
    members: Vec<Arc<Mutex<Member>>>,
    send_operation: u64,
}

/// Rooms by their paths. A sender holds the lock until all members have the message.
type RoomsByPath = Arc<Mutex<BTreeMap<String, Room>>>;

struct RoomServer {
    server: Server,
    house: RoomsByPath,
}

/// A server whose members receive the frames of `gives`. With `shared`, every message except greetings is delivered
/// to all rooms.
fn rooms(
    shared: bool,
    gives: impl Fn(u64, usize, &Message, &mut Vec<Message>) -> Vec<Message> + Send + Sync + 'static,
) -> RoomServer {
    let house = RoomsByPath::default();
    let (rooms, gives): (RoomsByPath, Arc<FramesFn>) = (Arc::clone(&house), Arc::new(gives));
    let server = Server::new(move |stream, _| {
        attend(stream, shared, &rooms, &*gives);
    });
    RoomServer { server, house }
}

fn attend(stream: TcpStream, shared: bool, house: &RoomsByPath, gives: &FramesFn) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let request = read_request(&mut reader)?;
    let key = request
        .head
        .lines()
        .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "))?;
    let accept = derive_accept_key(key.as_bytes());
    let name = request.line.split(' ').nth(1)?.to_owned();
    let switching = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    std::io::Write::write_all(&mut stream.try_clone().ok()?, switching.as_bytes()).ok()?;
    let socket = WebSocket::from_raw_socket(stream.try_clone().ok()?, Role::Server, None);
    let me = Arc::new(Mutex::new(Member {
        socket,
        held: Vec::new(),
    }));
    let mut rooms = house.lock().expect("no panic");
    rooms
        .entry(name.clone())
        .or_default()
        .members
        .push(Arc::clone(&me));
    drop(rooms);
    // A separate reading half, so that the others are not blocked while it reads.
    let mut reading = WebSocket::from_partially_read(stream, reader.buffer().to_vec(), Role::Server, None);
    while let Ok(message) = reading.read() {
        if message.is_text() || message.is_binary() {
            let greets = message
                .to_text()
                .is_ok_and(|text| text.starts_with("prony is here"));
            let mut rooms = house.lock().expect("no panic");
            for (_, room) in rooms
                .iter_mut()
                .filter(|(one, _)| shared && !greets || **one == name)
            {
                say(room, &message, greets, gives);
            }
        }
    }
    let mut rooms = house.lock().expect("no panic");
    let room = rooms.get_mut(&name)?;
    room.members.retain(|member| !Arc::ptr_eq(member, &me));
    Some(())
}

fn say(room: &mut Room, message: &Message, greets: bool, gives: &FramesFn) {
    room.send_operation += u64::from(!greets);
    let mut cut = Vec::new();
    for (seat, one) in room.members.iter().enumerate() {
        let mut member = one.lock().expect("no panic");
        let Member { socket, held } = &mut *member;
        let frames = if greets {
            vec![message.clone()]
        } else {
            gives(room.send_operation, seat, message, held)
        };
        for message in frames {
            if message.is_close() {
                let _ = socket.get_ref().shutdown(std::net::Shutdown::Both);
                cut.push(seat);
            } else {
                let _ = socket.send(message);
            }
        }
    }
    for seat in cut.into_iter().rev() {
        room.members.remove(seat);
    }
}

/// The behavior of a correct server.
fn right(_: u64, _: usize, message: &Message, _: &mut Vec<Message>) -> Vec<Message> {
    vec![message.clone()]
}

fn send_operation(kind: &str, message: Template) -> Operation {
    Operation {
        name: "say".into(),
        request: Request {
            method: kind.into(),
            path: Template(vec![Part::Literal("/ws/room/".into()), Part::Value(1)]),
            headers: Vec::new(),
            body: Body::Bytes(message.clone()),
        },
        expect: Expectation {
            status: vec![101],
            body: vec![BodyRule::Exact(message)],
            ..Expectation::default()
        },
    }
}

/// Numbered texts in `rooms` rooms of `members` members, each with `in_flight` messages in flight.
fn texts(
    setting: &RoomServer,
    transport: TransportChoice,
    (rooms, members): (u32, u32),
    in_flight: u32,
) -> Job {
    let mut job = job(setting.server.address, transport);
    job.protocol = Protocol::WebSocket;
    let text = Template(vec![Part::Literal("\u{20ac} ".into()), Part::Value(0)]);
    job.workload = Workload::of(send_operation("TEXT", text));
    let counter = |name: &str| Parameter {
        name: name.into(),
        source: Source::Counter { start: 7 },
    };
    job.workload.parameters = vec![counter("n"), counter("room")];
    job.load = Load::closed(rooms * members, in_flight).in_rooms(members, None);
    job
}

/// The job ends when this number of messages have an outcome.
fn with_request_limit(mut job: Job, messages: u64) -> Job {
    job.phases.measurement_ns = 60_000 * MS;
    job.limits.requests = Some(messages);
    job
}

fn all_valid(recording: &Recording) -> Rooms {
    assert_eq!(
        (
            recording.outcomes.errors(),
            recording.unexpected_replies.as_slice()
        ),
        (0, &[][..]),
        "{:?} {:?}",
        recording.outcomes,
        recording.warnings
    );
    assert!(recording.requests.valid > 0);
    let (messages, rooms) = messages(recording);
    let ids = messages.ids.expect("an order");
    assert_eq!((ids.missing, ids.doubled, ids.late), (0, 0, 0));
    assert_eq!(rooms.reached, rooms.expected);
    assert_eq!(rooms.expected, recording.requests.valid * rooms.members);
    rooms
}

fn messages(recording: &Recording) -> (prony_records::Messages, Rooms) {
    let messages = recording.messages.expect("messages");
    (messages, messages.rooms.expect("rooms"))
}

/// The recording reports a protocol violation with this reason.
fn violated(recording: &Recording, reason: &str) {
    let mut warnings = recording.warnings.iter();
    let reported = warnings
        .find(|one| one.kind == WarningKind::ProtocolError && one.text.contains("violated the protocol"));
    assert!(
        reported.is_some_and(|warning| warning.text.contains(reason)),
        "{:?}",
        recording.warnings
    );
}

fn each_message_is_delivered_to_all(transport: TransportChoice) {
    let setting = rooms(false, right);
    let recording = run(&texts(&setting, transport, (3, 4), 2));
    let rooms = all_valid(&recording);
    assert_eq!(rooms.members, 4);
    let paths: Vec<String> = setting.house.lock().expect("no panic").keys().cloned().collect();
    assert_eq!(paths, ["/ws/room/7", "/ws/room/8", "/ws/room/9"]);
    let (messages, rooms) = messages(&recording);
    // Some arrived after the end of the measurement.
    assert!(messages.received <= rooms.reached && messages.received > rooms.reached / 2);
    let (first, last) = (
        messages.first_ns.expect("times"),
        messages.last_ns.expect("times"),
    );
    let (delivery, response) = (
        rooms.delivery_ns.expect("times"),
        recording.valid_time_ns.expect("times"),
    );
    assert!(
        first.mean <= delivery.mean && delivery.mean <= last.mean,
        "{first:?} {delivery:?} {last:?}"
    );
    assert_eq!((last.p50, last.max), (response.p50, response.max));
    assert!(messages.streams.is_none() && messages.gap_ns.is_none());
}

fn many_members_receive_at_once(transport: TransportChoice) {
    let setting = rooms(false, right);
    let recording = run(&with_request_limit(texts(&setting, transport, (1, 70), 3), 300));
    let rooms = all_valid(&recording);
    assert_eq!(rooms.expected, 300 * 70);
}

fn threads_have_rooms_of_their_own(transport: TransportChoice) {
    let setting = rooms(false, right);
    let mut job = texts(&setting, transport, (3, 4), 2);
    job.threads = 2;
    all_valid(&run(&job));
    job.threads = 4;
    let reported = fails(&job).to_string();
    assert!(reported.contains("4 threads for 3 rooms"), "{reported}");
}

fn an_open_load_sends_messages_at_its_rate(transport: TransportChoice) {
    let setting = rooms(false, right);
    let mut job = texts(&setting, transport, (2, 3), 1);
    job.load = Load::Open {
        arrival: arrivals(500.0, Spacing::Even),
        connections: 6,
        in_flight: 4,
        backlog: 1_000,
        members: Some(3),
    };
    let recording = run(&job);
    let rooms = all_valid(&recording);
    assert_eq!((recording.requests.valid, rooms.expected), (150, 450));
    assert!(recording.schedule_lag_ns.is_some());
}

fn large_binary_messages_come_to_all(transport: TransportChoice) {
    let setting = rooms(false, right);
    let mut job = texts(&setting, transport, (2, 3), 1);
    let large = Template(vec![Part::Literal(vec![7_u8; 200_000].into()), Part::Value(0)]);
    job.workload.operations = vec![send_operation("BINARY", large)];
    let recording = run(&with_request_limit(job, 24));
    let rooms = all_valid(&recording);
    assert_eq!(rooms.reached, 72);
    assert!(recording.bytes.received >= 72 * 200_000);
}

/// Every tenth message of a room is not delivered to one of four members: as soon as the next one arrives, a lost
/// message is no longer awaited.
fn what_is_lost_lowers_the_reach(transport: TransportChoice) {
    let setting = rooms(false, |number, seat, message, _| {
        let is_lost = number.is_multiple_of(10) && seat == 2;
        if is_lost {
            Vec::new()
        } else {
            vec![message.clone()]
        }
    });
    let mut job = with_request_limit(texts(&setting, transport, (1, 4), 2), 2_000);
    job.timeout_ns = 20_000 * MS;
    let recording = run(&job);
    let (messages, rooms) = messages(&recording);
    // The very last message may be a lost one, with none after it.
    let lost = recording.outcomes.unexpected + recording.outcomes.timeout;
    // If the member that misses one is ahead of all others, the next message to it counts as out of order, too.
    assert!(
        (200..260).contains(&lost) && recording.outcomes.timeout <= 1,
        "{:?}",
        recording.outcomes
    );
    assert_eq!(rooms.expected, 8_000);
    assert!((7_720..=7_800).contains(&rooms.reached), "{rooms:?}");
    let ids = messages.ids.expect("an order");
    assert!((180..220).contains(&ids.missing) && ids.doubled == 0, "{ids:?}");
}

fn another_order_for_one_is_wrong(transport: TransportChoice) {
    // One member receives its messages in swapped pairs.
    let setting = rooms(false, |_, seat, message, held| {
        if seat != 1 {
            return vec![message.clone()];
        }
        match held.pop() {
            None => {
                held.push(message.clone());
                Vec::new()
            }
            Some(earlier) => vec![message.clone(), earlier],
        }
    });
    let recording = run(&with_request_limit(texts(&setting, transport, (1, 3), 4), 300));
    let (messages, rooms) = messages(&recording);
    assert!(
        messages
            .ids
            .is_some_and(|ids| ids.late >= 140 && ids.doubled == 0),
        "{messages:?}"
    );
    assert!(recording.outcomes.unexpected >= 140, "{:?}", recording.outcomes);
    let reported = &recording.unexpected_replies[0];
    assert!(reported.got.contains("out of order"), "{reported:?}");
    assert!(rooms.reached <= rooms.expected);
}

fn what_comes_twice_ends_the_connection(transport: TransportChoice) {
    let setting = rooms(false, |number, seat, message, _| match (number, seat) {
        (20, 1) => vec![message.clone(), message.clone()],
        _ => vec![message.clone()],
    });
    let recording = run(&with_request_limit(texts(&setting, transport, (1, 3), 2), 200));
    violated(&recording, "a message was delivered twice");
    let (messages, _) = messages(&recording);
    assert_eq!(messages.ids.map(|ids| ids.doubled), Some(1));
    assert!(recording.connections.reconnects >= 1);
    assert!(recording.requests.valid > 100, "{:?}", recording.outcomes);
}

fn a_message_of_another_room_is_reported(transport: TransportChoice) {
    let setting = rooms(true, right);
    let recording = run(&texts(&setting, transport, (2, 2), 1));
    violated(&recording, "a message from another room");
}

fn an_altered_message_is_reported(transport: TransportChoice) {
    let setting = rooms(false, |number, seat, message, _| match (number, seat) {
        (20, 1) => vec![Message::text("\u{20ac} something else")],
        _ => vec![message.clone()],
    });
    let recording = run(&with_request_limit(texts(&setting, transport, (1, 3), 2), 200));
    violated(&recording, "a message that no member of this room sent");
    assert!(recording.requests.valid > 100, "{:?}", recording.outcomes);
}

fn a_message_of_another_kind_is_wrong(transport: TransportChoice) {
    let setting = rooms(false, |_, seat, message, _| match message {
        Message::Text(text) if seat == 1 => vec![Message::binary(text.as_bytes().to_vec())],
        _ => vec![message.clone()],
    });
    let recording = run(&with_request_limit(texts(&setting, transport, (1, 3), 2), 100));
    assert_eq!(recording.outcomes.unexpected, 100);
    let reported = &recording.unexpected_replies[0];
    assert!(reported.got.contains("a binary one was received"), "{reported:?}");
}

/// The others still receive each other's messages, and the member that reconnects is a member again.
fn a_member_that_is_cut_off_comes_back(transport: TransportChoice) {
    let setting = rooms(false, |number, seat, message, _| match (number, seat) {
        (50, 1) => vec![Message::Close(None)],
        _ => vec![message.clone()],
    });
    let recording = run(&with_request_limit(texts(&setting, transport, (1, 3), 2), 400));
    assert_eq!(recording.connections.reconnects, 1, "{:?}", recording.outcomes);
    assert!(recording.requests.valid > 300, "{:?}", recording.outcomes);
    let (_, rooms) = messages(&recording);
    assert!(
        rooms.reached < rooms.expected && rooms.reached + 30 > rooms.expected,
        "{rooms:?}"
    );
}

fn a_connection_without_its_own_greeting_is_no_member(transport: TransportChoice) {
    let silent = Server::new(|stream, _| {
        // It completes the handshake, and sends nothing.
        let Ok(mut socket) = tungstenite::accept(stream) else {
            return;
        };
        while socket.read().is_ok() {}
    });
    let setting = RoomServer {
        server: silent,
        house: RoomsByPath::default(),
    };
    let mut job = texts(&setting, transport, (1, 2), 1);
    job.timeout_ns = 300 * MS;
    let reported = fails(&job).to_string();
    assert!(reported.contains("timeout"), "{reported}");
}

fn a_message_without_delivery_is_a_timeout(transport: TransportChoice) {
    let lost = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&lost);
    let setting = rooms(false, move |number, seat, message, _| {
        if number.is_multiple_of(50) {
            counting.fetch_add(u64::from(seat == 0), Ordering::Relaxed);
            return Vec::new();
        }
        vec![message.clone()]
    });
    let mut job = with_request_limit(texts(&setting, transport, (1, 2), 2), 150);
    job.timeout_ns = 300 * MS;
    let recording = run(&job);
    let outcomes = &recording.outcomes;
    assert_eq!(outcomes.timeout, lost.load(Ordering::Relaxed), "{outcomes:?}");
    assert_eq!(outcomes.errors(), outcomes.timeout);
    // Their connections continue.
    assert_eq!(recording.connections.reconnects, 0);
    let (_, rooms) = messages(&recording);
    assert_eq!(rooms.expected - rooms.reached, outcomes.timeout * 2);
}
