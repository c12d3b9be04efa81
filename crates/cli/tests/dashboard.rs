//! The Grafana dashboard: a real Prometheus that scrapes `prony serve` and a load in progress answers each of its queries.

use crate::common;
use crate::made;
use crate::skip;
use prony_store::Store;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time within which Prometheus scrapes every target twice.
const PATIENCE: Duration = Duration::from_mins(1);

/// A process that ends when this value is dropped.
struct RunningProcess {
    process: Child,
    /// Where it listens.
    address: String,
}

impl RunningProcess {
    /// Starts the process. Its address follows `before` in a line of its output.
    fn start(command: &mut Command, before: &str) -> Self {
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (sender, receiver) = std::sync::mpsc::channel();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(process.stdout.take().expect("piped")),
            Box::new(process.stderr.take().expect("piped")),
        ];
        for output in outputs {
            let (sender, before) = (sender.clone(), before.to_owned());
            // Read to the end, so that the process never blocks on its output.
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if let Some((_, rest)) = line.split_once(&before) {
                        let end = rest.find(['/', ' ']).unwrap_or(rest.len());
                        let _ = sender.send(rest[..end].to_owned());
                    }
                }
            });
        }
        drop(sender);
        let address = receiver.recv().expect("it says where it listens");
        Self { process, address }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A run that ended, and one in progress.
fn filled(folder: &Path) -> PathBuf {
    let path = made::filled(folder);
    let store = Store::open(&path).expect("opens");
    made::keep(&store, &made::going_on(), &[]);
    path
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connects");
    let head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    std::io::Write::write_all(&mut stream, head.as_bytes()).expect("asks");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("answers");
    reply.split_once("\r\n\r\n").expect("a reply").1.to_owned()
}

fn encoded(query: &str) -> String {
    query.bytes().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "%{byte:02x}");
        text
    })
}

/// The number of samples that answer a query, or the error of Prometheus.
fn answers(prometheus: &str, query: &str) -> Result<usize, String> {
    let body = get(prometheus, &format!("/api/v1/query?query={}", encoded(query)));
    let answer: Value = serde_json::from_str(&body).map_err(|error| format!("{error}: {body}"))?;
    match answer["data"]["result"].as_array() {
        Some(result) if answer["status"] == "success" => Ok(result.len()),
        _ => Err(body),
    }
}

/// The queries of the panels, with the variables of the dashboard as Grafana fills them in.
fn queries() -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana/prony.json");
    let text = std::fs::read_to_string(file).expect("the dashboard");
    let board: Value = serde_json::from_str(&text).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].to_string()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has a number of its own");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array());
    targets
        .flatten()
        .map(|target| {
            let query = target["expr"].as_str().expect("a query");
            query.replace("$suite", ".*").replace("$__rate_interval", "1m")
        })
        .collect()
}

#[test]
fn prometheus_answers_every_query_of_the_dashboard() {
    if Command::new("prometheus").arg("--version").output().is_err() {
        skip::skipped("no prometheus: `apt install prometheus` installs it");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let prony = env!("CARGO_BIN_EXE_prony");
    let token = folder.path().join("token");
    let served = RunningProcess::start(
        Command::new(prony)
            .args(["serve", "--port", "0", "--token-file"])
            .arg(&token)
            .env("PRONY_STORE", filled(folder.path()))
            .current_dir(folder.path()),
        "http://",
    );
    let load = RunningProcess::start(
        Command::new(prony)
            .args(["load", &common::server(), "--rate", "50", "-c", "2", "-d", "10m"])
            .args(["--metrics", "127.0.0.1:0"]),
        "metrics at http://",
    );
    // Scraped as often as the others, so it signals when there may be something new.
    let (asked, rounds) = std::sync::mpsc::channel();
    let bell = common::serve(move |_| {
        let _ = asked.send(());
        Some(common::reply("\n"))
    });
    let config = folder.path().join("prometheus.yml");
    let text = format!(
        "global: {{ scrape_interval: 1s }}\nscrape_configs:\n- job_name: prony\n  authorization: {{ credentials_file: '{}' }}\n  \
         static_configs:\n  - targets: ['{}']\n- job_name: load\n  static_configs:\n  - targets: ['{}', '{}']\n",
        token.display(),
        served.address,
        load.address,
        bell.trim_start_matches("http://")
    );
    std::fs::write(&config, text).expect("written");
    let prometheus = RunningProcess::start(
        Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg("--web.listen-address=127.0.0.1:0"),
        "msg=\"Listening on\" address=",
    );
    let began = Instant::now();
    let mut open = queries();
    assert!(open.len() > 10, "{open:?}");
    while !open.is_empty() {
        let left = PATIENCE.saturating_sub(began.elapsed());
        let asked = rounds.recv_timeout(left);
        asked.unwrap_or_else(|_| panic!("no answer to {open:?}"));
        open.retain(|query| {
            let found = answers(&prometheus.address, query);
            found.unwrap_or_else(|error| panic!("{query}: {error}")) == 0
        });
    }
}
