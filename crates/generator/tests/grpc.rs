//! gRPC against servers of two languages, and against a scripted one.

use crate::wire::peer::*;
use crate::wire::*;
use prony_load::events::Events;
use prony_load::grpc::Messages;
use prony_load::{Body, BodyRule, Bytes, Header, Job, Operation, Protocol, Template};

/// A call with an encoded message; `body` is the expected reply.
fn call(method: &str, message: &[u8], body: Option<&[u8]>) -> Operation {
    let mut operation = post(method, message);
    operation.expect.status = vec![200];
    operation.expect.body = body
        .map(|bytes| BodyRule::Exact(Template::literal(bytes.to_vec())))
        .into_iter()
        .collect();
    operation
}

/// A call with a streamed reply.
fn stream(method: &str, message: &[u8], events: Events) -> Operation {
    let mut operation = call(method, message, None);
    operation.expect.events = Some(events);
    operation
}

/// A call that sends these messages.
fn sending(mut operation: Operation, messages: &[&[u8]], unanswered: Option<u32>) -> Operation {
    operation.request.body = Body::Messages(Messages {
        each: messages.iter().map(|bytes| Bytes(bytes.to_vec())).collect(),
        unanswered,
    });
    operation
}

/// A job of 40 such calls.
fn forty(port: u16, operation: Operation) -> Job {
    with_request_limit(job(port, Protocol::Grpc, (2, 3), operation), 40)
}

#[test]
fn go_answers_unary_calls() {
    let server = go::start();
    // PersonId { id: "1" }; the reply must equal Go's encoding byte by byte.
    let method = "/prony.person.PersonService/getPersonLinks";
    let load = job(
        server.port,
        Protocol::Grpc,
        (4, 4),
        call(method, b"\x0a\x0299", Some(b"")),
    );
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        assert_eq!(recording.protocol, "grpc");
        assert_eq!(
            recording.status_codes.get("grpc-0"),
            Some(&recording.requests.completed)
        );
    });
    let unknown = call("/prony.person.PersonService/getPerson", b"\x0a\x0299", None);
    let mut load = job(server.port, Protocol::Grpc, (2, 2), unknown);
    on_each_transport(&load, |recording| {
        assert_eq!(recording.outcomes.status, recording.requests.offered);
        assert_eq!(
            recording.status_codes.get("grpc-5"),
            Some(&recording.requests.completed)
        );
        assert_eq!(recording.unexpected_replies[0].what, "grpc-status");
    });
    load.workload.operations[0].expect.grpc_status = Some(5);
    on_each_transport(&load, assert_all_valid);
}

#[test]
fn tonic_echoes() {
    let server = tonic::start();
    let large = vec![7; 200_000];
    for message in [&b""[..], b"x", &large] {
        let load = job(
            server.port,
            Protocol::Grpc,
            (3, 5),
            call("/toy.Echo/unary", message, Some(message)),
        );
        on_each_transport(&load, assert_all_valid);
    }
}

#[test]
fn tonic_streams_messages() {
    let server = tonic::start();
    let message: Vec<u8> = (0..40).collect();
    let of = |events| forty(server.port, stream("/toy.Echo/stream", &message, events));
    on_each_transport(&of(Events::default()), |recording| {
        assert_all_valid(recording);
        let messages = recording.messages.expect("messages of streams");
        let streams = messages.streams.expect("how they ended");
        assert_eq!((streams.completed, streams.at_bound, streams.cut), (40, 0, 0));
        assert_eq!(messages.received, 40 * 40);
        let (first, last) = (
            messages.first_ns.expect("times"),
            messages.last_ns.expect("times"),
        );
        assert!(first.p50 <= last.p50);
        assert!(messages.gap_ns.is_some());
    });
    let early = Events {
        until: Some(41),
        ..Events::default()
    };
    on_each_transport(&of(early), |recording| {
        assert_eq!(recording.outcomes.unexpected, 40);
        let streams = recording.messages.and_then(|messages| messages.streams);
        assert_eq!(streams.expect("how they ended").ended_early, 40);
        assert_eq!(recording.unexpected_replies[0].got, "40");
    });
    let long = Events {
        longest: 0,
        ..Events::default()
    };
    on_each_transport(&of(long), |recording| {
        assert_eq!(recording.outcomes.unexpected, 40);
        assert_eq!(
            recording.unexpected_replies[0].what,
            "events: an event is too long"
        );
    });
    // A unary call has one message.
    let unary = forty(server.port, call("/toy.Echo/stream", &message, None));
    on_each_transport(&unary, |recording| {
        assert_eq!(recording.outcomes.unexpected, 40);
        assert_eq!(recording.unexpected_replies[0].what, "number of messages");
        assert!(recording.messages.is_none());
    });
}

/// Such a stream never ends by itself, and its connection continues to carry others.
#[test]
fn a_stream_is_cancelled_at_its_bound() {
    let server = tonic::start();
    let bounded = Events {
        until: Some(5),
        ..Events::default()
    };
    let load = forty(server.port, stream("/toy.Echo/endless", b"x", bounded));
    on_each_transport(&load, |recording| {
        assert_all_valid(recording);
        let messages = recording.messages.expect("messages of streams");
        assert_eq!(messages.streams.expect("how they ended").at_bound, 40);
        assert_eq!(messages.received, 40 * 5);
        assert_eq!(recording.connections.reconnects, 0);
    });
}

#[test]
fn a_deadline_ends_a_stream_with_its_status() {
    let server = tonic::start();
    let mut late = stream("/toy.Echo/deadline", b"x", Events::default());
    late.request.headers.push(Header::deadline(60_000_000_000));
    on_each_transport(&forty(server.port, late), |recording| {
        assert_eq!(recording.outcomes.status, 40);
        assert_eq!(recording.status_codes.get("grpc-4"), Some(&40));
        assert_eq!(recording.unexpected_replies[0].got, "4 (after 60000000u)");
        let messages = recording.messages.expect("messages of streams");
        assert_eq!(messages.received, 40);
        assert_eq!(messages.streams.expect("how they ended").ended_early, 40);
    });
}

#[test]
fn a_call_that_is_reset_at_its_deadline_is_late() {
    // Starts each reply with a message, and resets the stream after 30 ms.
    let server = ScriptedServer::start(|stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        while let Some(stream) = peer.next_request() {
            let head = literal("content-type", "application/grpc");
            peer.write(HEADERS, END_HEADERS, stream, &[OK, &head].concat());
            peer.write(DATA, 0, stream, &[0; 5]);
            peer.flush();
            std::thread::sleep(std::time::Duration::from_millis(30));
            peer.write(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
            if peer.flush().is_none() {
                return;
            }
        }
    });
    let of = |deadline_ns| {
        let mut call = stream("/a.B/c", b"", Events::default());
        call.request.headers.push(Header::deadline(deadline_ns));
        with_request_limit(job(server.port, Protocol::Grpc, (1, 1), call), 5)
    };
    on_each_transport(&of(20_000_000), |recording| {
        assert_eq!(recording.outcomes.status, 5);
        assert_eq!(recording.unexpected_replies[0].what, "grpc-status");
        let streams = recording.messages.and_then(|messages| messages.streams);
        assert_eq!(streams.expect("how they ended").ended_early, 5);
    });
    on_each_transport(&of(60_000_000_000), |recording| {
        assert_eq!(recording.outcomes.reset, 5);
    });
}

#[test]
fn a_stream_of_requests_has_one_reply() {
    let server = tonic::start();
    let joined = |body: &[u8]| call("/toy.Echo/join", b"", Some(body));
    for messages in [&[&b"one"[..], b"", b"two"][..], &[]] {
        let load = sending(joined(&messages.concat()), messages, None);
        on_each_transport(&forty(server.port, load), assert_all_valid);
    }
    // More data than the flow-control windows hold.
    let large = vec![7; 30_000];
    let messages = vec![large.as_slice(); 10];
    let load = sending(joined(&messages.concat()), &messages, None);
    on_each_transport(&forty(server.port, load), assert_all_valid);
}

#[test]
fn messages_go_both_ways() {
    let server = tonic::start();
    let messages: Vec<Vec<u8>> = (0..50).map(|length| vec![b'm'; length]).collect();
    let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    for unanswered in [None, Some(1), Some(7)] {
        let both = stream("/toy.Echo/both", b"", Events::default());
        let load = forty(server.port, sending(both, &messages, unanswered));
        on_each_transport(&load, |recording| {
            assert_all_valid(recording);
            let messages = recording.messages.expect("messages of streams");
            assert_eq!(messages.received, 40 * 50);
        });
    }
}

#[test]
fn messages_are_sent_over_grpc_alone() {
    let server = tonic::start();
    let sends = sending(call("/a.B/c", b"", None), &[b"x"], None);
    for (protocol, unanswered) in [(Protocol::Http2, Some(1)), (Protocol::Grpc, Some(0))] {
        let load = job(
            server.port,
            protocol,
            (1, 1),
            sending(sends.clone(), &[b"x"], unanswered),
        );
        let error = run(&load).expect_err("refused").to_string();
        assert!(error.contains("sends a stream of messages"), "{error}");
    }
}

#[test]
fn tonic_says_why_it_fails() {
    let server = tonic::start();
    let load = job(
        server.port,
        Protocol::Grpc,
        (1, 2),
        call("/toy.Echo/fail", b"x", None),
    );
    on_each_transport(&load, |recording| {
        assert_eq!(recording.outcomes.status, recording.requests.offered);
        assert_eq!(recording.unexpected_replies[0].got, "5 (no person is named Zoë)");
    });
    let mut load = job(
        server.port,
        Protocol::Grpc,
        (1, 2),
        call("/toy.Echo/none", b"x", None),
    );
    load.workload.operations[0].expect.grpc_status = Some(12);
    on_each_transport(&load, assert_all_valid);
}

#[test]
fn replies_that_are_no_grpc_are_wrong() {
    struct Case(&'static str, Vec<u8>, &'static [u8], Option<Vec<u8>>);
    let cases = [
        Case(
            "content-type",
            literal("content-type", "text/html"),
            b"<html>",
            None,
        ),
        Case(
            "middle of a message",
            literal("content-type", "application/grpc"),
            &[0, 0, 0, 0, 9, 1],
            Some(literal("grpc-status", "0")),
        ),
        Case(
            "without `grpc-status`",
            literal("content-type", "application/grpc"),
            &[0, 0, 0, 0, 0],
            None,
        ),
    ];
    for Case(reason, head, body, trailers) in cases {
        let server = ScriptedServer::start(move |stream, _| {
            let Some(mut peer) = Peer::greet(stream, &[]) else {
                return;
            };
            while let Some(stream) = peer.next_request() {
                peer.write(HEADERS, END_HEADERS, stream, &[OK, &head].concat());
                match &trailers {
                    Some(trailers) => {
                        peer.write(DATA, 0, stream, body);
                        peer.write(HEADERS, END_HEADERS | END_STREAM, stream, trailers);
                    }
                    None => peer.write(DATA, END_STREAM, stream, body),
                }
                if peer.flush().is_none() {
                    return;
                }
            }
        });
        let load = job(server.port, Protocol::Grpc, (1, 2), call("/a.B/c", b"", None));
        on_each_transport(&load, |recording| {
            assert_eq!(
                recording.outcomes.unexpected, recording.requests.offered,
                "{reason}"
            );
            assert!(
                recording.unexpected_replies[0].got.contains(reason),
                "{:?}",
                recording.unexpected_replies[0]
            );
        });
    }
}
