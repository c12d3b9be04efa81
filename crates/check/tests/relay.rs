use crate::right::{self, RelayAction};
use crate::toy::{Call, ScriptedReply};
use crate::{Mutant, MutantCheck, assert_correct_passes, assert_none_survives, contract, wrong_reply};
use prony_servers::Backend;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Delay of the backend: long enough that calls overlap.
const DELAY: Duration = Duration::from_millis(2);

struct Relay {
    backend: Backend,
}

impl Relay {
    fn authority(&self) -> String {
        self.backend.url().trim_start_matches("http://").to_owned()
    }
}

/// Changes forwarded requests.
fn forwards(
    relay: &Arc<Relay>,
    change: fn(&mut Call),
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    let relay = Arc::clone(relay);
    move |call, answer| {
        if answer.headers.iter().any(|(name, _)| name == "prony-digest") {
            let mut changed = call.clone();
            change(&mut changed);
            *answer = right::forwarded(&changed, &relay.authority());
        }
    }
}

/// Forwards requests that the server should answer itself.
fn forwards_where(
    relay: &Arc<Relay>,
    is: fn(&Call, &ScriptedReply) -> bool,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    let relay = Arc::clone(relay);
    move |call, answer| {
        if is(call, answer) {
            *answer = right::forwarded(call, &relay.authority());
        }
    }
}

/// Drops requests that the server should forward.
fn drops_where(
    is: fn(&Call, Option<Value>) -> bool,
) -> impl Fn(&Call, &mut ScriptedReply) + Send + Sync + 'static {
    move |call, answer| {
        if is(call, serde_json::from_slice(&call.body).ok()) {
            *answer = ScriptedReply::new(204);
        }
    }
}

fn is_dropped(call: &Call) -> bool {
    serde_json::from_slice::<Value>(&call.body).is_ok_and(|message| message["drop"] == true)
}

#[test]
fn every_wrong_relay_is_rejected() {
    let contract = contract("relay");
    let all = |relay: &Arc<Relay>| -> Vec<Mutant> {
        [decisions, requests, replies]
            .into_iter()
            .flat_map(|some| some(relay))
            .collect()
    };
    // Each mutant has its own backend: the case without a backend would disturb the others.
    let with_backend = || {
        let relay = Arc::new(Relay {
            backend: Backend::start(DELAY).expect("a backend"),
        });
        let authority = relay.authority();
        let right: Arc<dyn Fn(&Call) -> ScriptedReply + Send + Sync> =
            Arc::new(move |call| match right::relay(call) {
                RelayAction::Answer(answer) => answer,
                RelayAction::Forward => right::forwarded(call, &authority),
            });
        (relay, right)
    };
    let (relay, right) = with_backend();
    assert_correct_passes(&contract, &right);
    let count = all(&relay).len();
    let check = MutantCheck::of(&contract);
    assert_none_survives((0..count).collect(), |index| {
        let (relay, right) = with_backend();
        check.survival_in_toy(&right, all(&relay).swap_remove(index))
    });
}

fn decisions(relay: &Arc<Relay>) -> Vec<Mutant> {
    vec![
        wrong_reply(
            "relays what is dropped",
            "header prony-digest: expected no such header",
            forwards_where(relay, |call, _| is_dropped(call)),
        ),
        wrong_reply(
            "looks for the letters of drop",
            "messages that are dropped: POST /",
            forwards_where(relay, |call, _| {
                is_dropped(call) && !String::from_utf8_lossy(&call.body).contains("\"drop\":true")
            }),
        ),
        wrong_reply(
            "drops wherever the letters are",
            "messages that only look as if they must be dropped",
            drops_where(|call, _| String::from_utf8_lossy(&call.body).contains("drop\":true")),
        ),
        wrong_reply(
            "drops what is truthy",
            "messages that only look as if they must be dropped",
            drops_where(|_, message| {
                message.is_some_and(|message| !message["drop"].is_null() && message["drop"] != false)
            }),
        ),
        wrong_reply(
            "hides invalid JSON behind 204",
            "malformed JSON: POST /: status: expected 400, got 204",
            |_, answer| {
                if answer.status == 400 {
                    *answer = ScriptedReply::new(204);
                }
            },
        ),
        wrong_reply(
            "relays invalid JSON",
            "malformed JSON",
            forwards_where(relay, |_, answer| answer.status == 400),
        ),
        wrong_reply("500 on invalid JSON", "got 500", |_, answer| {
            if answer.status == 400 {
                answer.status = 500;
            }
        }),
        wrong_reply(
            "takes text for JSON",
            "a body that is neither JSON nor declared as JSON is relayed",
            |call, answer| {
                if call.header("content-type") == Some(b"text/plain") {
                    *answer = ScriptedReply::new(400);
                }
            },
        ),
        wrong_reply(
            "relays nop",
            "GET /nop: status: expected 200, got 204",
            forwards_where(relay, |call, _| call.path == "/nop"),
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table of mutants")]
fn requests(relay: &Arc<Relay>) -> Vec<Mutant> {
    vec![
        wrong_reply("no body", "body_bytes", forwards(relay, |call| call.body.clear())),
        wrong_reply(
            "a body written anew",
            "bodies arrive unchanged: POST /received/body: body at body_",
            forwards(relay, |call| {
                if let Ok(value) = serde_json::from_slice::<Value>(&call.body) {
                    call.body = value.to_string().into_bytes();
                }
            }),
        ),
        wrong_reply(
            "a header lost",
            "headers arrive unchanged: POST /received/headers: body at headers.authorization",
            forwards(relay, |call| {
                call.headers
                    .retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            }),
        ),
        wrong_reply(
            "a random id lost",
            "header prony-digest: expected",
            forwards(relay, |call| {
                call.headers
                    .retain(|(name, _)| !name.eq_ignore_ascii_case("x-request-id"));
            }),
        ),
        wrong_reply(
            "a header more",
            "body at headers.x-relay",
            forwards(relay, |call| {
                call.headers.push(("X-Relay".into(), b"yes".to_vec()));
            }),
        ),
        wrong_reply(
            "the second of two headers lost",
            "headers.x-twice: expected \"one, two\", got \"one\"",
            forwards(relay, |call| {
                call.headers.retain(|(_, value)| value != b"two");
            }),
        ),
        wrong_reply(
            "its own agent",
            "body at headers.user-agent",
            forwards(relay, |call| {
                call.headers
                    .retain(|(name, _)| !name.eq_ignore_ascii_case("user-agent"));
                call.headers.push(("User-Agent".into(), b"relay".to_vec()));
            }),
        ),
        wrong_reply(
            "the query lost",
            "body at target: expected \"/received?x=1",
            forwards(relay, |call| {
                call.target = call.target.split('?').next().unwrap_or_default().to_owned();
            }),
        ),
        wrong_reply(
            "the path decoded",
            "body at target",
            forwards(relay, |call| {
                call.target = call.target.replace("%2e", ".");
            }),
        ),
        wrong_reply(
            "always POST",
            "body at method: expected \"PUT\", got \"POST\"",
            forwards(relay, |call| {
                call.method = "POST".into();
            }),
        ),
    ]
}

fn replies(_: &Arc<Relay>) -> Vec<Mutant> {
    vec![
        wrong_reply(
            "204 for all",
            "the backend's reply comes back unchanged",
            |_, answer| {
                if answer.headers.iter().any(|(name, _)| name == "prony-digest") {
                    answer.status = 204;
                    answer.body.clear();
                }
            },
        ),
        wrong_reply(
            "a header of the reply lost",
            "header x-answer: expected",
            |_, answer| answer.remove("x-answer"),
        ),
        wrong_reply(
            "a type of its own",
            "header content-type: expected text/plain, got application/octet-stream",
            |_, answer| {
                if answer.text() == "the answer" {
                    answer.set("Content-Type", "application/octet-stream");
                }
            },
        ),
        wrong_reply(
            "a digest made up",
            "header prony-digest: expected",
            |_, answer| {
                if answer.headers.iter().any(|(name, _)| name == "prony-digest") {
                    answer.set("prony-digest", "0000");
                }
            },
        ),
        wrong_reply(
            "no backend asked at all",
            "header prony-digest: expected",
            |call, answer| {
                if call.method == "POST" && call.path == "/" && answer.status == 204 {
                    *answer = ScriptedReply::new(204);
                }
            },
        ),
        wrong_reply(
            "500 without a backend",
            "status: expected 502, got 500",
            |_, answer| {
                if answer.status == 502 {
                    answer.status = 500;
                }
            },
        ),
        wrong_reply("the body of the reply cut", "body: ends after", |_, answer| {
            if answer.text().starts_with("piece") {
                answer.body.truncate(5);
            }
        }),
    ]
}
