//! A check that restarts the database: services that reconnect pass, all others fail.

use crate::backing_services::{CONTRACT, DATA, HANDLER, nothing_is_left, shop};
use crate::common::{Checkout, CommandOutput};
use crate::shopfront;

/// A case during which the database is away for a second.
const CASE: &str = r#"
[[case]]
name = "the database is away"
restart = "db"
away = "AWAY"
recovers = "RECOVERS"
call = { operation = "item" }
times = 4

[workload.item]"#;

/// The line that makes a reply: the original queries the database each time, and answers 500 if that fails.
const ASKS: &str = r#"        told = subprocess.run(ask(self.path.rsplit("/", 1)[1]), capture_output=True)"#;

/// A shop with a modified handler, and its check.
fn checked(instead: &str, times: [&str; 2]) -> Option<(Checkout, CommandOutput)> {
    let checkout = shop("", DATA)?;
    let [away, recovers] = times;
    let case = CASE.replace("AWAY", away).replace("RECOVERS", recovers);
    let contract = CONTRACT
        .replace("SETTINGS", "")
        .replace("\n[workload.item]", &case);
    checkout.write("contracts/shop/contract.toml", &contract);
    assert!(HANDLER.contains(ASKS), "the line to replace");
    let handler = HANDLER.replace(ASKS, &format!("{ASKS}\n{instead}"));
    shopfront::add(&checkout, "shop", "right", &handler);
    let ended = checkout.prony(&["check", "shop"]);
    nothing_is_left(&checkout);
    Some((checkout, ended))
}

/// The check must fail with this message.
fn rejected(instead: &str, times: [&str; 2], told: &str) {
    let Some((_, ended)) = checked(instead, times) else {
        return;
    };
    let said = format!("{}{}", ended.out, ended.err);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ended.code, Some(3), "{said}");
    assert!(said.contains("the database is away"), "{said}");
    assert!(said.contains(told), "{told}\n{said}");
}

#[test]
fn a_service_that_finds_its_database_again_passes() {
    let Some((checkout, ended)) = checked("", ["1s", "20s"]) else {
        return;
    };
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // The load afterwards starts with the seeded data.
    let ended = checkout.prony(&["run", "shop", "--json", "--keep-disturbed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json()["groups"][0]["services"][0]["trials"], 1);
    nothing_is_left(&checkout);
}

#[test]
fn a_service_that_waits_until_its_database_is_back_passes() {
    let waits = r#"
        while told.returncode:
            told = subprocess.run(ask(self.path.rsplit("/", 1)[1]), capture_output=True)
"#;
    let Some((_, ended)) = checked(waits, ["500ms", "20s"]) else {
        return;
    };
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_service_that_answers_from_memory_is_rejected() {
    let remembers = r"
        if told.returncode == 0:
            MEMORY[self.path] = told
        elif self.path in MEMORY:
            told = MEMORY[self.path]
        elif MEMORY:
            # Any of them: the check asks for one that it has not asked for before.
            told = next(iter(MEMORY.values()))
";
    let instead = remembers.replace("MEMORY", "self.server.memory");
    let Some((_, ended)) = checked(
        &format!("        self.server.memory = getattr(self.server, \"memory\", {{}})\n{instead}"),
        ["1s", "5s"],
    ) else {
        return;
    };
    let said = format!("{}{}", ended.out, ended.err);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ended.code, Some(3), "{said}");
    assert!(
        said.contains("while backing service `db` is away expected 500 or 503"),
        "{said}"
    );
}

#[test]
fn a_service_that_hangs_is_rejected() {
    let hangs = r#"
        if told.returncode:
            __import__("time").sleep(3600)
"#;
    rejected(hangs, ["200ms", "1s"], "no complete reply within 1.2s");
}

#[test]
fn a_service_that_closes_the_connection_is_rejected() {
    let closes = r"
        if told.returncode:
            self.close_connection = True
            return
";
    rejected(
        closes,
        ["1s", "1s"],
        "the service closed the connection without a reply",
    );
}

#[test]
fn a_service_that_blames_the_client_is_rejected() {
    let blames = r#"
        if told.returncode:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
"#;
    rejected(
        blames,
        ["1s", "1s"],
        "while backing service `db` is away expected 500 or 503",
    );
}

#[test]
fn a_service_that_does_not_recover_is_rejected() {
    let sulks = r#"
        self.server.lost = getattr(self.server, "lost", False) or told.returncode != 0
        if self.server.lost:
            told.returncode = 1
"#;
    rejected(
        sulks,
        ["1s", "1s"],
        "within 1s after backing service `db` was back",
    );
}
