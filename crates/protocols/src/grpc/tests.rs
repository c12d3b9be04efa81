//! Replies to calls, in every form that a service may choose and in some that it must not.

use super::*;
use crate::http2::frame::{flag, kind};
use crate::http2::tests::{Script, SinkEvent, TestConnection, request};
use prony_load::grpc::Messages;
use prony_load::{Body, Bytes};
use proptest::prelude::*;

const HEAD: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc+proto")];
const FINE: &[(&str, &str)] = &[("grpc-status", "0")];

fn message(bytes: &[u8]) -> Vec<u8> {
    let mut message = vec![0];
    message.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    message.extend_from_slice(bytes);
    message
}

/// Starts a call, feeds it these frames and returns the events reported; without the head.
fn reported(script: &Script) -> Vec<SinkEvent> {
    let mut bench: TestConnection<GrpcSemantics> = TestConnection::open(1, &[]);
    bench.start(1, &request("POST", "/Service/call", Some(b"ask")));
    bench.receive(&script.0).expect("frames");
    let reported = bench.reported.0.into_iter();
    reported
        .filter(|reported| !matches!(reported, SinkEvent::FirstByte(_) | SinkEvent::Head(..)))
        .collect()
}

fn failed(script: &Script, part: &str) {
    match reported(script).last() {
        Some(SinkEvent::Failed(1, Failure::Malformed(reason))) => assert!(reason.contains(part), "{reason}"),
        other => panic!("{part}: {other:?}"),
    }
}

fn reply(messages: &[u8], trailers: &[(&str, &str)]) -> Script {
    Script::default()
        .headers(1, 0, HEAD)
        .data(1, 0, messages)
        .headers(1, flag::END_STREAM, trailers)
}

#[test]
fn a_message_travels_behind_its_prefix() {
    let mut bench: TestConnection<GrpcSemantics> = TestConnection::open(2, &[]);
    bench.start(1, &request("POST", "/Service/call", Some(b"ask")));
    bench.start(2, &request("POST", "/Service/call", None));
    let sent = bench.take_sent();
    let bodies = sent.iter().filter(|frame| frame.kind == kind::DATA);
    let bodies: Vec<(u8, &[u8])> = bodies
        .map(|frame| (frame.flags, frame.payload.as_slice()))
        .collect();
    assert_eq!(
        bodies,
        [
            (flag::END_STREAM, &b"\0\0\0\0\x03ask"[..]),
            (flag::END_STREAM, &[0; 5])
        ]
    );
}

#[test]
fn a_unary_reply_is_a_message_and_a_status() {
    assert_eq!(
        reported(&reply(&message(b"answer"), FINE)),
        [
            SinkEvent::Data(1, b"answer".to_vec()),
            SinkEvent::Message(1),
            SinkEvent::End(1, Some(0))
        ]
    );
    // An empty message is a message.
    assert_eq!(
        reported(&reply(&message(b""), FINE)),
        [SinkEvent::Message(1), SinkEvent::End(1, Some(0))]
    );
}

#[test]
fn a_stream_is_many_messages() {
    let both = [message(b"one"), message(b""), message(b"two")].concat();
    assert_eq!(
        reported(&reply(&both, FINE)),
        [
            SinkEvent::Data(1, b"one".to_vec()),
            SinkEvent::Message(1),
            SinkEvent::Message(1),
            SinkEvent::Data(1, b"two".to_vec()),
            SinkEvent::Message(1),
            SinkEvent::End(1, Some(0))
        ]
    );
    assert_eq!(reported(&reply(b"", FINE)), [SinkEvent::End(1, Some(0))]);
}

#[test]
fn an_error_may_be_all_of_the_reply() {
    let fields = [
        HEAD,
        &[("grpc-status", "5"), ("grpc-message", "no%20such%20person")],
    ]
    .concat();
    assert_eq!(
        reported(&Script::default().headers(1, flag::END_STREAM, &fields)),
        [
            SinkEvent::GrpcMessage(1, "no%20such%20person".into()),
            SinkEvent::End(1, Some(5))
        ]
    );
}

#[test]
fn replies_that_are_not_grpc_are_reported() {
    failed(&reply(&message(b"x"), &[("a", "b")]), "without `grpc-status`");
    failed(&reply(&message(b"cut")[..6], FINE), "middle of a message");
    failed(&reply(&[0, 0, 0], FINE), "middle of a message");
    failed(&reply(b"\x01\0\0\0\x01x", FINE), "compressed");
    failed(&reply(b"<html>", FINE), "neither 0 nor 1");
    failed(&reply(&message(b"x"), &[("grpc-status", "ok")]), "not a number");
    let html = [(":status", "200"), ("content-type", "text/html")];
    failed(&Script::default().headers(1, 0, &html), "content-type");
    let end = Script::default()
        .headers(1, 0, HEAD)
        .data(1, flag::END_STREAM, &message(b"x"));
    failed(&end, "without `grpc-status`");
    // A proxy's own reply keeps its HTTP status and its body.
    let proxy = Script::default()
        .headers(1, 0, &[(":status", "502"), ("content-type", "text/html")])
        .data(1, flag::END_STREAM, b"bad gateway");
    assert_eq!(
        reported(&proxy),
        [
            SinkEvent::Data(1, b"bad gateway".to_vec()),
            SinkEvent::End(1, None)
        ]
    );
}

/// The DATA frames sent since the last call.
fn data(bench: &mut TestConnection<GrpcSemantics>) -> Vec<(u8, Vec<u8>)> {
    let sent = bench.take_sent().into_iter();
    sent.filter(|frame| frame.kind == kind::DATA)
        .map(|frame| (frame.flags, frame.payload))
        .collect()
}

fn streaming(messages: &[&[u8]], unanswered: Option<u32>) -> prony_load::Request {
    let mut call = request("POST", "/Service/call", None);
    call.body = Body::Messages(Messages {
        each: messages.iter().map(|bytes| Bytes(bytes.to_vec())).collect(),
        unanswered,
    });
    call
}

#[test]
fn messages_go_at_once_unless_they_wait_for_replies() {
    let (a, b, c) = (message(b"a"), message(b""), message(b"c"));
    let mut bench: TestConnection<GrpcSemantics> = TestConnection::open(1, &[]);
    bench.start(1, &streaming(&[b"a", b"", b"c"], None));
    let all = [a.as_slice(), &b, &c].concat();
    assert_eq!(data(&mut bench), [(flag::END_STREAM, all)]);

    let mut bench: TestConnection<GrpcSemantics> = TestConnection::open(1, &[]);
    bench.start(1, &streaming(&[b"a", b"", b"c"], Some(2)));
    assert_eq!(data(&mut bench), [(0, [a.as_slice(), &b].concat())]);
    let head = Script::default().headers(1, 0, HEAD).data(1, 0, &a[..3]);
    bench.receive(&head.0).expect("frames");
    assert!(data(&mut bench).is_empty());
    let rest = Script::default().data(1, 0, &a[3..]);
    bench.receive(&rest.0).expect("frames");
    assert_eq!(data(&mut bench), [(flag::END_STREAM, c)]);
}

#[test]
fn a_call_may_send_no_message() {
    let mut bench: TestConnection<GrpcSemantics> = TestConnection::open(1, &[]);
    bench.start(1, &streaming(&[], None));
    let sent = bench.take_sent();
    let last = sent.last().expect("a frame");
    assert_eq!(
        (last.kind, last.flags & flag::END_STREAM),
        (kind::HEADERS, flag::END_STREAM)
    );
}

#[test]
fn windows_and_replies_hold_messages_back() {
    // The service accepts eight bytes per stream: less than two messages.
    let mut bench: TestConnection<GrpcSemantics> = TestConnection::open(1, &[(4, 8)]);
    bench.start(1, &streaming(&[b"a", b"b", b"c"], Some(1)));
    let (a, b, c) = (message(b"a"), message(b"b"), message(b"c"));
    assert_eq!(data(&mut bench), [(0, a.clone())]);
    let reply = Script::default().headers(1, 0, HEAD).data(1, 0, &a);
    bench.receive(&reply.0).expect("frames");
    assert_eq!(data(&mut bench), [(0, b[..2].to_vec())]);
    let mut more = Vec::new();
    crate::http2::frame::write_window_update(1, 100, &mut more);
    bench.receive(&more).expect("frames");
    assert_eq!(data(&mut bench), [(0, b[2..].to_vec())]);
    bench
        .receive(&Script::default().data(1, 0, &b).0)
        .expect("frames");
    assert_eq!(data(&mut bench), [(flag::END_STREAM, c)]);
}

proptest! {
    #[test]
    fn frames_may_cut_messages_anywhere(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..8),
        cut in 1..30usize,
    ) {
        let bytes: Vec<u8> = messages.iter().flat_map(|bytes| message(bytes)).collect();
        let whole = reported(&reply(&bytes, FINE));
        let mut script = Script::default().headers(1, 0, HEAD);
        for piece in bytes.chunks(cut) {
            script = script.data(1, 0, piece);
        }
        let pieces = reported(&script.headers(1, flag::END_STREAM, FINE));
        prop_assert_eq!(&pieces, &whole);
        let count = whole.iter().filter(|reported| matches!(reported, SinkEvent::Message(_))).count();
        prop_assert_eq!(count, messages.len());
    }
}
