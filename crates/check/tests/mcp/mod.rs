#![expect(clippy::too_many_lines, reason = "a table of mutants")]

mod server;

use crate::toy::{self, Call, FaultMode, ScriptedReply};
use crate::{
    Mutant, MutantCheck, assert_mutants_rejected, assert_none_survives, check_and_recheck, contract,
    failures_of, wrong_reply,
};
use prony_load::Protocol;
use serde_json::{Value, json};
use server::{ALL, Rules, Sessions, json_reply, request};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Edit = dyn Fn(&Call, &mut ScriptedReply) + Send + Sync;

fn each(change: impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static) -> Box<Edit> {
    Box::new(change)
}

/// Changes the replies that have a result.
fn with_result(change: impl Fn(&Value, &mut Value) + Send + Sync + 'static) -> Box<Edit> {
    each(move |call, reply| {
        let mut value: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if !value["result"].is_null() {
            change(&request(call), &mut value);
            reply.body = value.to_string().into_bytes();
        }
    })
}

/// Changes the successful results of a method, or of a tool.
fn of(asked: &'static str, change: impl Fn(&Value, &mut Value) + Send + Sync + 'static) -> Box<Edit> {
    with_result(move |request, reply| {
        let is_asked = request["method"] == asked || request["params"]["name"] == asked;
        if is_asked && reply["result"]["isError"].is_null() {
            change(request, &mut reply["result"]);
        }
    })
}

/// Changes the text of a tool.
fn text_of(tool: &'static str, change: impl Fn(&Value, &str) -> String + Send + Sync + 'static) -> Box<Edit> {
    of(tool, move |request, result| {
        let text = result["content"][0]["text"].as_str().expect("a text");
        result["content"][0]["text"] = json!(change(request, text));
    })
}

/// Answers as a server that verifies less.
fn lenient(rules: Rules) -> Box<Edit> {
    each(move |call, reply| *reply = server::stateless(call, rules))
}

/// Replaces replies with this status.
fn instead_of(
    status: u16,
    new: impl Fn(&Call, &ScriptedReply) -> ScriptedReply + Send + Sync + 'static,
) -> Box<Edit> {
    each(move |call, reply| {
        if reply.status == status {
            *reply = new(call, reply);
        }
    })
}

/// Writes results as these events.
fn as_events(events: impl Fn(&str) -> String + Send + Sync + 'static) -> Box<Edit> {
    each(move |_, reply| {
        if reply.status == 200 {
            *reply = ScriptedReply::of(200, "text/event-stream", events(&reply.text()));
        }
    })
}

fn mutants_of(all: Vec<(&'static str, &'static str, Box<Edit>)>) -> Vec<Mutant> {
    all.into_iter()
        .map(|(name, expected, edit)| wrong_reply(name, expected, move |call, reply| edit(call, reply)))
        .collect()
}

fn envelope() -> Vec<(&'static str, &'static str, Box<Edit>)> {
    let before = Mutex::new(json!(0));
    vec![
        (
            "1: a fixed id",
            "body at id",
            with_result(|_, reply| reply["id"] = json!(1)),
        ),
        (
            "2: the id as a text",
            "body at id",
            with_result(|_, reply| reply["id"] = json!(reply["id"].to_string())),
        ),
        (
            "3: the id of the request before",
            "body at id",
            with_result(move |request, reply| {
                let mut before = before.lock().expect("no panic");
                reply["id"] = std::mem::replace(&mut *before, request["id"].clone());
            }),
        ),
        (
            "4: no id",
            "body at id",
            with_result(|_, reply| drop(reply.as_object_mut().expect("an object").remove("id"))),
        ),
        (
            "5: no jsonrpc",
            "body at jsonrpc",
            with_result(|_, reply| drop(reply.as_object_mut().expect("an object").remove("jsonrpc"))),
        ),
        (
            "6: jsonrpc 1.0",
            "body at jsonrpc",
            with_result(|_, reply| reply["jsonrpc"] = json!("1.0")),
        ),
        (
            "7: result and error",
            "body at error",
            with_result(|_, reply| reply["error"] = json!({ "code": 0, "message": "fine" })),
        ),
        (
            "8: no resultType",
            "body at result.resultType",
            with_result(|_, reply| reply["result"]["resultType"] = Value::Null),
        ),
        (
            "9: input is required",
            "body at result.resultType",
            with_result(|_, reply| reply["result"]["resultType"] = json!("input_required")),
        ),
        (
            "10: text/plain",
            "header content-type",
            instead_of(200, |_, reply| ScriptedReply::of(200, "text/plain", reply.text())),
        ),
    ]
}

fn tools() -> Vec<(&'static str, &'static str, Box<Edit>)> {
    const TEXT: &str = "body at result.content[0].text";
    let (last, cached) = (
        Mutex::new(String::new()),
        Mutex::<HashMap<String, Vec<u8>>>::default(),
    );
    vec![
        (
            "11: echo trimmed",
            TEXT,
            text_of("echo", |_, text| text.trim().to_owned()),
        ),
        (
            "12: echo normalised",
            TEXT,
            text_of("echo", |_, text| text.replace("e\u{301}", "\u{e9}")),
        ),
        (
            "13: echo cut at 1,000",
            TEXT,
            text_of("echo", |_, text| text.chars().take(1000).collect()),
        ),
        (
            "14: echo of another connection",
            TEXT,
            text_of("echo", move |_, text| {
                std::mem::replace(&mut *last.lock().expect("no panic"), text.to_owned())
            }),
        ),
        (
            "15: sum in 32 bits",
            TEXT,
            text_of("add", |_, text| {
                (text.parse::<i64>().expect("a sum") as i32).to_string()
            }),
        ),
        (
            "16: sum with a fraction",
            TEXT,
            text_of("add", |_, text| format!("{text}.0")),
        ),
        (
            "17: sum of texts",
            TEXT,
            text_of("add", |request, _| {
                let arguments = &request["params"]["arguments"];
                format!("{}{}", arguments["a"], arguments["b"])
            }),
        ),
        (
            "18: isError on a right result",
            "does not contain",
            of("add", |_, result| result["isError"] = json!(true)),
        ),
        (
            "19: an error as a plain result",
            "missing and wrong arguments",
            with_result(|_, reply| reply["result"]["isError"] = Value::Null),
        ),
        (
            "20: an unknown tool succeeds",
            "an unknown tool",
            lenient(Rules { tools: false, ..ALL }),
        ),
        (
            "21: a missing argument counts as 0",
            "missing and wrong arguments",
            lenient(Rules {
                arguments: false,
                ..ALL
            }),
        ),
        (
            "22: no structuredContent",
            "body at result.structuredContent",
            of("item", |_, result| result["structuredContent"] = Value::Null),
        ),
        (
            "23: structured content differs from the text",
            "body at /result/content/0/text: body at price",
            text_of("item", |_, text| text.replace("\"price\":", "\"price\":1")),
        ),
        (
            "24: tags in another order",
            "structuredContent.tags",
            of("item", |_, result| {
                let tags = result["structuredContent"]["tags"].as_array_mut().expect("tags");
                tags.reverse();
                let text = result["structuredContent"].to_string();
                result["content"][0]["text"] = json!(text);
            }),
        ),
        (
            "25: the text is no JSON",
            "body at /result/content/0/text: body: not JSON",
            text_of("item", |_, _| "an item".to_owned()),
        ),
        (
            "26: empty content",
            "body at result.content[0]",
            of("add", |_, result| result["content"] = json!([])),
        ),
        (
            "27: two elements",
            "body at result.content[1]",
            of("add", |_, result| {
                let more = json!({ "type": "text", "text": "done" });
                result["content"].as_array_mut().expect("content").push(more);
            }),
        ),
        (
            "28: a tool is missing",
            "body at /result/tools",
            of("tools/list", |_, result| {
                result["tools"].as_array_mut().expect("tools").pop();
            }),
        ),
        (
            "29: a fourth tool",
            "body at /result/tools",
            of("tools/list", |_, result| {
                let tools = result["tools"].as_array_mut().expect("tools");
                tools.push(json!({ "name": "time", "inputSchema": { "type": "object" } }));
            }),
        ),
        (
            "30: nothing is required",
            "body at /result/tools",
            of("tools/list", |_, result| {
                result["tools"][1]["inputSchema"]["required"] = Value::Null;
            }),
        ),
        (
            "31: no outputSchema",
            "body at /result/tools",
            of("tools/list", |_, result| {
                result["tools"][2]
                    .as_object_mut()
                    .expect("a tool")
                    .remove("outputSchema");
            }),
        ),
        (
            "32: ttlMs below zero",
            "body at /result/ttlMs",
            of("tools/list", |_, result| result["ttlMs"] = json!(-1)),
        ),
        (
            "33: cached by arguments, with its id",
            "body at id",
            each(move |call, reply| {
                if reply.status == 200 {
                    let key = request(call)["params"].to_string();
                    let mut cached = cached.lock().expect("no panic");
                    let first = cached.entry(key).or_insert_with(|| reply.body.clone());
                    reply.body.clone_from(first);
                }
            }),
        ),
    ]
}

fn transport() -> Vec<(&'static str, &'static str, Box<Edit>)> {
    let ended = AtomicBool::new(false);
    let malformed =
        |call: &Call| call.method == "POST" && serde_json::from_slice::<Value>(&call.body).is_err();
    vec![
        (
            "34: an unknown method is 200",
            "an unknown method: POST /mcp*status",
            instead_of(404, |_, reply| {
                json_reply(200, &serde_json::from_slice(&reply.body).unwrap_or_default())
            }),
        ),
        (
            "35: 404 without JSON",
            "an unknown method: POST /mcp*header content-type",
            instead_of(404, |_, _| ScriptedReply::of(404, "text/plain", "not found")),
        ),
        (
            "36: malformed JSON is 500",
            "malformed JSON*status",
            instead_of(400, move |call, reply| {
                if malformed(call) {
                    ScriptedReply::new(500)
                } else {
                    reply.clone()
                }
            }),
        ),
        (
            "37: malformed JSON is 200",
            "malformed JSON*status",
            instead_of(400, move |call, reply| ScriptedReply {
                status: if malformed(call) { 200 } else { 400 },
                ..reply.clone()
            }),
        ),
        (
            "38: headers are ignored",
            "headers that are missing or differ*status",
            lenient(Rules {
                headers: false,
                ..ALL
            }),
        ),
        (
            "39: a missing Mcp-Name is ignored",
            "headers that are missing or differ*status",
            lenient(Rules {
                name_required: false,
                ..ALL
            }),
        ),
        (
            "40: no _meta is accepted",
            "requests that say nothing about their client*status",
            lenient(Rules { client: false, ..ALL }),
        ),
        (
            "41: a foreign origin is served",
            "a foreign origin*status",
            lenient(Rules { origin: false, ..ALL }),
        ),
        (
            "42: GET opens a stream",
            "no stream to open*status",
            instead_of(405, |call, reply| match call.method.as_str() {
                "GET" => ScriptedReply::of(200, "text/event-stream", ": open\n\n"),
                _ => reply.clone(),
            }),
        ),
        (
            "43: opens a session",
            "header mcp-session-id",
            each(|_, reply| reply.set("Mcp-Session-Id", "1")),
        ),
        (
            "44: two replies in a stream",
            "one event with data",
            as_events(|data| format!("data: {data}\n\ndata: {data}\n\n")),
        ),
        (
            "45: a notification first",
            "one event with data",
            as_events(|data| {
                let notice = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} });
                format!("data: {notice}\n\ndata: {data}\n\n")
            }),
        ),
        (
            "46: a stream without end",
            "ids of every kind*no complete reply",
            each(move |call, reply| {
                // For one request only: the check waits for it.
                let is_last = request(call)["id"] == 9_007_199_254_740_991_u64;
                if is_last && request(call)["method"] == "tools/list" && !ended.swap(true, Ordering::SeqCst) {
                    let event = format!("data: {}\n\n", reply.text());
                    *reply = ScriptedReply::of(200, "text/event-stream", "");
                    reply.stream = vec![(Duration::ZERO, event), (Duration::from_mins(1), String::new())];
                }
            }),
        ),
        (
            "47: a notification is answered with 200",
            "a notification*status",
            instead_of(202, |_, _| json_reply(200, &json!({}))),
        ),
        (
            "48: a batch is answered",
            "malformed JSON, and JSON that is no request*status",
            instead_of(400, |call, reply| match request(call) {
                Value::Array(_) => json_reply(200, &json!([])),
                _ => reply.clone(),
            }),
        ),
        (
            "49: the text of another resource",
            "body at result.contents[0].text",
            of("resources/read", |_, result| {
                result["contents"][0]["text"] = json!("plain jar 1 costs 137");
            }),
        ),
        (
            "50: an unknown resource has no contents",
            "an unknown resource",
            instead_of(400, |call, reply| {
                let request = request(call);
                match request["params"]["uri"].as_str() {
                    Some("nope://5") => {
                        let result = json!({ "resultType": "complete", "contents": [] });
                        json_reply(
                            200,
                            &json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }),
                        )
                    }
                    _ => reply.clone(),
                }
            }),
        ),
        (
            "51: a prompt is not filled in",
            "body at result.messages[0].content.text",
            of("prompts/get", |_, result| {
                result["messages"][0]["content"]["text"] = json!("Greet {name}.");
            }),
        ),
    ]
}

#[test]
fn every_wrong_mcp_server_is_rejected() {
    let all: Vec<_> = envelope().into_iter().chain(tools()).chain(transport()).collect();
    assert_eq!(all.len(), 51);
    assert_mutants_rejected("mcp", |call| server::stateless(call, ALL), mutants_of(all));
}

#[test]
fn every_wrong_session_is_rejected() {
    let contract = contract("mcp-session");
    let server = |rules: Rules| {
        let sessions = Sessions::default();
        toy::serve(
            FaultMode::Right,
            Arc::new(move |call: &Call| sessions.answer(call, rules)),
        )
    };
    let reports = check_and_recheck(&contract, server(ALL).address, Protocol::Http1);
    assert_eq!(failures_of(&reports), "", "the correct server must pass");
    let mutants = vec![
        (
            "52: an unknown session is served",
            "an unknown session",
            "status",
            Rules {
                session: false,
                ..ALL
            },
        ),
        (
            "53: one id for all",
            "one session ends, another one goes on",
            "status",
            Rules {
                own_sessions: false,
                ..ALL
            },
        ),
        (
            "54: the revision is not negotiated",
            "another revision is not accepted, but answered",
            "protocolVersion",
            Rules {
                revision: false,
                ..ALL
            },
        ),
    ];
    // Where all share a session, the sessions of other cases would open it again.
    assert_none_survives(mutants, |(name, case, expected, rules)| {
        let check = MutantCheck::of_case(&contract, case);
        check.survival_at(server(rules).address, (name, &format!("{case}*{expected}")))
    });
}

#[test]
fn replies_may_come_as_one_event() {
    let contract = contract("mcp");
    let events =
        |text: &str| format!(": hello\nid: 1\ndata:\n\nretry: 10\nevent: message\nid: 2\ndata: {text}\n\n");
    for (what, is_right) in [("message", true), ("note", false)] {
        let handler = move |call: &Call| {
            let mut reply = server::stateless(call, ALL);
            if reply.status == 200 {
                let body = events(&reply.text()).replace("event: message", &format!("event: {what}"));
                reply = ScriptedReply::of(200, "text/event-stream", body);
            }
            reply
        };
        let toy = toy::serve(FaultMode::Right, Arc::new(handler));
        let failures = failures_of(&check_and_recheck(&contract, toy.address, Protocol::Http1));
        assert_eq!(failures.is_empty(), is_right, "{what}: {failures}");
    }
}

#[test]
fn traits_are_no_failures() {
    let contract = contract("mcp");
    let traits = |handler: fn(&Call) -> ScriptedReply| {
        let toy = toy::serve(FaultMode::Right, Arc::new(handler));
        let reports = check_and_recheck(&contract, toy.address, Protocol::Http1);
        assert_eq!(failures_of(&reports), "");
        reports[0].traits.clone()
    };
    let has_all = traits(|call| server::stateless(call, ALL));
    assert_eq!(has_all.len(), 5);
    assert!(has_all.values().all(|has| *has), "{has_all:?}");
    let has_one_less = traits(|call| {
        let reply = server::stateless(call, ALL);
        match serde_json::from_slice::<Value>(&call.body) {
            Err(_) if reply.status == 400 => ScriptedReply::of(400, "text/plain", "malformed"),
            _ => reply,
        }
    });
    let lacks: Vec<&String> = has_one_less
        .iter()
        .filter(|(_, has)| !**has)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(lacks, ["errors are JSON"]);
}
