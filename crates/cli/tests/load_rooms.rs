//! Loads with rooms: command lines, members of rooms, output, and what is rejected before the load.

use crate::common::{assert_refused, listen, prony, prony_line, recording_of, stderr_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::process::Output;
use std::sync::{Arc, Mutex};
use tungstenite::WebSocket;
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::protocol::Role;

/// The members of each room by its path, and the maximum number at the same time.
type House = Arc<Mutex<BTreeMap<String, (Vec<WebSocket<TcpStream>>, usize)>>>;

/// A server with rooms. Returns its port.
fn house() -> (u16, House) {
    let house = House::default();
    let rooms = Arc::clone(&house);
    let port = listen(move |stream| {
        stream.set_nodelay(true).ok()?;
        let writing = stream.try_clone().ok()?;
        let mut path = String::new();
        #[allow(clippy::result_large_err, reason = "the library's own type")]
        let note = |asked: &Request, answer: Response| -> Result<Response, ErrorResponse> {
            path = asked.uri().to_string();
            Ok(answer)
        };
        let mut reading = tungstenite::accept_hdr(stream, note).ok()?;
        let writing = WebSocket::from_raw_socket(writing, Role::Server, None);
        {
            let mut rooms = rooms.lock().expect("no panic");
            let (members, most) = rooms.entry(path.clone()).or_default();
            members.push(writing);
            *most = members.len().max(*most);
        }
        loop {
            let message = reading.read().ok()?;
            if message.is_text() || message.is_binary() {
                let mut rooms = rooms.lock().expect("no panic");
                let (members, _) = rooms.get_mut(&path)?;
                members.retain_mut(|member| member.send(message.clone()).is_ok());
            }
        }
    });
    (port, house)
}

fn load(arguments: &[&str]) -> Output {
    prony(&[&["load"], arguments].concat())
}

/// The JSON, which must match its schema.
fn recording(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(output));
    recording_of(output)
}

fn sizes(house: &House) -> Vec<(String, usize)> {
    let rooms = house.lock().expect("no panic");
    rooms
        .iter()
        .map(|(path, (_, most))| (path.clone(), *most))
        .collect()
}

#[test]
fn each_message_reaches_all_members_of_its_room() {
    let (port, house) = house();
    let url = format!("ws://127.0.0.1:{port}/ws/room/{{room}}");
    let output = load(&[&url, "--rooms", "2", "--members", "3", "-n", "60", "--json"]);
    let recording = recording(&output);
    assert_eq!(recording["outcomes"]["valid"], 60, "{recording:#}");
    let rooms = &recording["messages"]["rooms"];
    assert_eq!(
        (&rooms["members"], &rooms["expected"], &rooms["reached"]),
        (&3.into(), &180.into(), &180.into())
    );
    assert!(rooms["delivery_ns"]["p50"].is_u64() && recording["messages"]["ids"]["missing"] == 0);
    assert!(recording["messages"]["streams"].is_null());
    let expected = [1, 2].map(|number| (format!("/ws/room/{number}"), 3));
    assert_eq!(sizes(&house), expected);
}

#[test]
fn a_name_and_the_number_of_connections_may_be_typed() {
    let (port, house) = house();
    let url = format!("ws://127.0.0.1:{port}/{{room:hex(6)}}");
    let output = prony_line(&format!(
        "load {url} -c 8 --members 4 --rate 200 -d 300ms --in-flight 4"
    ));
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    for part in [
        "    delivery, ",
        "delivery     100 %       240 of 240",
        "order        0 missing   0 duplicated, 0 late",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let sizes = sizes(&house);
    assert!(
        sizes.len() == 2 && sizes.iter().all(|(path, most)| path.len() == 7 && *most == 4),
        "{sizes:?}"
    );
}

#[test]
fn what_makes_no_sense_is_refused_before_the_load() {
    let (port, _) = house();
    let ws = format!("ws://127.0.0.1:{port}/{{room}}");
    let ws = ws.as_str();
    let cases: [(&[&str], &str); 6] = [
        (
            &["http://127.0.0.1:1/", "--members", "4"],
            "--members applies to messages of a WebSocket",
        ),
        (&[ws, "--rooms", "4"], "--members"),
        (
            &[ws, "--rooms", "4", "--members", "2", "-c", "8"],
            "cannot be used",
        ),
        (&[ws, "--members", "0"], "0 is not in"),
        (&[ws, "--members", "5", "--users", "4"], "cannot be used"),
        (
            &[ws, "--members", "5", "-c", "8"],
            "8 connections in rooms of 5: give whole rooms",
        ),
    ];
    for (arguments, part) in cases {
        let output = load(arguments);
        assert_refused(&output, part);
    }
}
