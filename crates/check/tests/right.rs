//! A right answer for each contract.

use crate::toy::{Call, ScriptedReply};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::LazyLock;

pub(crate) static PERSONS: LazyLock<Vec<Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("persons.json")).expect("JSON"));

/// Places in `PERSONS`.
pub(crate) const LINKS: [(usize, usize); 4] = [(0, 1), (0, 2), (1, 2), (3, 0)];

pub(crate) fn hello(call: &Call) -> ScriptedReply {
    match (call.path.as_str(), call.method.as_str()) {
        ("/api/test", "GET" | "HEAD") => ScriptedReply::of(200, "text/plain", "Hello, World!"),
        ("/api/test", _) => ScriptedReply::new(405),
        _ => ScriptedReply::new(404),
    }
}

pub(crate) fn sequence(call: &Call) -> ScriptedReply {
    let segments = call.segments();
    let ["api", operation @ ("count" | "fib"), n] = segments.as_slice() else {
        return ScriptedReply::new(404);
    };
    if !matches!(call.method.as_str(), "GET" | "HEAD") {
        return ScriptedReply::new(405);
    }
    let digits = !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit());
    match n.parse::<u64>() {
        Ok(n) if digits && n <= 10_000 => ScriptedReply::of(200, "text/plain", numbers(operation, n)),
        _ => ScriptedReply::new(400),
    }
}

/// The text of a series, worked out digit by digit.
pub(crate) fn numbers(operation: &str, n: u64) -> String {
    if operation == "count" {
        return (1..=n)
            .map(|number| number.to_string())
            .collect::<Vec<_>>()
            .join(" ");
    }
    let (mut last, mut next) = (vec![0_u8], vec![1_u8]);
    let mut all = vec!["0".to_owned()];
    for _ in 0..n {
        all.push(next.iter().rev().map(|digit| char::from(b'0' + digit)).collect());
        let mut carry = 0;
        last.resize(next.len(), 0);
        for (left, right) in last.iter_mut().zip(&next) {
            let sum = *left + right + carry;
            (*left, carry) = (sum % 10, sum / 10);
        }
        if carry > 0 {
            last.push(carry);
        }
        std::mem::swap(&mut last, &mut next);
    }
    all.join(" ")
}

pub(crate) fn person(call: &Call) -> ScriptedReply {
    let json = |value: &Value| ScriptedReply::of(200, "application/json", value.to_string());
    let reads = matches!(call.method.as_str(), "GET" | "HEAD");
    match call.segments().as_slice() {
        ["person"] if reads => json(&json!({ "persons": *PERSONS, "count": PERSONS.len() })),
        ["person"] if call.method == "POST" => match serde_json::from_slice(&call.body) {
            Ok(value) if is_person(&value) => json(&value),
            _ => ScriptedReply::of(400, "text/plain", "no person"),
        },
        ["person", id] if reads => match PERSONS.iter().find(|person| person["id"] == **id) {
            Some(person) => json(person),
            None => ScriptedReply::new(404),
        },
        ["person", id, "links"] if reads => json(&links(id)),
        ["person"] | ["person", _] | ["person", _, "links"] => ScriptedReply::new(405),
        _ => ScriptedReply::new(404),
    }
}

pub(crate) fn links(id: &str) -> Value {
    let links: Vec<Value> = LINKS
        .iter()
        .map(|&(p1, p2)| json!({ "p1": PERSONS[p1], "p2": PERSONS[p2] }))
        .filter(|link| link["p1"]["id"] == id || link["p2"]["id"] == id)
        .collect();
    json!({ "count": links.len(), "links": links })
}

fn is_person(value: &Value) -> bool {
    let texts = |of: &Value, names: &[&str]| names.iter().all(|name| of[*name].is_string());
    texts(value, &["id", "gender", "email"])
        && texts(&value["name"], &["title", "first", "last"])
        && texts(&value["location"], &["street", "city", "state"])
        && value["location"]["postCode"]
            .as_i64()
            .is_some_and(|code| i32::try_from(code).is_ok())
        && (value["picture"].is_null() || texts(&value["picture"], &["large", "medium", "thumbnail"]))
}

pub(crate) fn snoop(call: &Call) -> ScriptedReply {
    match (call.path.as_str(), call.method.as_str()) {
        ("/", "GET" | "HEAD") => {
            let lines: Vec<String> = call
                .headers
                .iter()
                .map(|(name, value)| {
                    let value = String::from_utf8_lossy(value);
                    format!(
                        "HEADER: {} = {}\n",
                        escaped(&name.to_lowercase()),
                        escaped(&value)
                    )
                })
                .collect();
            let lines = lines.concat();
            let page = format!("<html><body><pre>\n{lines}</pre></body></html>\n");
            ScriptedReply::of(200, "text/html; charset=utf-8", page)
        }
        ("/", _) => ScriptedReply::new(405),
        _ => ScriptedReply::new(404),
    }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// What a relay does with a request.
pub(crate) enum RelayAction {
    Answer(ScriptedReply),
    Forward,
}

pub(crate) fn relay(call: &Call) -> RelayAction {
    if call.path == "/nop" && call.method == "GET" {
        return RelayAction::Answer(ScriptedReply::of(200, "text/plain", "OK"));
    }
    let kind = call.header("content-type").unwrap_or_default();
    if kind.starts_with(b"application/json") {
        match serde_json::from_slice::<Value>(&call.body) {
            Err(_) => return RelayAction::Answer(ScriptedReply::of(400, "text/plain", "no JSON")),
            Ok(message) if message["drop"] == true => return RelayAction::Answer(ScriptedReply::new(204)),
            Ok(_) => {}
        }
    }
    RelayAction::Forward
}

/// Sends the request to the backend on a connection of its own and gives back what comes.
pub(crate) fn forwarded(call: &Call, backend: &str) -> ScriptedReply {
    ask(call, backend).unwrap_or_else(|| ScriptedReply::of(502, "text/plain", "no backend"))
}

fn ask(call: &Call, backend: &str) -> Option<ScriptedReply> {
    let mut stream = TcpStream::connect(backend).ok()?;
    let mut request = format!(
        "{} {} HTTP/1.1\r\nHost: {backend}\r\nConnection: close\r\n",
        call.method, call.target
    )
    .into_bytes();
    for (name, value) in &call.headers {
        let hop = ["host", "connection", "content-length", "transfer-encoding"];
        if !hop.contains(&name.to_lowercase().as_str()) {
            request.extend_from_slice(format!("{name}: ").as_bytes());
            request.extend_from_slice(value);
            request.extend_from_slice(b"\r\n");
        }
    }
    request.extend_from_slice(format!("Content-Length: {}\r\n\r\n", call.body.len()).as_bytes());
    request.extend_from_slice(&call.body);
    stream.write_all(&request).ok()?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).ok()?;
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = parsed.parse(&reply).ok()? else {
        return None;
    };
    let mut answer = ScriptedReply::new(parsed.code?);
    let mut chunked = false;
    for header in parsed.headers.iter() {
        match header.name.to_lowercase().as_str() {
            "transfer-encoding" => chunked = true,
            "connection" | "content-length" | "date" => {}
            _ => answer
                .headers
                .push((header.name.to_owned(), header.value.to_vec())),
        }
    }
    answer.body = if chunked {
        joined(&reply[length..])?
    } else {
        reply[length..].to_vec()
    };
    Some(answer)
}

fn joined(mut chunks: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|pair| pair == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).ok()?, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunks.get(end + 2..end + 2 + size)?);
        chunks = chunks.get(end + 2 + size + 2..)?;
    }
}

/// The value of a parameter of the query.
pub(crate) fn parameter(call: &Call, name: &str) -> Option<String> {
    let (_, query) = call.target.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
}

/// A whole number of small digits within a range.
pub(crate) fn within(text: &str, low: u64, high: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits)?;
    (low..=high).contains(&number).then_some(number)
}

static ADJECTIVES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain"
        .split(' ')
        .collect()
});
static NOUNS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow"
        .split(' ')
        .collect()
});
static TAGS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "attic bath cellar desk entry fire garden hall indoor junior kitchen lamp modern night office patio quiet rustic shelf travel"
        .split(' ')
        .collect()
});
static MATERIALS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "ash brass clay cork cotton felt glass iron jute leather linen marble oak paper steel wool"
        .split(' ')
        .collect()
});
static CITIES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "Århus Bern Córdoba Dublin Évora Fès Gdańsk Helsinki Iași Jerez Kraków Łódź München Nîmes 大阪 Zürich"
        .split(' ')
        .collect()
});

pub(crate) fn item(i: u64) -> Value {
    let word = |list: &[&'static str], at: u64| list[at as usize % list.len()];
    let what = format!("{} {}", word(&ADJECTIVES, i), word(&NOUNS, i / 16));
    json!({
        "id": i,
        "name": format!("{what} {i}"),
        "price": i * 37 % 9900 + 100,
        "tags": [word(&TAGS, i), word(&TAGS, i + 7), word(&TAGS, i + 13)],
        "description": format!(
            "The {what} no. {i} is made of {}, weighs {} g and ships from {} within {} days. Customers who bought it also bought the \"{} {}\" & rate it <{} of 5>.",
            word(&MATERIALS, i * 7),
            i * 53 % 4900 + 100,
            word(&CITIES, i * 11),
            i % 7 + 1,
            word(&ADJECTIVES, i + 5),
            word(&NOUNS, i + 3),
            i % 5 + 1,
        ),
    })
}

pub(crate) fn items(from: u64, count: u64) -> Value {
    json!({ "items": (from..from + count).map(item).collect::<Vec<_>>() })
}

/// What a request of the catalogue asks for.
pub(crate) fn asked(call: &Call) -> Option<(u64, u64)> {
    let number = |name: &str, high| within(&parameter(call, name)?, 1, high);
    Some((number("from", 1_000_000)?, number("count", 500)?))
}

pub(crate) fn catalog(call: &Call) -> ScriptedReply {
    match (call.path.as_str(), call.method.as_str()) {
        ("/catalog", "GET" | "HEAD") => match asked(call) {
            None => ScriptedReply::of(400, "text/plain", "from 1 to 1000000, count 1 to 500"),
            Some((from, count)) => {
                let body = items(from, count).to_string();
                coded(call, ScriptedReply::of(200, "application/json", body))
            }
        },
        ("/catalog", _) => ScriptedReply::new(405),
        _ => ScriptedReply::new(404),
    }
}

/// The answer compressed, where the request takes that and it is long enough.
pub(crate) fn coded(call: &Call, mut answer: ScriptedReply) -> ScriptedReply {
    answer.set("Vary", "Origin, Accept-Encoding");
    let takes = call.header("accept-encoding").unwrap_or_default();
    let takes = takes
        .split(|byte| *byte == b',')
        .any(|coding| coding.trim_ascii() == b"gzip");
    if takes && answer.body.len() >= 1024 {
        answer.body = gzipped(&answer.body);
        answer.set("Content-Encoding", "gzip");
    }
    answer
}

pub(crate) fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

/// The longest upload.
pub(crate) const LARGEST: usize = 20 << 20;

pub(crate) fn upload(call: &Call) -> ScriptedReply {
    match (call.path.as_str(), call.method.as_str()) {
        ("/upload", "POST") if call.left || call.body.len() > LARGEST => ScriptedReply::new(413),
        ("/upload", "POST") => received(&call.body),
        ("/upload", _) => ScriptedReply::new(405),
        _ => ScriptedReply::new(404),
    }
}

/// The reply to an upload.
pub(crate) fn received(body: &[u8]) -> ScriptedReply {
    let received = json!({ "sha256": digest(body), "bytes": body.len() });
    ScriptedReply::of(200, "application/json", received.to_string())
}

pub(crate) fn digest(body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
        text
    })
}
