//! A project of shops: Python services with a database, each defined by a class that handles requests.

use crate::common::Checkout;
use crate::skip::skipped;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

const SERVICE: &str = r#"name = "NAME"
title = "NAME"
language = "Python"
framework = "http.server"
class = "platform"
contracts = ["shop"]
toolchains = ["python"]
run = "exec python3 shop.py"

[workers]
uses = "threads"
how = "a thread per connection"

[[variant]]
name = "current"
version = "3"
env = { MODE = "WORD" }
"#;

/// The code around the class. A shop runs the database client for each request, so it needs no driver and reconnects after a
/// restart of the database.
const FRAME: &str = r#"
import glob, os, subprocess, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PSQL = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql") + ["psql"])[0]
MODE = os.environ["MODE"]


def query(text):
    return [PSQL, "-XAtc", text, os.environ["DATABASE_URL"]]


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

HANDLER

Server((os.environ["HOST"], int(os.environ["PORT"])), Handler).serve_forever()
"#;

/// A project with the contract `shop`, made of these files, and the suite `shop`, but no service yet, readable by all users;
/// `None`, with a message, without a database.
pub(crate) fn project(contract: &[(&str, &str)], suite: &str) -> Option<Checkout> {
    let listed = Command::new("sh")
        .args(["-c", "ls /usr/lib/postgresql/*/bin/initdb"])
        .output();
    if !listed.is_ok_and(|listed| listed.status.success()) {
        skipped("no PostgreSQL: `prony doctor --install` installs it");
        return None;
    }
    let checkout = Checkout::new(1, &[]);
    fs::set_permissions(checkout.path("."), Permissions::from_mode(0o755)).expect("a mode");
    fs::remove_file(checkout.path("contracts")).expect("the link");
    for (file, text) in contract {
        checkout.write(&format!("contracts/shop/{file}"), text);
    }
    checkout.write("suites/shop.toml", suite);
    fs::remove_file(checkout.path("suites/toys.toml")).expect("the suite");
    Some(checkout)
}

/// Adds a shop with this class `Handler`, a subclass of `Shop`, and the environment variable `MODE`.
pub(crate) fn add(checkout: &Checkout, name: &str, mode: &str, handler: &str) {
    let service = SERVICE.replace("NAME", name).replace("WORD", mode);
    checkout.write(&format!("services/{name}/service.toml"), &service);
    checkout.write(
        &format!("services/{name}/shop.py"),
        &FRAME.replace("HANDLER", handler),
    );
}
