#![expect(clippy::too_many_lines, reason = "a table of mutants")]

use crate::toy::{Call, FaultMode, ScriptedReply};
use crate::{assert_mutants_rejected, right, wrong_mode, wrong_reply};
use serde_json::{Value, json};
use std::sync::Mutex;

/// Changes the JSON of correct replies.
fn value(
    change: impl Fn(&Call, &mut Value) + Send + Sync + 'static,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if answer.status == 200
            && let Ok(mut value) = serde_json::from_slice(&answer.body)
        {
            change(call, &mut value);
            answer.body = value.to_string().into_bytes();
        }
    }
}

/// Stores what is created, as the original would not.
fn stores() -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    let stored: Mutex<Vec<Value>> = Mutex::new(Vec::new());
    move |call, answer| {
        let mut stored = stored.lock().expect("no panic");
        if call.method == "POST" && answer.status == 200 {
            stored.extend(serde_json::from_slice::<Value>(&answer.body));
        }
        let id = call.segments().last().copied().unwrap_or_default().to_owned();
        if answer.status == 404
            && let Some(person) = stored.iter().find(|person| person["id"] == id.as_str())
        {
            *answer = ScriptedReply::of(200, "application/json", person.to_string());
        }
    }
}

#[test]
fn every_wrong_person_is_rejected() {
    assert_mutants_rejected(
        "person",
        right::person,
        vec![
            wrong_reply(
                "a lost picture",
                "body at picture.",
                value(|_, value| {
                    if value["id"] == "2" {
                        value["picture"] = json!({});
                    }
                }),
            ),
            wrong_reply(
                "no pictures in lists",
                "GET /person: body at persons[1].picture",
                value(|call, value| {
                    if call.path == "/person" && call.method == "GET" {
                        for person in value["persons"].as_array_mut().into_iter().flatten() {
                            person["picture"] = Value::Null;
                        }
                    }
                }),
            ),
            wrong_reply("Latin-1", "body: not UTF-8", |_, answer| {
                let text = answer.text();
                if text.contains("graubünden") && answer.status == 200 {
                    answer.body = text
                        .chars()
                        .map(|letter| u8::try_from(letter).unwrap_or(b'?'))
                        .collect();
                }
            }),
            wrong_reply(
                "UTF-8 twice",
                "location.state: expected \"graubünden\"",
                |_, answer| {
                    if answer.status == 200 {
                        answer.body = answer.text().replace("graubünden", "graubÃ¼nden").into_bytes();
                    }
                },
            ),
            wrong_reply(
                "a stored person",
                "a person that is created is not stored: GET /person/5: status: expected 404, got 200",
                stores(),
            ),
            wrong_reply(
                "a longer list",
                "GET /person: body at count: expected 4, got 5",
                value(|call, value| {
                    if call.path == "/person" && call.method == "GET" {
                        value["count"] = json!(5);
                    }
                }),
            ),
            wrong_reply(
                "another order of links",
                "body at links[0].p1",
                value(|_, value| {
                    if let Some(links) = value["links"].as_array_mut() {
                        links.reverse();
                    }
                }),
            ),
            wrong_reply(
                "links of p1 only",
                "/links: body at",
                value(|call, value| {
                    let segments = call.segments();
                    if let ["person", id, "links"] = segments.as_slice() {
                        let links = value["links"].as_array_mut().expect("links");
                        links.retain(|link| link["p1"]["id"] == *id);
                        value["count"] = json!(value["links"].as_array().map_or(0, Vec::len));
                    }
                }),
            ),
            wrong_reply(
                "links with ids only",
                "links[0].p1.email",
                value(|_, value| {
                    for link in value["links"].as_array_mut().into_iter().flatten() {
                        link["p1"] = json!({ "id": link["p1"]["id"] });
                    }
                }),
            ),
            wrong_reply(
                "404 for the links of an unknown person",
                "the links of an unknown person: GET /person/0/links: status: expected 200, got 404",
                |call, answer| {
                    if call.path.ends_with("/links") && answer.text().contains("\"count\":0") {
                        *answer = ScriptedReply::new(404);
                    }
                },
            ),
            wrong_reply(
                "500 for an unknown person",
                "an unknown person: GET /person/0: status: expected 404, got 500",
                |call, answer| {
                    if call.segments().len() == 2 && answer.status == 404 {
                        answer.status = 500;
                    }
                },
            ),
            wrong_reply(
                "null for an unknown person",
                "status: expected 404, got 200, application/json, 4 bytes: null",
                |call, answer| {
                    if call.segments().len() == 2 && answer.status == 404 {
                        *answer = ScriptedReply::of(200, "application/json", "null");
                    }
                },
            ),
            wrong_reply(
                "a code in quotes",
                "location.postCode: expected 69217, got \"69217\"",
                value(|_, value| {
                    if value["id"] == "1" {
                        value["location"]["postCode"] = json!("69217");
                    }
                }),
            ),
            wrong_reply(
                "the street as the city",
                "location.city",
                value(|_, value| {
                    if value["location"].is_object() {
                        value["location"]["city"] = value["location"]["street"].clone();
                    }
                }),
            ),
            wrong_reply(
                "an echo without its picture",
                "POST /person: body at picture",
                value(|call, value| {
                    if call.method == "POST" {
                        value["picture"] = Value::Null;
                    }
                }),
            ),
            wrong_reply(
                "an echo with its own id",
                "POST /person: body at id",
                value(|call, value| {
                    if call.method == "POST" {
                        value["id"] = json!("6");
                    }
                }),
            ),
            wrong_reply(
                "always the same echo",
                "POST /person: body at email",
                value(|call, value| {
                    if call.method == "POST" {
                        *value = right::PERSONS[1].clone();
                    }
                }),
            ),
            wrong_reply(
                "201 for a new person",
                "POST /person: status: expected 200, got 201",
                |call, answer| {
                    if call.method == "POST" && answer.status == 200 {
                        answer.status = 201;
                    }
                },
            ),
            wrong_reply(
                "takes what is no JSON",
                "malformed JSON: POST /person: status: expected 400, got 200",
                |call, answer| {
                    if answer.status == 400 && serde_json::from_slice::<Value>(&call.body).is_err() {
                        *answer = ScriptedReply::of(200, "application/json", "{}");
                    }
                },
            ),
            wrong_reply(
                "500 for what is no JSON",
                "malformed JSON: POST /person: status: expected 400, got 500",
                |call, answer| {
                    if answer.status == 400 && serde_json::from_slice::<Value>(&call.body).is_err() {
                        answer.status = 500;
                    }
                },
            ),
            wrong_reply(
                "takes a missing street",
                "a person with a missing or invalid member: POST /person: status: expected 400, got 200",
                |call, answer| {
                    let sent: Option<Value> = serde_json::from_slice(&call.body).ok();
                    if answer.status == 400
                        && sent.is_some_and(|sent| {
                            sent["location"].is_object() && sent["location"]["street"].is_null()
                        })
                    {
                        *answer = ScriptedReply::of(200, "application/json", call.body.clone());
                    }
                },
            ),
            wrong_reply("500 for a code of 33 bits", "got 500", |call, answer| {
                if answer.status == 400 && String::from_utf8_lossy(&call.body).contains("3000000000") {
                    answer.status = 500;
                }
            }),
            wrong_reply(
                "JSON as text",
                "header content-type: expected application/json",
                |_, answer| {
                    if answer.status == 200 {
                        answer.set("Content-Type", "text/plain");
                    }
                },
            ),
            wrong_reply("a comma too many", "body: not JSON", |_, answer| {
                if answer.status == 200 {
                    answer.body = answer.text().replacen('{', "{,", 1).into_bytes();
                }
            }),
            wrong_reply(
                "one person for all",
                "GET /person/3: body at email",
                |call, answer| {
                    if call.segments().len() == 2 && answer.status == 200 {
                        *answer = ScriptedReply::of(200, "application/json", right::PERSONS[0].to_string());
                    }
                },
            ),
            wrong_mode(
                "knows no chunked bodies",
                "chunked body: POST /person",
                FaultMode::KnowsNoChunks,
            ),
        ],
    );
}
