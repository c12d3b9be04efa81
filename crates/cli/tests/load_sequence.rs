//! `prony load --sequence`: users who carry values from one reply to the next request, with a shop that checks every value.

use crate::common::{assert_contains, assert_refused, json_of, listen, prony, stderr_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

/// The result of a load with a file of steps, which must succeed.
fn load(shop: &Shop, path: &str, switches: &[&str]) -> Value {
    let (code, result) = judged(shop, path, switches);
    assert_eq!(code, Some(0), "{result}");
    result
}

/// The exit code and the result of such a load.
fn judged(shop: &Shop, path: &str, switches: &[&str]) -> (Option<i32>, Value) {
    let output = prony(&[&["load", &shop.url, "--sequence", path, "--json"], switches].concat());
    (output.status.code(), json_of(&output))
}

/// The number of requests with this outcome; 0 if the result does not have it.
fn outcome(result: &Value, name: &str) -> u64 {
    result["outcomes"][name].as_u64().unwrap_or_default()
}

#[derive(Default)]
struct Books {
    /// For each token its user, and the number of the order if one was placed.
    tokens: BTreeMap<String, (String, Option<u64>)>,
    logins: Vec<String>,
    orders: u64,
    /// Number of orders that were read back by those who placed them.
    read: u64,
}

/// A server where users log in, place an order with the token and the cookie, and read it at its `Location`.
struct Shop {
    url: String,
    books: Arc<Mutex<Books>>,
}

impl Shop {
    /// `per_connection`: how many requests are answered on a connection before it is closed.
    fn start(per_connection: usize) -> Self {
        let books = Arc::<Mutex<Books>>::default();
        let kept = Arc::clone(&books);
        let port = listen(move |stream| serve(stream, &kept, per_connection));
        let url = format!("http://127.0.0.1:{port}");
        Self { url, books }
    }
}

fn serve(stream: TcpStream, books: &Mutex<Books>, per_connection: usize) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    for number in 1..=per_connection {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let header = |name: &str| {
            let values = lines.iter().filter_map(|line| line.split_once(": "));
            values
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.to_owned())
                .next()
                .unwrap_or_default()
        };
        let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        let line = lines[0].split(' ').collect::<Vec<_>>();
        let token = header("authorization").replace("Bearer ", "");
        let (status, headers, body) =
            books
                .lock()
                .ok()?
                .answer((line[0], line[1]), &token, &header("cookie"), &body);
        write!(
            writer,
            "HTTP/1.1 {status} X\r\n{headers}{}Content-Length: {}\r\n\r\n{body}",
            if number == per_connection {
                "Connection: close\r\n"
            } else {
                ""
            },
            body.len()
        )
        .ok()?;
    }
    Some(())
}

impl Books {
    fn answer(
        &mut self,
        (method, path): (&str, &str),
        token: &str,
        cookie: &str,
        body: &str,
    ) -> (u16, String, String) {
        let none = String::new;
        if (method, path) == ("POST", "/login") {
            let asked: Value = serde_json::from_str(body).unwrap_or_default();
            let user = asked["user"].as_str().unwrap_or_default().to_owned();
            let token = format!("{user}-{}", self.logins.len());
            let reply = format!(r#"{{"user":{{"name":"{user}"}},"auth":[{{"token":"{token}"}}]}}"#);
            let cookies = format!("Set-Cookie: sid={token}; Path=/\r\nSet-Cookie: lang=en\r\n");
            self.logins.push(user.clone());
            self.tokens.insert(token, (user, None));
            return (200, cookies, reply);
        }
        let Some((user, order)) = self.tokens.get_mut(token) else {
            return (401, none(), format!("who is `{token}`?"));
        };
        if cookie != format!("sid={token}; lang=en") {
            return (403, none(), format!("`{cookie}` is not yours"));
        }
        match (method, path) {
            ("POST", "/orders") => {
                self.orders += 1;
                *order = Some(self.orders);
                (
                    201,
                    format!("Location: /orders/{}\r\n", self.orders),
                    format!("<p>for {user}</p>"),
                )
            }
            ("GET", path) if Some(path) == order.map(|number| format!("/orders/{number}")).as_deref() => {
                self.read += 1;
                (200, none(), user.clone())
            }
            _ => (404, none(), none()),
        }
    }
}

const SEQUENCE: &str = r#"
data = "users.csv"
cookies = true

[[step]]
http = "POST /login"
json = { user = "{user}" }
expect = { capture = { token = "json:/auth/0/token" } }

[[step]]
http = "POST /orders"
headers = { Authorization = "Bearer {token}" }
expect = { status = 201, capture = { place = "header:location", who = "regex:for (\\w+)" } }

[[step]]
http = "GET {place}"
headers = { Authorization = "Bearer {token}" }
expect = { text = "{who}" }
"#;

fn files(sequence: &str, users: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("users.csv"), users).expect("a table");
    let path = folder.path().join("shop.toml");
    std::fs::write(&path, sequence).expect("a sequence");
    let path = path.to_str().expect("text").to_owned();
    (folder, path)
}

#[test]
fn values_of_replies_go_into_later_requests_of_the_same_user() {
    for switches in [
        &["-n", "300", "-c", "8"] as &[&str],
        &["-n", "300", "-c", "3", "-t", "2"],
        &["-n", "300", "--rate", "500", "-c", "4"],
        &["-d", "1s", "--users", "100", "--requests-per-user", "3"],
    ] {
        let shop = Shop::start(usize::MAX);
        let (_folder, path) = files(SEQUENCE, "user,age\nalice,1\nbob,2\ncarol,3\n");
        let result = load(&shop, &path, switches);
        let books = shop.books.lock().expect("no panic");
        for name in ["status", "unexpected"] {
            assert_eq!(outcome(&result, name), 0, "{switches:?}: {}", result["outcomes"]);
        }
        if switches.contains(&"-n") {
            assert_eq!(
                outcome(&result, "valid"),
                books.read * 3,
                "{switches:?}: {}",
                result["outcomes"]
            );
        }
        assert!(books.read > 0, "{switches:?}");
        let mut users = books.logins.clone();
        users.sort();
        users.dedup();
        assert_eq!(users, ["alice", "bob", "carol"], "{switches:?}");
    }
}

/// A sequence that loses its connection continues on another one, with its own values.
#[test]
fn a_sequence_keeps_its_values_when_its_connection_is_closed() {
    let shop = Shop::start(2);
    let (_folder, path) = files(SEQUENCE, "user\nalice\nbob\n");
    let result = load(&shop, &path, &["-n", "120", "-c", "6"]);
    let books = shop.books.lock().expect("no panic");
    for name in ["status", "unexpected"] {
        assert_eq!(outcome(&result, name), 0, "{}", result["outcomes"]);
    }
    assert!(books.read > 0);
}

#[test]
fn each_row_is_used_once_where_that_is_asked_for() {
    let once = SEQUENCE.replace("\"users.csv\"", "{ file = \"users.csv\", pick = \"once\" }");
    let (_folder, path) = files(&once, "user\na\nb\nc\nd\ne\n");
    let shop = Shop::start(usize::MAX);
    let result = load(&shop, &path, &["-c", "3", "-d", "60s"]);
    assert_eq!(outcome(&result, "valid"), 15, "{}", result["outcomes"]);
    let mut users = shop.books.lock().expect("no panic").logins.clone();
    users.sort();
    assert_eq!(users, ["a", "b", "c", "d", "e"]);
    // Neither a warm-up nor a second thread may use a row that was used elsewhere.
    for (switch, value) in [("--warmup", "1s"), ("--threads", "2")] {
        let output = prony(&["load", &shop.url, "--sequence", &path, switch, value]);
        assert_refused(&output, &format!("Remove {switch}"));
    }
    let shop = Shop::start(usize::MAX);
    let many: Vec<String> = (0..300).map(|number| format!("u{number}")).collect();
    let (_folder, path) = files(&once, &format!("user\n{}\n", many.join("\n")));
    load(&shop, &path, &["-c", "64", "-d", "60s", "--threads", "auto"]);
    let mut users = shop.books.lock().expect("no panic").logins.clone();
    users.sort();
    users.dedup();
    assert_eq!(users.len(), 300);
}

#[test]
fn a_value_that_is_missing_ends_the_sequence_and_is_named() {
    for (from, to, name) in [
        (
            "json:/auth/0/token",
            "json:/auth/token",
            "token (json:/auth/token)",
        ),
        ("header:location", "cookie:location", "place (cookie:location)"),
        ("regex:for (\\\\w+)", "regex:to (\\\\w+)", "who (regex:to (\\w+))"),
    ] {
        let shop = Shop::start(usize::MAX);
        let changed = SEQUENCE.replace(from, to);
        assert_ne!(changed, SEQUENCE);
        let (_folder, path) = files(&changed, "user\nalice\n");
        let (code, result) = judged(&shop, &path, &["-n", "12", "-c", "2"]);
        // Whether fewer than half are valid depends on the step.
        let outcomes = result["outcomes"].as_object().expect("outcomes").values();
        let due: u64 = outcomes.filter_map(Value::as_u64).sum();
        let failed = 2 * outcome(&result, "valid") < due;
        assert_eq!(code, Some(if failed { 3 } else { 0 }), "{name}: {result}");
        assert!(
            outcome(&result, "unexpected") > 0,
            "{name}: {}",
            result["outcomes"]
        );
        assert_eq!(shop.books.lock().expect("no panic").read, 0, "{name}");
        let shown = result.to_string();
        assert!(
            shown.contains(&format!("captured {}", name.replace('\\', "\\\\"))),
            "{name}: {shown}"
        );
    }
}

#[test]
fn an_error_in_a_file_of_steps_is_reported_with_its_line() {
    let shop = Shop::start(usize::MAX);
    for (sequence, users, parts) in [
        (
            SEQUENCE.replace("{place}", "{plaec}"),
            "user\na\n",
            vec!["shop.toml:16", "{plaec}"],
        ),
        (
            SEQUENCE.replace("json:/auth", "jsn:/auth"),
            "user\na\n",
            vec!["shop.toml:8", "`capture.token` is", "give one of { json"],
        ),
        (
            SEQUENCE.replace("data", "date"),
            "user\na\n",
            vec!["shop.toml:2", "date"],
        ),
        (
            SEQUENCE.replace("(\\\\w+)", "(\\\\w"),
            "user\na\n",
            vec!["not a regular expression"],
        ),
        (
            SEQUENCE.replace("users.csv", "no.csv"),
            "user\na\n",
            vec!["shop.toml:2", "no.csv"],
        ),
        (SEQUENCE.to_owned(), "user\n", vec!["shop.toml:2", "no row"]),
        (SEQUENCE.to_owned(), "name\na\n", vec!["shop.toml:7", "{user}"]),
        ("cookies = true\n".to_owned(), "user\na\n", vec!["[[step]]"]),
    ] {
        let (_folder, path) = files(&sequence, users);
        let output = prony(&["load", &shop.url, "--sequence", &path, "-n", "3"]);
        assert_eq!(output.status.code(), Some(2), "{parts:?}: {}", stderr_of(&output));
        for part in parts {
            assert_contains(&stderr_of(&output), part);
        }
    }
    assert_eq!(shop.books.lock().expect("no panic").logins.len(), 0);
    let (_folder, path) = files(SEQUENCE, "user\na\n");
    let output = prony(&["load", &format!("{}/shop", shop.url), "--sequence", &path]);
    assert_contains(&stderr_of(&output), "Give only the host");
}
