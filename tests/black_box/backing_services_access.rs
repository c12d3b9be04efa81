//! Who can reach a backing service: the service with a password of its own, and no other process.

use crate::backing_services::{DATA, HANDLER, cached, shop};
use crate::common::Checkout;
use crate::shopfront;
use std::collections::BTreeSet;
use std::fs;

/// Answers only if nothing but its own address lets it in. It keeps that address in a file.
const SUSPICIOUS: &str = r#"
import re

def succeeds(*command):
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL).stdout.strip() in (b"1", b"PONG")


def open_doors():
    if "REDIS_URL" in os.environ:
        url = os.environ["REDIS_URL"]
        host, port = re.search(r"@(.*):(\d+)/", url).groups()
        return [words for words in [(), ("-a", "prony")] if succeeds("redis-cli", "-h", host, "-p", port, *words, "ping")]
    url = os.environ["DATABASE_URL"]
    password = re.search(r"://prony:(.*)@", url)[1]
    others = [("prony", "prony"), ("postgres", "prony"), ("postgres", password), ("postgres", "")]
    urls = [url.replace(f"prony:{password}@", f"{user}:{secret}@") for user, secret in others]
    doors = [url for url in urls if succeeds("psql", "-w", "-Atc", "select 1", url)]
    doors += [query for query in ["copy (select 1) to program 'cat'", "select pg_read_file('/etc/passwd')"]
              if subprocess.run(["psql", "-w", "-Atc", query, url], capture_output=True).returncode == 0]
    return doors if succeeds("psql", "-w", "-Atc", "select 1", url) else ["its own address does not let it in"]


with open("SEEN", "a") as file:
    print(os.environ.get("DATABASE_URL") or os.environ["REDIS_URL"], file=file)
DOORS = open_doors()
inner = ask


def ask(item):
    return ["false"] if DOORS else inner(item)
"#;

fn suspicious(checkout: &Checkout) {
    let (ask, handler) = HANDLER.split_once("\n\nclass").expect("a function and a class");
    let seen = checkout.path("seen.txt");
    let suspicious = SUSPICIOUS.replace("SEEN", &seen.display().to_string());
    let handler = format!("{ask}\n{suspicious}\n\nclass{handler}");
    shopfront::add(checkout, "shop", "right", &handler);
    for _ in 0..2 {
        let ended = checkout.prony(&["check", "shop"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let seen = fs::read_to_string(seen).expect("addresses");
    let addresses: BTreeSet<&str> = seen.lines().collect();
    assert!(
        addresses.len() >= 2 && addresses.len() == seen.lines().count(),
        "a new password in each start: {seen}"
    );
}

#[test]
fn a_database_lets_in_its_service_alone() {
    if let Some(checkout) = shop("", DATA) {
        suspicious(&checkout);
    }
}

#[test]
fn a_cache_lets_in_its_service_alone() {
    if let Some(checkout) = cached() {
        suspicious(&checkout);
    }
}
