use super::*;
use crate::clock::now_ns;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Established connections, and their peers in the same order.
fn connected(count: u32) -> (Uring, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut uring =
        Uring::new(&Route::to(listener.local_addr().expect("an address")), count).expect("a ring");
    let mut peers = Vec::new();
    for number in 0..count {
        uring.connect(number).expect("a socket");
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut is_connected = false;
        while !is_connected && Instant::now() < deadline {
            uring.wait(10_000_000).expect("a wait");
            while let Some(event) = uring.next_event() {
                assert!(
                    matches!(event, Event::Connected(got) if got == number),
                    "{event:?}"
                );
                is_connected = true;
            }
        }
        assert!(is_connected);
        let (peer, _) = listener.accept().expect("the other side");
        peer.set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a limit");
        peers.push(peer);
    }
    // The receive requests are submitted with the next wait.
    uring.wait(0).expect("a wait");
    (uring, peers)
}

fn read(peer: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut got = vec![0; length];
    peer.read_exact(&mut got).expect("the bytes");
    got
}

/// Receives bytes from all connections until there are `wanted`.
fn receive(uring: &mut Uring, wanted: usize) {
    let (begin, mut got) = (Instant::now(), 0);
    while got < wanted && begin.elapsed() < Duration::from_mins(1) {
        uring.wait(1_000_000).expect("a wait");
        while let Some(event) = uring.next_event() {
            if let Event::Received(_, bytes) = event {
                got += bytes.len();
            }
        }
    }
    assert_eq!(got, wanted);
}

/// For example TLS, with its last handshake message and the first request, and HTTP/2, with the frames that respond
/// to two replies.
#[test]
fn sends_of_one_connection_leave_together() {
    let (mut uring, mut peers) = connected(2);
    uring.send(0, b"one ");
    uring.send(1, b"other");
    uring.send(0, b"two");
    uring.wait(0).expect("a wait");
    // Without another wait: everything was sent by the first.
    assert_eq!(read(&mut peers[0], 7), b"one two");
    assert_eq!(read(&mut peers[1], 5), b"other");
}

/// A timestamp taken right before the wait is therefore accurate.
#[test]
fn nothing_leaves_before_the_wait() {
    let count = 64;
    let (mut uring, mut peers) = connected(count);
    for number in 0..count - 1 {
        (0..20).for_each(|_| uring.send(number, b"x"));
    }
    uring.close(count - 1);
    for peer in &mut peers[..count as usize - 1] {
        peer.set_nonblocking(true).expect("an option");
        let early = peer.read(&mut [0; 64]).expect_err("nothing yet");
        assert_eq!(early.kind(), io::ErrorKind::WouldBlock);
        peer.set_nonblocking(false).expect("an option");
    }
    uring.wait(0).expect("a wait");
    for peer in &mut peers[..count as usize - 1] {
        assert_eq!(read(peer, 20), [b'x'; 20]);
    }
    let mut rest = Vec::new();
    peers[count as usize - 1].read_to_end(&mut rest).expect("the end");
    assert_eq!(rest, b"");
}

#[test]
fn a_full_socket_delays_no_other_and_loses_nothing() {
    let (mut uring, mut peers) = connected(2);
    let large: Vec<u8> = (0..16 << 20).map(|index| (index % 251) as u8).collect();
    uring.send(0, &large);
    peers[1].write_all(b"reply").expect("sent");
    let begin = Instant::now();
    let mut got = Vec::new();
    while got.is_empty() && begin.elapsed() < Duration::from_secs(25) {
        uring.wait(30_000_000_000).expect("a wait");
        while let Some(event) = uring.next_event() {
            if let Event::Received(1, bytes) = event {
                got.extend_from_slice(bytes);
            }
        }
    }
    assert_eq!(got, b"reply");
    assert!(
        begin.elapsed() < Duration::from_secs(25),
        "the reply waited for the upload"
    );
    // Bytes sent while the socket is full follow it, and precede later ones.
    uring.send(0, b"after");
    let mut peer = peers.swap_remove(0);
    let length = large.len();
    let reader = std::thread::spawn(move || read(&mut peer, length + 10));
    while !reader.is_finished() {
        uring.wait(1_000_000).expect("a wait");
        while uring.next_event().is_some() {}
        if !uring.wires[0].unsent.is_empty() {
            continue;
        }
        if begin.elapsed() < Duration::from_mins(2) && uring.wires[0].rest.is_empty() {
            uring.send(0, b"later");
            uring.wait(0).expect("a wait");
            break;
        }
    }
    while !reader.is_finished() && begin.elapsed() < Duration::from_mins(2) {
        uring.wait(1_000_000).expect("a wait");
        while uring.next_event().is_some() {}
    }
    let got = reader.join().expect("all of it");
    assert!(got[..length] == large[..], "the bytes differ");
    assert_eq!(&got[length..], b"afterlater");
    assert_eq!(
        uring.wires[0].rest.capacity(),
        0,
        "the memory of an upload is kept"
    );
}

#[test]
fn what_was_said_before_closing_still_goes() {
    let (mut uring, mut peers) = connected(1);
    uring.send(0, b"goodbye");
    uring.close(0);
    let mut got = Vec::new();
    peers[0].read_to_end(&mut got).expect("the end");
    assert_eq!(got, b"goodbye");
}

/// Few concurrent replies are received into few buffers, which stay in the caches, for any number of connections.
#[test]
fn no_more_buffers_are_offered_than_replies_came_at_once() {
    let (mut uring, mut peers) = connected(100);
    for _ in 0..3 {
        for peer in &mut peers {
            peer.write_all(b"reply").expect("sent");
            receive(&mut uring, 5);
        }
    }
    assert_eq!(uring.buffers.wanted(), 64);
    // All at once: more replies than buffers at first, then enough buffers.
    for _ in 0..20 {
        for peer in &mut peers {
            peer.write_all(b"reply").expect("sent");
        }
        receive(&mut uring, 500);
    }
    assert!(uring.buffers.wanted() <= 256);
}

#[test]
fn more_replies_than_buffers_all_come() {
    let (mut uring, mut peers) = connected(8);
    let piece = vec![7_u8; 3 << 20];
    let writers: Vec<_> = peers
        .drain(..)
        .map(|mut peer| {
            let piece = piece.clone();
            std::thread::spawn(move || peer.write_all(&piece).map(|()| peer))
        })
        .collect();
    receive(&mut uring, 8 * piece.len());
    // They came back full, so more buffers would not have helped.
    assert!(uring.buffers.wanted() <= 64, "{} buffers", uring.buffers.wanted());
    for writer in writers {
        drop(writer.join().expect("no panic"));
    }
}

/// The error of each connection's timestamp: half the time to the next one, or to the end of the wait.
fn errors(uring: &Uring, count: u32, over: u64) -> Vec<u64> {
    // The last call of a wait has an estimated duration, which may exceed the real one: the worker cuts it as well.
    let mut stamps: Vec<u64> = (0..count).map(|number| uring.left_at(number).min(over)).collect();
    assert!(
        stamps.is_sorted(),
        "they leave in the order in which they were handed over"
    );
    stamps.push(over);
    let later = |&stamp: &u64| {
        stamps
            .iter()
            .copied()
            .find(|&other| other > stamp)
            .unwrap_or(over)
    };
    stamps[..count as usize]
        .iter()
        .map(|stamp| (later(stamp) - stamp) / 2)
        .collect()
}

/// The kernel takes milliseconds for hundreds of sends: a single timestamp for all of them would be meaningless.
#[test]
fn in_a_large_batch_each_send_has_its_own_time() {
    let count = 512;
    let (mut uring, _peers) = connected(count);
    let mut all = Vec::new();
    for _ in 0..5 {
        let begin = now_ns();
        for number in 0..count {
            uring.send(number, &[b'x'; 100]);
        }
        uring.wait(0).expect("a wait");
        all.extend(errors(&uring, count, now_ns()));
        assert!((0..count).all(|number| uring.left_at(number) >= begin));
    }
    // The exceptions are stalls of the machine.
    let exact = all.iter().filter(|&&error| error <= 100_000).count();
    assert!(
        exact * 10 >= all.len() * 8,
        "{exact} of {} within 100 µs",
        all.len()
    );
}
