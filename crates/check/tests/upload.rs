#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::toy::{Call, FaultMode, ScriptedReply};
use crate::{assert_mutants_rejected, right, wrong_mode, wrong_reply};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

/// Replies to valid uploads as if their body were the result of `change`.
fn as_if_received(
    change: impl Fn(&Call) -> Vec<u8> + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if answer.status == 200 {
            *answer = right::received(&change(call));
        }
    }
}

/// Changes the JSON of successful replies.
fn wrong_json(
    change: impl Fn(&Call, &mut Value) + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if answer.status == 200 {
            let mut value = serde_json::from_slice(&answer.body).expect("JSON");
            change(call, &mut value);
            answer.body = value.to_string().into_bytes();
        }
    }
}

/// Refuses some valid uploads.
fn refuses(
    status: u16,
    which: impl Fn(&Call) -> bool + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if answer.status == 200 && which(call) {
            *answer = ScriptedReply::new(status);
        }
    }
}

fn kind(call: &Call) -> String {
    String::from_utf8_lossy(call.header("content-type").unwrap_or_default()).into_owned()
}

#[test]
fn every_wrong_upload_is_rejected() {
    let kept: Mutex<HashMap<usize, Vec<u8>>> = Mutex::default();
    assert_mutants_rejected(
        "upload",
        right::upload,
        vec![
            wrong_mode("bodies are not read", "body at bytes", FaultMode::LeavesBodies),
            wrong_mode(
                "what is too long stays in the connection",
                "more than 20 MiB: POST /upload (",
                FaultMode::LeavesLargeBodies,
            ),
            wrong_mode(
                "knows no chunks",
                "chunked bodies of every length",
                FaultMode::KnowsNoChunks,
            ),
            wrong_reply(
                "the length is believed, the body not hashed",
                "body at sha256",
                wrong_json(|_, value| value["sha256"] = json!(right::digest(b""))),
            ),
            wrong_reply(
                "answers from memory, by length",
                "body at sha256",
                move |call, answer| {
                    if answer.status == 200 {
                        let mut kept = kept.lock().expect("no panic");
                        let first = kept.entry(call.body.len()).or_insert_with(|| answer.body.clone());
                        answer.body.clone_from(first);
                    }
                },
            ),
            wrong_reply(
                "hashes the first 64 KiB",
                "body at sha256",
                wrong_json(|call, value| {
                    let end = call.body.len().min(65536);
                    value["sha256"] = json!(right::digest(&call.body[..end]));
                }),
            ),
            wrong_reply(
                "keeps the first 64 KiB",
                "body at bytes",
                as_if_received(|call| call.body[..call.body.len().min(65536)].to_vec()),
            ),
            wrong_reply(
                "capital digits",
                "body at sha256",
                wrong_json(|_, value| {
                    value["sha256"] = json!(value["sha256"].as_str().expect("a text").to_uppercase());
                }),
            ),
            wrong_reply(
                "the length as a text",
                "body at bytes",
                wrong_json(|_, value| value["bytes"] = json!(value["bytes"].to_string())),
            ),
            wrong_reply(
                "one byte too many",
                "body at bytes",
                wrong_json(|_, value| value["bytes"] = json!(value["bytes"].as_u64().map(|bytes| bytes + 1))),
            ),
            wrong_reply(
                "more members",
                "body at name",
                wrong_json(|_, value| value["name"] = json!("upload")),
            ),
            wrong_reply(
                "reads text",
                "body at",
                as_if_received(|call| String::from_utf8_lossy(&call.body).into_owned().into_bytes()),
            ),
            wrong_reply(
                "lines end in another way",
                "text is not changed",
                as_if_received(|call| match String::from_utf8(call.body.clone()) {
                    Ok(text) => text.replace("\r\n", "\n").into_bytes(),
                    Err(_) => call.body.clone(),
                }),
            ),
            wrong_reply(
                "white space cut off",
                "text is not changed",
                as_if_received(|call| call.body.trim_ascii().to_vec()),
            ),
            wrong_reply(
                "forms are parsed",
                "bodies of every type",
                as_if_received(|call| {
                    if kind(call).contains("form") {
                        Vec::new()
                    } else {
                        call.body.clone()
                    }
                }),
            ),
            wrong_reply(
                "what is called JSON must be JSON",
                "bodies of every type: POST /upload (5000 bytes with a length): status: expected 200, got 400",
                refuses(400, |call| kind(call).contains("json")),
            ),
            wrong_reply(
                "a type must be there",
                "a body without a type",
                refuses(415, |call| call.header("content-type").is_none()),
            ),
            wrong_reply(
                "a coding is undone",
                "a content coding is not decoded",
                refuses(400, |call| call.header("content-encoding").is_some()),
            ),
            wrong_reply(
                "an empty body is refused",
                "(0 bytes with a length): status: expected 200, got 400",
                refuses(400, |call| call.body.is_empty()),
            ),
            wrong_reply(
                "a length must be there",
                "in chunks): status: expected 200, got 411",
                refuses(411, |call| call.header("content-length").is_none()),
            ),
            wrong_reply(
                "1 MB is the most",
                "1 MiB, with a length and in chunks",
                refuses(413, |call| call.body.len() > 1_000_000),
            ),
            wrong_reply(
                "20 MB is the most",
                "20 MiB, with a length and in chunks",
                refuses(413, |call| call.body.len() > 20_000_000),
            ),
            wrong_reply(
                "20 MiB and no more than that less one",
                "(20971520 bytes with a length): status: expected 200, got 413",
                refuses(413, |call| call.body.len() >= right::LARGEST),
            ),
            wrong_reply("no limit", "more than 20 MiB: ", |call, answer| {
                if answer.status == 413 {
                    *answer = right::received(&call.body);
                }
            }),
            wrong_reply(
                "no limit in chunks",
                "more than 20 MiB in chunks: ",
                |call, answer| {
                    if answer.status == 413 && call.header("content-length").is_none() {
                        *answer = right::received(&call.body);
                    }
                },
            ),
            wrong_reply(
                "500 for what is too long",
                "expected 413, got 500",
                |_, answer| {
                    if answer.status == 413 {
                        answer.status = 500;
                    }
                },
            ),
            wrong_reply("any path", "other paths and methods", |call, answer| {
                if answer.status == 404 {
                    *answer = right::received(&call.body);
                }
            }),
            wrong_reply(
                "any method",
                "other paths and methods: GET /upload",
                |call, answer| {
                    if answer.status == 405 {
                        *answer = right::received(&call.body);
                    }
                },
            ),
        ],
    );
}
