//! HTTP/2 against a real nginx, and against a scripted server with behavior that is rare in real servers.

use crate::wire::nginx::{self, large_body};
use crate::wire::peer::*;
use crate::wire::*;
use prony_generator::EngineError;
use prony_load::{Load, Protocol};
use prony_records::WarningKind;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const HELLO: &[u8] = b"Hello, World!";
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const HEADER_TABLE_SIZE: u16 = 1;

#[test]
fn nginx_by_prior_knowledge() {
    let server = nginx::start("h2c", "http2", "keepalive_requests 1000000;");
    let load = job(server.port, Protocol::Http2, (4, 16), expecting(get("/"), HELLO));
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        assert_eq!(recording.protocol, "http2");
        assert_eq!(
            recording.status_codes.get("200"),
            Some(&recording.requests.completed)
        );
        assert_eq!(
            (
                recording.connections.established,
                recording.connections.reconnects
            ),
            (4, 0)
        );
    });
}

#[test]
fn nginx_sends_large_bodies_and_takes_them() {
    let server = nginx::start("h2c-large", "http2", "");
    let load = with_request_limit(
        job(
            server.port,
            Protocol::Http2,
            (2, 3),
            expecting(get("/large"), &large_body()),
        ),
        12,
    );
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        assert!(recording.bytes.received > 1 << 20);
    });
    // Its window is 64 KiB: the body is sent in parts, and nginx may reply before it has received all of them.
    let load = with_request_limit(
        job(
            server.port,
            Protocol::Http2,
            (2, 3),
            expecting(post("/", &large_body()), HELLO),
        ),
        100,
    );
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        assert!(recording.bytes.sent > 1 << 20);
    });
}

#[test]
fn nginx_says_no() {
    let server = nginx::start("h2c-404", "http2", "keepalive_requests 1000000;");
    let load = job(server.port, Protocol::Http2, (1, 2), get("/missing"));
    on_each_transport(&load, |recording| {
        assert_eq!(recording.outcomes.status, recording.requests.offered);
        assert_eq!(
            recording.status_codes.get("404"),
            Some(&recording.requests.completed)
        );
        assert_eq!(recording.unexpected_replies[0].what, "status");
    });
}

#[test]
fn nginx_ends_its_connections_and_no_request_is_lost() {
    let server = nginx::start("h2c-goaway", "http2", "keepalive_requests 100;");
    let load = job(server.port, Protocol::Http2, (2, 32), expecting(get("/"), HELLO));
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        assert!(recording.connections.reconnects > 0);
    });
    let mut open = load.clone();
    open.load = Load::Open {
        arrival: prony_load::Arrival {
            profile: prony_load::Profile::Constant {
                rate: prony_load::Rate::per_second(3000.0).expect("a rate"),
            },
            spacing: prony_load::Spacing::Even,
        },
        connections: 2,
        in_flight: 32,
        backlog: 1_000_000,
        members: None,
    };
    on_each_transport(&open, |recording| {
        assert_all_valid(recording);
        assert_eq!(recording.requests.offered, 900);
    });
}

#[test]
fn users_come_over_http2() {
    let server = nginx::start("h2c-users", "http2", "keepalive_requests 3;");
    let mut load = job(server.port, Protocol::Http2, (1, 1), expecting(get("/"), HELLO));
    load.load = Load::Users {
        arrival: prony_load::Arrival {
            profile: prony_load::Profile::Constant {
                rate: prony_load::Rate::per_second(100.0).expect("a rate"),
            },
            spacing: prony_load::Spacing::Even,
        },
        requests_per_user: 7,
        think_ns: 0,
        max_users: 100,
    };
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        // A connection accepts three requests, so a user needs several connections. Users that are not done at the
        // end leave.
        assert!(recording.requests.valid > 30 * 4, "{:?}", recording.requests);
    });
}

/// Replies to every request on each connection.
fn answer_all(stream: TcpStream, settings: &[(u16, u32)], body: &[u8]) {
    let Some(mut peer) = Peer::greet(stream, settings) else {
        return;
    };
    while let Some(stream) = peer.next_request() {
        if peer.answer(stream, body).is_none() {
            return;
        }
    }
}

#[test]
fn goaway_in_the_middle() {
    // Ten get a reply; requests received after them are left unprocessed.
    let server = ScriptedServer::start(|stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        let mut last = 0;
        for _ in 0..10 {
            let Some(stream) = peer.next_request() else { return };
            last = stream;
            if peer.answer(stream, HELLO).is_none() {
                return;
            }
        }
        if peer.go_away(last).is_some() {
            peer.linger();
        }
    });
    let load = job(server.port, Protocol::Http2, (2, 8), expecting(get("/"), HELLO));
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        assert!(recording.connections.reconnects > 0);
        assert!(warns_of(recording, "were resent"));
    });
}

/// A long stream does not keep other requests from using a new connection: here it ends only after that one has had a
/// reply.
#[test]
fn after_goaway_others_do_not_wait_for_the_last_stream() {
    let begun = Arc::new(AtomicU64::new(0));
    let (tell, reported) = mpsc::channel();
    let (tell, reported) = (Mutex::new(tell), Mutex::new(reported));
    let with_request_limit = Arc::clone(&begun);
    let server = ScriptedServer::start(move |stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        if with_request_limit.fetch_add(1, Ordering::SeqCst) % 2 == 1 {
            while let Some(stream) = peer.next_request() {
                if peer.answer(stream, HELLO).is_none() {
                    return;
                }
                let _ = tell.lock().expect("no panic").send(());
            }
            return;
        }
        let Some(slow) = peer.next_request() else { return };
        let Some(last) = peer.next_request() else { return };
        if peer.answer(last, HELLO).is_none() || peer.go_away(last).is_none() {
            return;
        }
        let answered = reported.lock().expect("no panic").recv_timeout(PATIENCE);
        assert!(answered.is_ok(), "no request used another connection");
        if peer.answer(slow, HELLO).is_some() {
            peer.linger();
        }
    });
    let mut load = job(server.port, Protocol::Http2, (1, 4), expecting(get("/"), HELLO));
    load.load = Load::Open {
        arrival: prony_load::Arrival {
            profile: prony_load::Profile::Constant {
                rate: prony_load::Rate::per_second(100.0).expect("a rate"),
            },
            spacing: prony_load::Spacing::Even,
        },
        connections: 1,
        in_flight: 4,
        backlog: 1_000_000,
        members: None,
    };
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        assert_eq!(recording.connections.reconnects, 1);
    });
    assert_eq!(begun.load(Ordering::SeqCst), 4);
}

/// How long a service allows no stream.
const PAUSE: Duration = Duration::from_millis(400);

/// Allows no stream for a while from the first request on, then all.
fn pause_after_the_first(stream: TcpStream) -> Option<()> {
    let mut peer = Peer::greet(stream, &[(MAX_CONCURRENT_STREAMS, 10)])?;
    let allow = |count: u32| [&MAX_CONCURRENT_STREAMS.to_be_bytes()[..], &count.to_be_bytes()].concat();
    let stream = peer.next_request()?;
    peer.write(SETTINGS, 0, 0, &allow(0));
    peer.answer(stream, HELLO)?;
    std::thread::sleep(PAUSE);
    peer.write(SETTINGS, 0, 0, &allow(10));
    peer.flush()?;
    loop {
        let stream = peer.next_request()?;
        peer.answer(stream, HELLO)?;
    }
}

/// A closed load would have sent at once: the pause of the service is part of response times, whatever the load.
#[test]
fn a_pause_without_streams_is_part_of_response_times() {
    let server = ScriptedServer::start(|stream, _| {
        pause_after_the_first(stream);
    });
    let closed = with_request_limit(
        job(server.port, Protocol::Http2, (2, 1), expecting(get("/"), HELLO)),
        24,
    );
    let mut open = closed.clone();
    open.load = Load::Open {
        arrival: prony_load::Arrival {
            profile: prony_load::Profile::Constant {
                rate: prony_load::Rate::per_second(1000.0).expect("a rate"),
            },
            spacing: prony_load::Spacing::Even,
        },
        connections: 2,
        in_flight: 1,
        backlog: 1_000_000,
        members: None,
    };
    for load in [closed, open] {
        on_each_transport(&load, |recording| {
            assert_all_valid(recording);
            let longest = recording.valid_time_ns.as_ref().expect("replies").max;
            assert!(longest >= PAUSE.as_nanos() as u64 / 2, "{longest}");
            assert!(
                !warns_of(recording, "concurrent streams"),
                "{:?}",
                recording.warnings
            );
        });
    }
}

/// The requests that wait time out, like those on any server that does not answer.
#[test]
fn a_service_that_never_allows_a_stream_answers_nothing() {
    let server = ScriptedServer::start(|stream, _| {
        if let Some(mut peer) = Peer::greet(stream, &[(MAX_CONCURRENT_STREAMS, 0)]) {
            while peer.next().is_some() {}
        }
    });
    let mut load = job(server.port, Protocol::Http2, (2, 3), expecting(get("/"), HELLO));
    load.timeout_ns = 50_000_000;
    let mut open = load.clone();
    open.load = Load::Open {
        arrival: prony_load::Arrival {
            profile: prony_load::Profile::Constant {
                rate: prony_load::Rate::per_second(100.0).expect("a rate"),
            },
            spacing: prony_load::Spacing::Even,
        },
        connections: 2,
        in_flight: 3,
        backlog: 1_000_000,
        members: None,
    };
    let mut users = load.clone();
    users.load = Load::Users {
        arrival: prony_load::Arrival {
            profile: prony_load::Profile::Constant {
                rate: prony_load::Rate::per_second(100.0).expect("a rate"),
            },
            spacing: prony_load::Spacing::Even,
        },
        requests_per_user: 2,
        think_ns: 0,
        max_users: 100,
    };
    for load in [load, open, users] {
        on_each_transport(&load, |recording| {
            assert!(recording.outcomes.timeout > 0, "{:?}", recording.outcomes);
            assert_eq!((recording.requests.sent, recording.requests.valid), (0, 0));
            assert!(
                warns_of(recording, "MAX_CONCURRENT_STREAMS"),
                "{:?}",
                recording.warnings
            );
        });
    }
}

/// The case of a service that is not ready for more yet.
#[test]
fn a_service_that_allows_no_stream_at_first_is_waited_for() {
    let server = ScriptedServer::start(|stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[(MAX_CONCURRENT_STREAMS, 0)]) else {
            return;
        };
        // The acknowledgement of its settings has arrived: now it allows streams.
        while peer
            .next()
            .is_some_and(|frame| frame.header.kind != SETTINGS || frame.header.flags & ACK == 0)
        {}
        let mut allowed = MAX_CONCURRENT_STREAMS.to_be_bytes().to_vec();
        allowed.extend_from_slice(&10_u32.to_be_bytes());
        peer.write(SETTINGS, 0, 0, &allowed);
        if peer.flush().is_none() {
            return;
        }
        while let Some(stream) = peer.next_request() {
            if peer.answer(stream, HELLO).is_none() {
                return;
            }
        }
    });
    let load = job(server.port, Protocol::Http2, (2, 4), expecting(get("/"), HELLO));
    on_each_transport(&with_request_limit(load, 24), |recording| {
        assert_all_valid(recording);
        assert!(
            !warns_of(recording, "MAX_CONCURRENT_STREAMS"),
            "{:?}",
            recording.warnings
        );
    });
}

#[test]
fn a_refused_stream_is_sent_again_and_a_reset_one_is_an_error() {
    let resets = Arc::new(AtomicU64::new(0));
    let with_request_limit = Arc::clone(&resets);
    let server = ScriptedServer::start(move |stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        let mut number = 0u64;
        while let Some(stream) = peer.next_request() {
            number += 1;
            let done = match number % 10 {
                3 => {
                    peer.write(RST_STREAM, 0, stream, &[0, 0, 0, 7]);
                    peer.flush()
                }
                7 => {
                    with_request_limit.fetch_add(1, Ordering::Relaxed);
                    peer.write(RST_STREAM, 0, stream, &[0, 0, 0, 2]);
                    peer.flush()
                }
                _ => peer.answer(stream, HELLO),
            };
            if done.is_none() {
                return;
            }
        }
    });
    let load = job(server.port, Protocol::Http2, (1, 8), expecting(get("/"), HELLO));
    on_each_transport(&load, |recording| {
        let expected = resets.swap(0, Ordering::Relaxed);
        assert!(expected > 0);
        assert_eq!(recording.outcomes.reset, expected);
        assert_eq!(recording.outcomes.errors(), expected);
        assert_eq!(recording.outcomes.total(), recording.requests.offered);
    });
}

#[test]
fn a_server_that_refuses_always_is_not_asked_for_ever() {
    let server = ScriptedServer::start(|stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        while let Some(stream) = peer.next_request() {
            peer.write(RST_STREAM, 0, stream, &[0, 0, 0, 7]);
            if peer.flush().is_none() {
                return;
            }
        }
    });
    let load = job(server.port, Protocol::Http2, (1, 4), get("/"));
    on_each_transport(&load, |recording| {
        assert!(recording.outcomes.reset > 0);
        assert_eq!(recording.outcomes.reset, recording.requests.offered);
    });
}

#[test]
fn tiny_windows_are_never_overrun() {
    const WINDOW: u32 = 10;
    let body: Vec<u8> = (0..95u8).collect();
    let server = ScriptedServer::start(|stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[(INITIAL_WINDOW_SIZE, WINDOW)]) else {
            return;
        };
        let mut bodies: std::collections::HashMap<u32, Vec<u8>> = std::collections::HashMap::new();
        while let Some(frame) = peer.next() {
            let stream = frame.header.stream;
            match frame.header.kind {
                HEADERS => drop(bodies.insert(stream, Vec::new())),
                DATA => {
                    assert!(frame.payload.len() <= WINDOW as usize, "the window is overrun");
                    let body = bodies.get_mut(&stream).expect("an open stream");
                    body.extend_from_slice(&frame.payload);
                    let grant = (frame.payload.len() as u32).to_be_bytes();
                    peer.write(WINDOW_UPDATE, 0, 0, &grant);
                    if frame.ends_stream() {
                        let body = bodies.remove(&stream).unwrap_or_default();
                        peer.write(HEADERS, END_HEADERS, stream, OK);
                        peer.write(DATA, END_STREAM, stream, &body);
                    } else {
                        peer.write(WINDOW_UPDATE, 0, stream, &grant);
                    }
                    if peer.flush().is_none() {
                        return;
                    }
                }
                _ => {}
            }
        }
    });
    let load = job(
        server.port,
        Protocol::Http2,
        (2, 5),
        expecting(post("/", &body), &body),
    );
    on_each_transport(&load, assert_all_valid);
}

#[test]
fn settings_that_change_are_obeyed() {
    // The limits for open streams and for the header table change every 20 replies.
    const ROUNDS: [[(u16, u32); 2]; 3] = [
        [(MAX_CONCURRENT_STREAMS, 2), (HEADER_TABLE_SIZE, 0)],
        [(MAX_CONCURRENT_STREAMS, 9), (HEADER_TABLE_SIZE, 100)],
        [(MAX_CONCURRENT_STREAMS, 5), (HEADER_TABLE_SIZE, 4096)],
    ];
    let server = ScriptedServer::start(|stream, _| {
        let Some(mut peer) = Peer::greet(stream, &ROUNDS[0]) else {
            return;
        };
        let mut decoder = prony_protocols::http2::hpack::Decoder::new(1 << 16);
        let mut fields = prony_protocols::http2::hpack::Fields::default();
        let (mut waiting, mut answered) = (std::collections::VecDeque::new(), 0usize);
        // The larger one of the limits that the client may still use.
        let (mut allowed, mut next_allowed) = (2, 2);
        while let Some(frame) = peer.next() {
            match frame.header.kind {
                SETTINGS if frame.header.flags & ACK != 0 => allowed = next_allowed,
                HEADERS => {
                    decoder.decode(&frame.payload, &mut fields).expect("a block");
                    assert!(fields.iter().any(|field| field == (b":path", b"/changing")));
                    waiting.push_back(frame.header.stream);
                    assert!(
                        waiting.len() <= allowed.max(next_allowed),
                        "more streams than allowed"
                    );
                }
                _ => continue,
            }
            let Some(stream) = waiting.pop_front() else {
                continue;
            };
            if peer.answer(stream, HELLO).is_none() {
                return;
            }
            answered += 1;
            if answered % 20 == 0 {
                let settings = ROUNDS[answered / 20 % ROUNDS.len()];
                next_allowed = settings[0].1 as usize;
                let mut payload = Vec::new();
                for (identifier, value) in settings {
                    payload.extend_from_slice(&identifier.to_be_bytes());
                    payload.extend_from_slice(&value.to_be_bytes());
                }
                peer.write(SETTINGS, 0, 0, &payload);
                if peer.flush().is_none() {
                    return;
                }
            }
        }
    });
    let load = with_request_limit(
        job(
            server.port,
            Protocol::Http2,
            (1, 16),
            expecting(get("/changing"), HELLO),
        ),
        100,
    );
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        assert!(recording.requests.valid > 60);
    });
}

#[test]
fn blocks_in_pieces_and_padded_bodies() {
    let body = large_body();
    let sent = body.clone();
    let server = ScriptedServer::start(move |stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        while let Some(stream) = peer.next_request() {
            let mut block = OK.to_vec();
            for number in 0..200 {
                block.extend(literal(&format!("x-{number}"), &"v".repeat(100)));
            }
            let mut pieces = block.chunks(1000);
            let first = pieces.next().unwrap_or_default();
            peer.write(HEADERS, 0, stream, first);
            for piece in pieces {
                peer.write(CONTINUATION, 0, stream, piece);
            }
            peer.write(CONTINUATION, END_HEADERS, stream, &[]);
            for piece in sent.chunks(10_000) {
                let padded = [&[200][..], piece, &[0; 200]].concat();
                peer.write(DATA, PADDED, stream, &padded);
            }
            peer.write(HEADERS, END_HEADERS | END_STREAM, stream, &literal("x-sum", "1"));
            if peer.flush().is_none() {
                return;
            }
        }
    });
    let load = job(server.port, Protocol::Http2, (1, 2), expecting(get("/"), &body));
    on_each_transport(&load, assert_all_valid);
}

#[test]
fn a_server_of_another_kind_is_reported() {
    let text = ScriptedServer::start(|mut stream, _| {
        use std::io::{Read as _, Write as _};
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
    let error = run(&job(text.port, Protocol::Http2, (1, 1), get("/"))).expect_err("no HTTP/2");
    assert!(error.to_string().contains("HTTP/1.1"), "{error}");
    let closing = ScriptedServer::start(|stream, _| drop(stream));
    let error = run(&job(closing.port, Protocol::Http2, (1, 1), get("/"))).expect_err("no HTTP/2");
    assert!(matches!(error, EngineError::Unreachable { .. }), "{error}");
    let silent = ScriptedServer::start(|stream, _| {
        use std::io::Read as _;
        let mut stream = stream;
        while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
    });
    let mut load = job(silent.port, Protocol::Http2, (1, 1), get("/"));
    load.timeout_ns = 300_000_000;
    let error = run(&load).expect_err("no HTTP/2");
    assert!(error.to_string().contains("timeout"), "{error}");
}

#[test]
fn a_server_that_violates_the_protocol_is_reported() {
    let server = ScriptedServer::start(|stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        for _ in 0..5 {
            let Some(stream) = peer.next_request() else { return };
            if peer.answer(stream, HELLO).is_none() {
                return;
            }
        }
        // DATA on a stream that was never opened.
        peer.write(DATA, 0, 2_000_001, b"x");
        if peer.flush().is_some() {
            peer.linger();
        }
    });
    let load = job(server.port, Protocol::Http2, (1, 4), expecting(get("/"), HELLO));
    on_each_transport(&load, |recording| {
        assert!(recording.outcomes.valid > 0 && recording.outcomes.reset > 0);
        assert_eq!(
            recording.outcomes.valid + recording.outcomes.reset,
            recording.requests.offered
        );
        assert!(warns_of(recording, "never opened"), "{:?}", recording.warnings);
    });
}

#[test]
fn a_server_that_closes_or_stalls_in_a_reply() {
    let closing = ScriptedServer::start(|stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        let Some(stream) = peer.next_request() else { return };
        peer.write(HEADERS, END_HEADERS, stream, OK);
        peer.write(DATA, 0, stream, b"Hello");
        if peer.flush().is_some() {
            peer.linger();
        }
    });
    let load = job(closing.port, Protocol::Http2, (1, 1), get("/"));
    on_each_transport(&load, |recording| {
        assert!(recording.outcomes.reset > 0);
        assert_eq!(recording.outcomes.reset, recording.requests.offered);
    });
    // Every fourth request gets no reply: only that one times out, and the connection continues.
    let stalling = ScriptedServer::start(|stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        let mut number = 0;
        while let Some(stream) = peer.next_request() {
            number += 1;
            if number % 4 != 0 && peer.answer(stream, HELLO).is_none() {
                return;
            }
        }
    });
    let mut load = job(stalling.port, Protocol::Http2, (1, 2), expecting(get("/"), HELLO));
    load.timeout_ns = 50_000_000;
    load.target.connect.connect_timeout_ns = Some(10_000_000_000);
    on_each_transport(&load, |recording| {
        assert!(recording.outcomes.timeout > 0 && recording.outcomes.valid > 0);
        assert_eq!(recording.outcomes.errors(), recording.outcomes.timeout);
        assert_eq!(recording.connections.reconnects, 0);
    });
}

#[test]
fn fewer_streams_than_configured_are_reported() {
    let server = ScriptedServer::start(|stream, _| answer_all(stream, &[(MAX_CONCURRENT_STREAMS, 3)], HELLO));
    for (in_flight, limited) in [(8, true), (3, false)] {
        let load = job(
            server.port,
            Protocol::Http2,
            (2, in_flight),
            expecting(get("/"), HELLO),
        );
        on_each_transport(&load, |recording| {
            assert_all_valid(recording);
            let reported: Vec<_> = recording
                .warnings
                .iter()
                .filter(|warning| warning.kind == WarningKind::StreamsLimited)
                .collect();
            assert_eq!(reported.len(), usize::from(limited), "{:?}", recording.warnings);
            if limited {
                assert!(warns_of(
                    recording,
                    "allows 3 concurrent streams per connection, not 8"
                ));
            }
            // Little's law is applied to the streams that existed. A noisy machine may violate it, but not change
            // their number.
            let doubts = recording
                .warnings
                .iter()
                .filter(|warning| warning.kind == WarningKind::LittlesLaw);
            for doubt in doubts {
                assert!(
                    doubt.text.contains(" of 6 requests in flight") || doubt.text.contains("there were 6"),
                    "{doubt:?}"
                );
            }
        });
    }
}

#[test]
fn answers_to_all_kinds_of_settings() {
    // Extreme but valid values: no header table, frames of 16 MiB, a window of 2^31 − 1, an unknown setting.
    let settings = [
        (HEADER_TABLE_SIZE, 0),
        (5, (1 << 24) - 1),
        (INITIAL_WINDOW_SIZE, i32::MAX as u32),
        (0x99, 7),
    ];
    let server = ScriptedServer::start(move |stream, _| answer_all(stream, &settings, HELLO));
    let load = job(
        server.port,
        Protocol::Http2,
        (2, 4),
        expecting(post("/", b"x"), HELLO),
    );
    on_each_transport(&load, assert_all_valid);
}
