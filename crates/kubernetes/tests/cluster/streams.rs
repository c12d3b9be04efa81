//! Commands in pods: a WebSocket whose messages start with the number of a stream (`v5.channel.k8s.io`).

use super::{Request, State};
use base64::Engine as _;
use ring::digest;
use serde_json::json;
use std::io::{BufReader, Read, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;

/// RFC 6455 appends this to the key of a client.
const KEY: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const PROTOCOL: &str = "v5.channel.k8s.io";
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const CLOSED: u8 = 255;

pub(super) fn serve(
    stream: &TcpStream,
    reader: BufReader<&TcpStream>,
    request: &Request,
    state: &Mutex<State>,
    home: &Path,
) {
    let key = request.header("sec-websocket-key").expect("a key");
    let hashed = digest::digest(
        &digest::SHA1_FOR_LEGACY_USE_ONLY,
        format!("{key}{KEY}").as_bytes(),
    );
    let accepted = base64::engine::general_purpose::STANDARD.encode(hashed);
    let offered = request.header("sec-websocket-protocol").expect("protocols");
    assert!(offered.contains(PROTOCOL), "{offered}");
    let head = format!(
        "HTTP/1.1 101 .\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {accepted}\r\n\
         sec-websocket-protocol: {PROTOCOL}\r\n\r\n"
    );
    (&mut &*stream).write_all(head.as_bytes()).expect("written");
    let writer = Mutex::new(stream);
    let refusal = state.lock().expect("not poisoned").no_command.clone();
    if let Some(refusal) = refusal {
        send(
            &writer,
            STATUS,
            json!({ "status": "Failure", "message": refusal })
                .to_string()
                .as_bytes(),
        );
        return;
    }
    let words = form_urlencoded::parse(request.query.as_bytes());
    let words: Vec<String> = words
        .filter(|(name, _)| name == "command")
        .map(|(_, word)| word.into_owned())
        .collect();
    let child = Command::new(&words[0])
        .args(&words[1..])
        .env("HOME", home)
        .env("PRONY_AGENT_CACHE", home.join("cache"))
        .env("PRONY_LOCKS", home.join("locks"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    state.lock().expect("not poisoned").processes.push(child.id());
    carry(child, reader, &writer);
}

fn carry(mut child: Child, mut reader: BufReader<&TcpStream>, writer: &Mutex<&TcpStream>) {
    let (stdout, stderr) = (
        child.stdout.take().expect("piped"),
        child.stderr.take().expect("piped"),
    );
    let mut stdin = child.stdin.take();
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Some(message) = message(&mut reader) {
                match message.split_first() {
                    Some((&STDIN, bytes)) => {
                        let gone = stdin
                            .as_mut()
                            .is_some_and(|stdin| stdin.write_all(bytes).is_err());
                        if gone {
                            stdin = None;
                        }
                    }
                    Some((&CLOSED, [STDIN])) => stdin = None,
                    other => panic!("{other:?}"),
                }
            }
            // The client is gone: this closes the input of the command.
        });
        scope.spawn(move || {
            thread::scope(|both| {
                both.spawn(|| pour(stdout, STDOUT, writer));
                both.spawn(|| pour(stderr, STDERR, writer));
            });
            let ended = child.wait().expect("waited for");
            let status = if ended.success() {
                json!({ "status": "Success" })
            } else {
                json!({ "status": "Failure", "message": format!("command terminated: {ended}") })
            };
            send(writer, STATUS, status.to_string().as_bytes());
            let stream = writer.lock().expect("not poisoned");
            let _ = stream.shutdown(std::net::Shutdown::Both);
        });
    });
}

fn pour(mut from: impl Read, channel: u8, writer: &Mutex<&TcpStream>) {
    let mut buffer = vec![0; 32 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        send(writer, channel, &buffer[..length]);
    }
}

/// Sends one unfragmented, unmasked message. Errors are ignored: the client may be gone.
fn send(writer: &Mutex<&TcpStream>, channel: u8, bytes: &[u8]) {
    let length = bytes.len() + 1;
    let mut frame = vec![0x82];
    match u16::try_from(length) {
        Ok(length @ ..126) => frame.push(length as u8),
        Ok(length) => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
        Err(_) => {
            frame.push(127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.push(channel);
    frame.extend(bytes);
    let stream = writer.lock().expect("not poisoned");
    let _ = (&mut &**stream).write_all(&frame);
}

/// The next binary message of the client; `None`: it has closed the connection.
fn message(reader: &mut impl Read) -> Option<Vec<u8>> {
    loop {
        let mut head = [0; 2];
        reader.read_exact(&mut head).ok()?;
        let length = match head[1] & 0x7f {
            126 => {
                let mut bytes = [0; 2];
                reader.read_exact(&mut bytes).ok()?;
                u64::from(u16::from_be_bytes(bytes))
            }
            127 => {
                let mut bytes = [0; 8];
                reader.read_exact(&mut bytes).ok()?;
                u64::from_be_bytes(bytes)
            }
            short => u64::from(short),
        };
        let mut mask = [0; 4];
        reader.read_exact(&mut mask).ok()?;
        let mut payload = vec![0; length as usize];
        reader.read_exact(&mut payload).ok()?;
        for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
            *byte ^= mask;
        }
        match head[0] & 0x0f {
            2 => return Some(payload),
            8 => return None,
            _ => {}
        }
    }
}
