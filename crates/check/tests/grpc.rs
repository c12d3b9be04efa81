//! The same for `person` over gRPC.

use crate::listening::Tasks;
use crate::{assert_none_survives, check_and_recheck, contract, failures_of, right, survival};
use bytes::Bytes;
use h2::server::SendResponse;
use prony_load::Protocol;
use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

const OK: u32 = 0;
const UNKNOWN: u32 = 2;
const INVALID_ARGUMENT: u32 = 3;
const NOT_FOUND: u32 = 5;
const UNIMPLEMENTED: u32 = 12;

/// A reply before it is encoded.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: Option<u32>,
    message: Value,
    kind: &'static str,
    http_status: u16,
    /// The bytes of the body instead of the encoded message.
    change: fn(&mut Vec<u8>),
}

impl Reply {
    fn ok(message: Value) -> Self {
        Self {
            status: Some(OK),
            message,
            kind: "application/grpc",
            http_status: 200,
            change: |_| {},
        }
    }

    fn failed(status: u32) -> Self {
        Self {
            status: Some(status),
            ..Self::ok(Value::Null)
        }
    }

    fn is_ok(&self) -> bool {
        self.status == Some(OK)
    }
}

type Change = dyn Fn(&str, &Value, &mut Reply) + Send + Sync;

fn right(method: &str, request: &Value) -> Reply {
    let id = request["id"].as_str().unwrap_or_default();
    match method {
        "listPersons" => Reply::ok(json!({ "persons": *right::PERSONS, "count": 4 })),
        "getPerson" => match right::PERSONS.iter().find(|person| person["id"] == id) {
            Some(person) => Reply::ok(person.clone()),
            None => Reply::failed(NOT_FOUND),
        },
        "getPersonLinks" => Reply::ok(right::links(id)),
        "createPerson" if id.is_empty() => Reply::failed(INVALID_ARGUMENT),
        "createPerson" => Reply::ok(request.clone()),
        _ => Reply::failed(UNIMPLEMENTED),
    }
}

fn start(change: Arc<Change>) -> Tasks {
    Tasks::start(|listener| serve(listener, change))
}

/// The server that is right.
pub(crate) fn right_twin() -> Tasks {
    start(Arc::new(|_, _, _| {}))
}

fn pool() -> DescriptorPool {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/person");
    let set = protox::compile(["person.proto"], [folder]).expect("the schema compiles");
    DescriptorPool::from_file_descriptor_set(set).expect("a schema")
}

async fn serve(listener: TcpListener, change: Arc<Change>) {
    let pool = pool();
    while let Ok((stream, _)) = listener.accept().await {
        let (pool, change) = (pool.clone(), Arc::clone(&change));
        tokio::spawn(async move {
            let Ok(mut connection) = h2::server::handshake(stream).await else {
                return;
            };
            while let Some(Ok((request, respond))) = connection.accept().await {
                let (pool, change) = (pool.clone(), Arc::clone(&change));
                tokio::spawn(async move {
                    let _ = answer(&pool, &*change, request, respond).await;
                });
            }
        });
    }
}

async fn answer(
    pool: &DescriptorPool,
    change: &Change,
    request: http::Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
) -> Option<()> {
    let (head, mut body) = request.into_parts();
    let mut sent = Vec::new();
    while let Some(Ok(data)) = body.data().await {
        let _ = body.flow_control().release_capacity(data.len());
        sent.extend_from_slice(&data);
    }
    let name = head.uri.path().rsplit('/').next()?;
    let service = pool.get_service_by_name("prony.person.PersonService")?;
    let method = service.methods().find(|method| method.name() == name);
    let request = match &method {
        Some(method) => {
            let message = DynamicMessage::decode(method.input(), sent.get(5..)?).ok()?;
            serde_json::to_value(message).ok()?
        }
        None => Value::Null,
    };
    let mut reply = right(name, &request);
    change(name, &request, &mut reply);
    let head = http::Response::builder()
        .status(reply.http_status)
        .header("content-type", reply.kind)
        .body(())
        .ok()?;
    let mut stream = respond.send_response(head, false).ok()?;
    if let (true, Some(method)) = (reply.is_ok(), method) {
        let message = DynamicMessage::deserialize(method.output(), &reply.message).expect("the message fits");
        let mut bytes = message.encode_to_vec();
        let mut framed = vec![0];
        framed.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        framed.append(&mut bytes);
        (reply.change)(&mut framed);
        stream.send_data(framed.into(), false).ok()?;
    }
    let mut trailers = http::HeaderMap::new();
    if let Some(status) = reply.status {
        trailers.insert("grpc-status", status.into());
    }
    stream.send_trailers(trailers).ok()
}

/// The expected failure, and the change that must cause it.
type WrongReply = (&'static str, Arc<Change>);

fn wrong(
    expected: &'static str,
    change: impl Fn(&str, &Value, &mut Reply) + Send + Sync + 'static,
) -> WrongReply {
    (expected, Arc::new(change))
}

fn wrong_messages() -> Vec<WrongReply> {
    vec![
        wrong("body at picture", |_, _, reply| {
            if reply.message["id"] == "2" {
                reply.message["picture"] = Value::Null;
            }
        }),
        wrong("body at location.city", |_, _, reply| {
            if reply.message["location"].is_object() {
                reply.message["location"]["city"] = reply.message["location"]["street"].clone();
            }
        }),
        wrong("body at count: expected 4, got 3", |method, _, reply| {
            if method == "listPersons" {
                reply.message["count"] = json!(3);
            }
        }),
        wrong("getPersonLinks(id=1): body at links[0]", |_, _, reply| {
            if let Some(links) = reply.message["links"].as_array_mut() {
                links.reverse();
            }
        }),
        wrong("createPerson(token=", |method, _, reply| {
            if method == "createPerson" && reply.is_ok() {
                reply.message["email"] = json!("somebody@example.com");
            }
        }),
        wrong(
            "location.state: expected \"graubünden\", got \"graubunden\"",
            |_, _, reply| {
                let text = reply.message.to_string().replace('ü', "u");
                reply.message = serde_json::from_str(&text).expect("JSON");
            },
        ),
    ]
}

fn wrong_statuses() -> Vec<WrongReply> {
    let stored: Mutex<BTreeMap<String, Value>> = Mutex::default();
    vec![
        wrong(
            "an unknown person: prony.person.PersonService/getPerson(id=0): grpc-status: expected 5, got 2",
            |_, _, reply| {
                if reply.status == Some(NOT_FOUND) {
                    reply.status = Some(UNKNOWN);
                }
            },
        ),
        wrong(
            "getPerson(id=0): grpc-status: expected 5, got 0",
            |_, _, reply| {
                if reply.status == Some(NOT_FOUND) {
                    *reply = Reply::ok(json!({}));
                }
            },
        ),
        wrong("a person without an id over gRPC", |_, request, reply| {
            if reply.status == Some(INVALID_ARGUMENT) {
                *reply = Reply::ok(request.clone());
            }
        }),
        wrong("the links of an unknown person", |_, _, reply| {
            if reply.message["links"].as_array().is_some_and(Vec::is_empty) {
                *reply = Reply::failed(NOT_FOUND);
            }
        }),
        wrong("noSuchMethod: grpc-status: expected 12, got 2", |_, _, reply| {
            if reply.status == Some(UNIMPLEMENTED) {
                reply.status = Some(UNKNOWN);
            }
        }),
        wrong(
            "a person that is created is not stored",
            move |method, request, reply| {
                let id = request["id"].as_str().unwrap_or_default().to_owned();
                let mut stored = stored.lock().expect("no panic");
                match (method, stored.get(&id)) {
                    ("createPerson", _) => drop(stored.insert(id, request.clone())),
                    ("getPerson", Some(person)) => *reply = Reply::ok(person.clone()),
                    _ => {}
                }
            },
        ),
    ]
}

fn wrong_frames() -> Vec<WrongReply> {
    vec![
        wrong("the stream ends without `grpc-status`", |_, _, reply| {
            reply.status = reply.status.filter(|status| *status != OK);
        }),
        wrong("its `content-type` is not `application/grpc`", |_, _, reply| {
            reply.kind = "application/json";
        }),
        wrong(
            "a message is compressed, but compression was not offered",
            |_, _, reply| {
                reply.change = |body| body[0] = 1;
            },
        ),
        wrong("the stream ends in the middle of a message", |_, _, reply| {
            reply.change = |body| body[4] ^= 1;
        }),
        wrong("no message where a unary call has one", |_, _, reply| {
            reply.change = Vec::clear;
        }),
        wrong("body: field 15 is not in", |_, _, reply| {
            reply.change = |body| {
                body.extend_from_slice(&[0x78, 1]);
                let length = (body.len() - 5) as u32;
                body[1..5].copy_from_slice(&length.to_be_bytes());
            }
        }),
        wrong("status: expected 200, got 503", |_, _, reply| {
            reply.http_status = 503;
        }),
    ]
}

#[test]
fn every_wrong_person_over_grpc_is_rejected() {
    let contract = contract("person");
    let twin = right_twin();
    assert_eq!(
        failures_of(&check_and_recheck(&contract, twin.address, Protocol::Grpc)),
        "",
        "the correct server must pass"
    );
    let mutants = [wrong_messages(), wrong_statuses(), wrong_frames()].concat();
    assert_none_survives(mutants, |(expected, change)| {
        let server = start(change);
        let reports = check_and_recheck(&contract, server.address, Protocol::Grpc);
        survival("gRPC", expected, &failures_of(&reports))
    });
}
