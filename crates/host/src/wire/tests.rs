use super::*;
use crate::{
    AttachSpec, AttachTarget, Cpus, ExitReport, InheritedVariables, Isolation, KillReason, Limits,
    MachineUsage, PageCacheReport, PageCacheRequest, ProcessSpec, Stdio, Topology,
};
use prony_records::Footprint;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn items(bytes: &[u8], cuts: &[usize]) -> (Vec<Item>, Option<FrameError>) {
    let (mut inbox, mut items) = (Inbox::default(), Vec::new());
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    let mut begin = 0;
    for end in cuts.into_iter().chain([bytes.len()]) {
        inbox.push(&bytes[begin..end]);
        begin = end;
        loop {
            match inbox.pop() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(error) => return (items, Some(error)),
            }
        }
    }
    (items, None)
}

fn frame() -> impl Strategy<Value = (Kind, u32, Vec<u8>)> {
    let payload = || prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        (Just(Kind::Message), any::<u32>(), payload()),
        (Just(Kind::Data), any::<u32>(), payload()),
        (Just(Kind::End), any::<u32>(), payload()),
        (
            Just(Kind::Credit),
            any::<u32>(),
            any::<u32>().prop_map(|bytes| bytes.to_be_bytes().to_vec())
        ),
        (Just(Kind::Refuse), any::<u32>(), Just(Vec::new())),
    ]
}

proptest! {
    #[test]
    fn however_it_is_cut_the_same_comes_out(
        frames in prop::collection::vec(frame(), 0..8),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let mut bytes = Vec::new();
        for (kind, channel, payload) in &frames {
            Frame::write(*kind, *channel, payload, &mut bytes);
        }
        let (whole, error) = items(&bytes, &[]);
        prop_assert_eq!(error, None);
        prop_assert_eq!(whole.len(), frames.len());
        prop_assert_eq!(items(&bytes, &cuts), (whole.clone(), None));
        // A prefix of the bytes yields exactly its complete items.
        let short = cuts.first().map_or(0, |cut| cut % (bytes.len() + 1));
        let (some, error) = items(&bytes[..short], &[]);
        prop_assert_eq!(error, None);
        prop_assert_eq!(&whole[..some.len()], some.as_slice());
    }

    #[test]
    fn any_input_is_accepted_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..2_000), cut: usize) {
        prop_assert_eq!(items(&bytes, &[]), items(&bytes, &[cut]));
    }

    #[test]
    fn a_login_script_may_print_before_the_agent(
        junk in prop::collection::vec(any::<u8>(), 0..3_000),
        rest in prop::collection::vec(any::<u8>(), 0..50),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let mut bytes = junk;
        bytes.extend_from_slice(format!("{AGENT}7]]\n").as_bytes());
        let announced = bytes.len();
        bytes.extend_from_slice(&rest);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let (mut greeting, mut begin) = (GreetingReader::default(), 0);
        let mut found = None;
        for end in cuts.into_iter().chain([bytes.len()]) {
            let more = greeting.push(&bytes[begin..end]).expect("short enough");
            begin = end;
            if let Some((marker, behind)) = more {
                prop_assert_eq!(marker, Marker::Agent { protocol: 7 });
                prop_assert_eq!(behind.as_slice(), &bytes[announced..end]);
                found = Some(());
                break;
            }
        }
        prop_assert_eq!(found, Some(()));
    }
}

#[test]
fn a_long_message_comes_in_parts_and_whole() {
    let message: Vec<u8> = (0..3 * MOST_FRAME + 17).map(|at| (at % 251) as u8).collect();
    let mut bytes = Vec::new();
    Frame::write_message(9, &message, &mut bytes);
    Frame::write_message(10, b"short", &mut bytes);
    let (items, error) = items(&bytes, &[5, MOST_FRAME + 1]);
    assert_eq!(error, None);
    let expected = [
        Item::Message { id: 9, json: message },
        Item::Message {
            id: 10,
            json: b"short".to_vec(),
        },
    ];
    assert!(items == expected, "the messages differ");
}

#[test]
fn an_invalid_frame_is_rejected() {
    let broken = |bytes: &[u8]| items(bytes, &[]).1;
    assert_eq!(broken(&[0, 0, 0, 4]), Some(FrameError::Length(4)));
    assert_eq!(broken(&[255; 4]), Some(FrameError::Length(u32::MAX)));
    let over = (MOST_FRAME + 6) as u32;
    assert_eq!(broken(&over.to_be_bytes()), Some(FrameError::Length(over)));
    assert_eq!(broken(&[0, 0, 0, 5, 9, 0, 0, 0, 0]), Some(FrameError::Kind(9)));
    let mut bytes = Vec::new();
    Frame::write(Kind::Part, 1, b"{", &mut bytes);
    Frame::write(Kind::Message, 2, b"}", &mut bytes);
    assert_eq!(broken(&bytes), Some(FrameError::MixedMessages));
    let mut bytes = Vec::new();
    Frame::write(Kind::Credit, 1, b"123", &mut bytes);
    assert_eq!(broken(&bytes), Some(FrameError::Credit(3)));
    let mut bytes = Vec::new();
    for _ in 0..=MOST_MESSAGE / MOST_FRAME {
        Frame::write(Kind::Part, 1, &vec![0; MOST_FRAME], &mut bytes);
    }
    assert_eq!(broken(&bytes), Some(FrameError::LongMessage(MOST_MESSAGE)));
}

#[test]
fn reading_stops_after_too_much_unrelated_output() {
    let mut greeting = GreetingReader::default();
    let mut pushed = 0;
    while greeting.push(b"Welcome to this host!\n").is_ok() {
        pushed += 1;
        assert!(pushed < 10_000, "it is never enough");
    }
    assert_eq!(
        greeting.junk().as_deref(),
        Some("Welcome to this host! / Welcome to this host! / Welcome to this host!")
    );
    // An invalid marker does not hide a valid one after it.
    let mut greeting = GreetingReader::default();
    let (marker, _) = greeting
        .push(format!("{AGENT}x]]\n[[prony:host:missing:Linux:x86_64]]\n").as_bytes())
        .expect("short")
        .expect("found");
    let words = ["missing", "Linux", "x86_64"].map(str::to_owned).to_vec();
    assert_eq!(marker, Marker::Script(words));
}

/// Two links whose outboxes are each other's inboxes.
fn pair() -> (Arc<AgentLink>, Arc<AgentLink>) {
    let links = (Arc::new(AgentLink::default()), Arc::new(AgentLink::default()));
    for (from, to) in [(&links.0, &links.1), (&links.1, &links.0)] {
        let (mut read, write) = std::io::pipe().expect("a pipe");
        let (from, to) = (Arc::clone(from), Arc::clone(to));
        thread::spawn(move || from.outbox.write_to(write));
        thread::spawn(move || {
            let (mut inbox, mut buffer) = (Inbox::default(), [0; 8_192]);
            while let Ok(length @ 1..) = read.read(&mut buffer) {
                inbox.push(&buffer[..length]);
                while let Some(item) = inbox.pop().expect("frames") {
                    to.take(item).expect("within the rules");
                }
            }
        });
    }
    links
}

#[test]
fn a_stream_is_held_back_until_it_is_read() {
    let (here, there) = pair();
    let mut incoming = InboundReader::open(&there, 5);
    let mut outgoing = OutboundWriter::open(&here, 5);
    let bytes: Vec<u8> = (0..5 << 20).map(|at: u32| (at % 253) as u8).collect();
    let sent = bytes.clone();
    let writer = thread::spawn(move || outgoing.write_all(&sent));
    let mut begin = vec![0; 10];
    incoming.read_exact(&mut begin).expect("read");
    // More than a window does not fit, so the writer cannot be done.
    assert!(!writer.is_finished());
    let mut rest = Vec::new();
    incoming.read_to_end(&mut rest).expect("to the end");
    writer.join().expect("no panic").expect("written");
    begin.extend(rest);
    assert!(begin == bytes, "the bytes differ");
}

#[test]
fn the_writer_learns_that_the_reader_stopped_or_is_gone() {
    let (here, there) = pair();
    let incoming = InboundReader::open(&there, 1);
    let mut outgoing = OutboundWriter::open(&here, 1);
    drop(incoming);
    let refused = loop {
        if let Err(error) = outgoing.write_all(&vec![0; 100_000]) {
            break error;
        }
    };
    assert_eq!(refused.kind(), std::io::ErrorKind::BrokenPipe);
    let mut incoming = InboundReader::open(&there, 2);
    OutboundWriter::open(&here, 2).break_off("no disk");
    let error = incoming.read(&mut [0]).expect_err("broken");
    assert_eq!(error.to_string(), "no disk");
    let mut incoming = InboundReader::open(&there, 3);
    there.end("the cable is cut");
    let error = incoming.read(&mut [0]).expect_err("over");
    assert_eq!(error.to_string(), "the cable is cut");
}

/// The JSON of every message.
#[test]
fn the_messages_stay_as_they_are() {
    insta::assert_json_snapshot!("hello", round(&hello()));
    let welcome = ControllerHello {
        version: "0.1.0".to_owned(),
        what: "prony run hello".to_owned(),
        lease_ms: 5_000,
    };
    insta::assert_json_snapshot!("welcome", round(&welcome));
    insta::assert_json_snapshot!("requests", requests().iter().map(round).collect::<Vec<_>>());
    insta::assert_json_snapshot!("answers", answers().iter().map(round).collect::<Vec<_>>());
    let notices = [
        AgentEvent::Process {
            process: 3,
            ended: Some(ExitReport::default()),
            warnings: Vec::new(),
        },
        AgentEvent::Leaving {
            reason: "its controller requested it".to_owned(),
        },
    ];
    insta::assert_json_snapshot!("notices", notices.iter().map(round).collect::<Vec<_>>());
    let entry = Entry {
        path: "bin/server".into(),
        kind: EntryKind::File,
        mode: 0o755,
        bytes: 12,
        target: None,
    };
    insta::assert_json_snapshot!("entry", round(&entry));
}

#[test]
fn a_message_that_is_not_known_is_no_request() {
    for json in [r#"{"request":"dance"}"#, r#"{"request":"put"}"#, "[]", ""] {
        serde_json::from_str::<AgentRequest>(json).expect_err("refused");
    }
}

/// Converts a message to JSON, and checks that it parses back to the same message.
fn round<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(message: &T) -> serde_json::Value {
    let value = serde_json::to_value(message).expect("plain data");
    assert_eq!(
        &serde_json::from_value::<T>(value.clone()).expect("read"),
        message
    );
    value
}

fn hello() -> AgentHello {
    AgentHello {
        version: "0.1.0".to_owned(),
        sources: "5ca1ab1e".to_owned(),
        hash: Some("00".repeat(32)),
        architecture: "x86_64".to_owned(),
        hostname: Some("load1".to_owned()),
        pid: 4_711,
        binary: Some("/home/bench/.cache/prony/agent/00".into()),
        topology: Topology {
            cores: vec![crate::Core {
                node: 0,
                package: 0,
                core: 0,
                cpus: vec![0, 1],
            }],
        },
        environment: prony_records::Environment::default(),
        address: Some("10.0.0.7".to_owned()),
        monotonic_ns: 1,
        wall_ns: 2,
        work: "/home/bench/.cache/prony/w/1".into(),
        cache: "/home/bench/.cache/prony".into(),
        free_bytes: Some(1 << 30),
    }
}

fn spec() -> ProcessSpec {
    ProcessSpec {
        name: "hello".to_owned(),
        container: None,
        command: vec!["./server".to_owned(), "--port".to_owned()],
        folder: "build".into(),
        inherited: InheritedVariables::Named(vec!["PATH".to_owned(), "LC_*".to_owned()]),
        fresh_folder: true,
        empty_home: true,
        environment: BTreeMap::from([("PORT".to_owned(), "8080".to_owned())]),
        files: BTreeMap::new(),
        cpus: Cpus::from(vec![2, 3]),
        batch_policy: true,
        supervisor_cpus: Cpus::default(),
        limits: Limits::default(),
        isolation: Isolation::WherePossible,
        network: None,
        stdio: Stdio::Piped,
        log: "log".into(),
        log_bytes: 1 << 20,
        grace: Duration::from_secs(5),
        stop_signal: None,
        sample_every: None,
        compiler_threads: Vec::new(),
        cpu_speed_probe: false,
    }
}

fn requests() -> Vec<AgentRequest> {
    let mut requests = vec![
        AgentRequest::Beat,
        AgentRequest::Clock,
        AgentRequest::FreePort,
        AgentRequest::Start {
            process: 3,
            spec: Box::new(spec()),
            streams: Some((4, 5)),
        },
        AgentRequest::Attach {
            process: 3,
            spec: Box::new(AttachSpec {
                name: "theirs".to_owned(),
                attached: AttachTarget::Pid(12),
                supervisor_cpus: Cpus::default(),
                sample_every: Duration::from_millis(100),
                compiler_threads: vec!["MyRuntime".to_owned()],
            }),
        },
        AgentRequest::Watch { window_ns: 1_000 },
        AgentRequest::Environment,
        AgentRequest::MemoryAvailable,
        AgentRequest::PageCache(PageCacheRequest {
            files: vec!["/usr/bin/cargo".into()],
            folder: Some("build".into()),
            evict: true,
        }),
        AgentRequest::Pin {
            cpus: Cpus::from(vec![0]),
        },
        AgentRequest::Claim {
            claim: 6,
            cpus: Cpus::from(vec![0, 1]),
            what: "prony run hello".to_owned(),
        },
        AgentRequest::Release { claim: 6 },
        AgentRequest::Put {
            to: "build".into(),
            hash: None,
            bytes: 12,
            stream: 7,
        },
        AgentRequest::Get {
            from: "log".into(),
            stream: 8,
        },
        AgentRequest::Kept {
            hash: "00".repeat(32),
        },
        AgentRequest::Which {
            program: "cargo".to_owned(),
        },
        AgentRequest::Look { path: "build".into() },
        AgentRequest::Remove { path: "build".into() },
        AgentRequest::Bye,
    ];
    let orders = [
        Order::Memory,
        Order::Footprint,
        Order::Files,
        Order::Rest,
        Order::Wake,
        Order::BeginWindow,
        Order::EndWindow,
        Order::Stop,
        Order::LogTail(20),
        Order::Forget,
    ];
    requests.extend(orders.map(|order| AgentRequest::Process { process: 3, order }));
    requests
}

fn answers() -> Vec<AgentResponse> {
    let good = [
        Reply::Done,
        Reply::Clock {
            monotonic_ns: 1,
            wall_ns: 2,
        },
        Reply::Port { port: 12_345 },
        Reply::Started {
            pid: 12,
            age_ns: 1_000,
            address: None,
            warnings: Vec::new(),
        },
        Reply::Memory { bytes: Some(4_096) },
        Reply::Footprint(Footprint::default()),
        Reply::Files {
            paths: vec!["/usr/bin/cargo".into()],
        },
        Reply::PageCache(PageCacheReport::default()),
        Reply::Usage(Box::default()),
        Reply::Stopped(ExitReport {
            code: None,
            signal: Some(9),
            why: Some(KillReason::OutOfMemory {
                limit_bytes: Some(64 << 20),
            }),
            left: 0,
            ignored_term: false,
            changed: Some("cache.pyc".into()),
        }),
        Reply::Log {
            lines: vec!["listening".to_owned()],
        },
        Reply::Machine {
            usage: Some(MachineUsage::default()),
        },
        Reply::Environment(Box::default()),
        Reply::Path {
            path: Some("/usr/bin/cargo".into()),
        },
        Reply::There {
            kind: Some(EntryKind::File),
            bytes: 12,
        },
    ];
    good.into_iter()
        .map(Ok)
        .chain(faults().into_iter().map(Err))
        .collect()
}

fn faults() -> Vec<Fault> {
    let name = || "hello".to_owned();
    vec![
        Fault::Start {
            name: name(),
            reason: "it is not there".to_owned(),
        },
        Fault::Program {
            name: name(),
            reason: "it is not in the image".to_owned(),
        },
        Fault::NotIsolated {
            name: name(),
            reason: "no groups".to_owned(),
        },
        Fault::SupervisorLost {
            name: name(),
            what: "ended".to_owned(),
        },
        Fault::Taken {
            cpu: 1,
            holder: "`prony run` (process 12)".to_owned(),
        },
        Fault::NoRoom {
            path: "/tmp".into(),
            needed: 2,
            free: 1,
        },
        Fault::Other {
            text: "cannot read".to_owned(),
        },
    ]
}
