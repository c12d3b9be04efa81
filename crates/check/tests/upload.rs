#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::toy::{Call, FaultMode, ScriptedReply};
use crate::{answers, habit, right, try_all};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

/// Says of right uploads what `change` makes of the body.
fn of(
    change: impl Fn(&Call) -> Vec<u8> + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if answer.status == 200 {
            *answer = right::received(&change(call));
        }
    }
}

/// Changes what is said.
fn said(
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

/// Refuses what it takes.
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
    try_all(
        "upload",
        right::upload,
        vec![
            habit("bodies are not read", "body at bytes", FaultMode::LeavesBodies),
            habit(
                "what is too long stays in the connection",
                "more than 20 MiB: POST /upload (",
                FaultMode::LeavesLargeBodies,
            ),
            habit(
                "knows no chunks",
                "chunked bodies of every length",
                FaultMode::KnowsNoChunks,
            ),
            answers(
                "the length is believed, the body not hashed",
                "body at sha256",
                said(|_, value| value["sha256"] = json!(right::digest(b""))),
            ),
            answers(
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
            answers(
                "hashes the first 64 KiB",
                "body at sha256",
                said(|call, value| {
                    let end = call.body.len().min(65536);
                    value["sha256"] = json!(right::digest(&call.body[..end]));
                }),
            ),
            answers(
                "keeps the first 64 KiB",
                "body at bytes",
                of(|call| call.body[..call.body.len().min(65536)].to_vec()),
            ),
            answers(
                "capital digits",
                "body at sha256",
                said(|_, value| {
                    value["sha256"] = json!(value["sha256"].as_str().expect("a text").to_uppercase());
                }),
            ),
            answers(
                "the length as a text",
                "body at bytes",
                said(|_, value| value["bytes"] = json!(value["bytes"].to_string())),
            ),
            answers(
                "one byte too many",
                "body at bytes",
                said(|_, value| value["bytes"] = json!(value["bytes"].as_u64().map(|bytes| bytes + 1))),
            ),
            answers(
                "more members",
                "body at name",
                said(|_, value| value["name"] = json!("upload")),
            ),
            answers(
                "reads text",
                "body at",
                of(|call| String::from_utf8_lossy(&call.body).into_owned().into_bytes()),
            ),
            answers(
                "lines end in another way",
                "text is not changed",
                of(|call| match String::from_utf8(call.body.clone()) {
                    Ok(text) => text.replace("\r\n", "\n").into_bytes(),
                    Err(_) => call.body.clone(),
                }),
            ),
            answers(
                "white space cut off",
                "text is not changed",
                of(|call| call.body.trim_ascii().to_vec()),
            ),
            answers(
                "forms are parsed",
                "bodies of every type",
                of(|call| {
                    if kind(call).contains("form") {
                        Vec::new()
                    } else {
                        call.body.clone()
                    }
                }),
            ),
            answers(
                "what is called JSON must be JSON",
                "bodies of every type: POST /upload (5000 bytes with a length): status: expected 200, got 400",
                refuses(400, |call| kind(call).contains("json")),
            ),
            answers(
                "a type must be there",
                "a body without a type",
                refuses(415, |call| call.header("content-type").is_none()),
            ),
            answers(
                "a coding is undone",
                "a content coding is not decoded",
                refuses(400, |call| call.header("content-encoding").is_some()),
            ),
            answers(
                "an empty body is refused",
                "(0 bytes with a length): status: expected 200, got 400",
                refuses(400, |call| call.body.is_empty()),
            ),
            answers(
                "a length must be there",
                "in chunks): status: expected 200, got 411",
                refuses(411, |call| call.header("content-length").is_none()),
            ),
            answers(
                "1 MB is the most",
                "1 MiB, with a length and in chunks",
                refuses(413, |call| call.body.len() > 1_000_000),
            ),
            answers(
                "20 MB is the most",
                "20 MiB, with a length and in chunks",
                refuses(413, |call| call.body.len() > 20_000_000),
            ),
            answers(
                "20 MiB and no more than that less one",
                "(20971520 bytes with a length): status: expected 200, got 413",
                refuses(413, |call| call.body.len() >= right::LARGEST),
            ),
            answers("no limit", "more than 20 MiB: ", |call, answer| {
                if answer.status == 413 {
                    *answer = right::received(&call.body);
                }
            }),
            answers(
                "no limit in chunks",
                "more than 20 MiB in chunks: ",
                |call, answer| {
                    if answer.status == 413 && call.header("content-length").is_none() {
                        *answer = right::received(&call.body);
                    }
                },
            ),
            answers(
                "500 for what is too long",
                "expected 413, got 500",
                |_, answer| {
                    if answer.status == 413 {
                        answer.status = 500;
                    }
                },
            ),
            answers("any path", "other paths and methods", |call, answer| {
                if answer.status == 404 {
                    *answer = right::received(&call.body);
                }
            }),
            answers(
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
