//! gRPC against servers of two languages, and against a scripted one.

mod wire;

use prony_load::{BodyRule, MessageCount, Operation, Protocol, Template};
use wire::peer::*;
use wire::*;

/// A call with an encoded message, of which `body` is expected.
fn call(method: &str, message: &[u8], body: Option<&[u8]>) -> Operation {
    let mut operation = post(method, message);
    operation.expect.status = vec![200];
    operation.expect.body = body
        .map(|bytes| BodyRule::Exact(Template::literal(bytes.to_vec())))
        .into_iter()
        .collect();
    operation
}

fn streaming(mut operation: Operation, at_least: u32, at_most: u32) -> Operation {
    operation.expect.messages = Some(MessageCount {
        at_least,
        at_most: Some(at_most),
    });
    operation
}

#[test]
fn go_answers_unary_calls() {
    let server = go::start();
    // PersonId { id: "1" }; the reply is compared as bytes of the one encoding that Go writes.
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
        assert_eq!(recording.wrong_replies[0].what, "grpc-status");
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
    let stream = |at_least, at_most| {
        let call = call("/toy.Echo/stream", &message, Some(&message));
        job(
            server.port,
            Protocol::Grpc,
            (2, 3),
            streaming(call, at_least, at_most),
        )
    };
    on_each_transport(&stream(40, 40), |recording| {
        assert_all_valid(recording);
        let messages = recording.messages.expect("messages of streams");
        assert_eq!(messages.received, recording.requests.completed * 40);
        let (first, last) = (
            messages.first_ns.expect("times"),
            messages.last_ns.expect("times"),
        );
        assert!(first.p50 <= last.p50);
    });
    on_each_transport(&stream(41, 50), |recording| {
        assert_eq!(recording.outcomes.wrong_reply, recording.requests.offered);
        assert_eq!(
            (
                recording.wrong_replies[0].what.as_str(),
                recording.wrong_replies[0].got.as_str()
            ),
            ("number of messages", "40")
        );
    });
    // A unary call has one message.
    let mut unary = stream(0, 0);
    unary.workload.operations[0].expect.messages = None;
    on_each_transport(&unary, |recording| {
        assert_eq!(recording.outcomes.wrong_reply, recording.requests.offered);
        assert!(recording.messages.is_none());
    });
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
        assert_eq!(recording.wrong_replies[0].got, "5 (nobody's name is Zoë)");
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
        let server = Scripted::start(move |stream, _| {
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
                recording.outcomes.wrong_reply, recording.requests.offered,
                "{reason}"
            );
            assert!(
                recording.wrong_replies[0].got.contains(reason),
                "{:?}",
                recording.wrong_replies[0]
            );
        });
    }
}
