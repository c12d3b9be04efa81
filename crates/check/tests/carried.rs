//! A contract whose calls use captured values: servers that lose the stored data, or return wrong values, must fail.

use crate::toy::{Call, ScriptedReply};
use crate::{Mutant, MutantCheck, assert_correct_passes, assert_none_survives, wrong_reply};
use prony_config::contract::Contract;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const CONTRACT: &str = r##"name = "things"
title = "Things"
summary = "Things that are kept."

[operation.create]
summary = "Keeps a thing."
http = "POST /things"
json = { name = "{name}" }
with = { name = { hex = 8 } }
expect = {
    status = 201,
    type = "application/json",
    headers = { location = '/things/\d+' },
    json_part = { name = "{name}" },
    capture = { thing = "json:/id", place = "header:location" },
}

[operation.read]
summary = "Gives it back."
common = false
http = "GET /things/{thing}"
with = { thing = 1 }
expect = { status = 200, type = "application/json", json_part = { id = "#{thing}" } }

[[case]]
name = "kept and given back"
calls = [
    { operation = "create" },
    { operation = "read" },
    { http = "GET {place}", expect = { status = 200, json_part = { id = "#{thing}" } } },
    { operation = "read", with = { thing = 1000000 }, expect = { status = 404 } },
]
times = 9

[workload.visit]
summary = "A thing is kept and read."
sequence = [{ operation = "create" }, { operation = "read" }]
load = { kind = "closed", connections = 1 }
"##;

#[derive(Default)]
struct StoredItems(Mutex<Vec<Value>>);

impl StoredItems {
    fn answer(&self, call: &Call) -> ScriptedReply {
        let mut things = self.0.lock().expect("no panic");
        match (call.method.as_str(), call.segments().as_slice()) {
            ("POST", ["things"]) => {
                let Ok(mut thing) = serde_json::from_slice::<Value>(&call.body) else {
                    return ScriptedReply::new(400);
                };
                let id = things.len() + 1;
                thing["id"] = json!(id);
                things.push(thing.clone());
                let mut answer = ScriptedReply::of(201, "application/json", thing.to_string());
                answer.set("Location", &format!("/things/{id}"));
                answer
            }
            ("GET" | "HEAD", ["things", id]) => {
                let index = id.parse().unwrap_or(0_usize).wrapping_sub(1);
                match things.get(index) {
                    Some(thing) => ScriptedReply::of(200, "application/json", thing.to_string()),
                    None => ScriptedReply::new(404),
                }
            }
            (_, ["things"] | ["things", _]) => ScriptedReply::new(405),
            _ => ScriptedReply::new(404),
        }
    }
}

/// Changes replies with this status.
fn with_status(
    status: u16,
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |_, answer| {
        if answer.status == status {
            let mut value = serde_json::from_slice(&answer.body).expect("JSON");
            change(&mut value);
            answer.body = value.to_string().into_bytes();
        }
    }
}

fn mutants() -> Vec<Mutant> {
    vec![
        wrong_reply(
            "forgets",
            "kept and given back: GET /things/{thing}: status",
            |_, answer| {
                if answer.status == 200 {
                    *answer = ScriptedReply::new(404);
                }
            },
        ),
        wrong_reply(
            "gives another",
            "kept and given back: GET /things/{thing}: body at id",
            with_status(200, |thing| {
                thing["id"] = json!(thing["id"].as_u64().map(|id| id + 1));
            }),
        ),
        wrong_reply(
            "says no id",
            "captured thing (json:/id)",
            with_status(201, |thing| {
                thing.as_object_mut().expect("an object").remove("id");
            }),
        ),
        wrong_reply("leads elsewhere", "GET {place}: body at id", |call, answer| {
            if answer.status == 201 && call.number > 1 {
                answer.set("Location", "/things/1");
            }
        }),
        wrong_reply(
            "another name",
            "body at name",
            with_status(201, |thing| thing["name"] = json!("x")),
        ),
    ]
}

#[test]
fn captured_values_are_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("things");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("contract.toml"), CONTRACT).expect("written");
    let contract = Contract::load(&folder).unwrap_or_else(|error| panic!("{error}"));
    let things = StoredItems::default();
    let right: Arc<crate::CorrectHandler> = Arc::new(move |call: &Call| things.answer(call));
    assert_correct_passes(&contract, &right);
    let check = MutantCheck::of(&contract);
    assert_none_survives(mutants(), |mutant| check.survival_in_toy(&right, mutant));
}
