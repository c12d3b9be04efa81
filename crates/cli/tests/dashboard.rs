//! The Grafana dashboard and the alert rules: a real Prometheus that scrapes `prony serve` and a load in progress answers each of their
//! queries, and every name and label in them exists.

use crate::collector::{self, Collector, Posted, last};
use crate::common;
use crate::made;
use crate::skip;
use prony_store::Store;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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

/// A run that ended, one in progress, and a saved load that the generator limited.
fn filled(folder: &Path) -> PathBuf {
    let path = made::filled(folder);
    let store = Store::open(&path).expect("opens");
    made::keep(&store, &made::going_on(), &[]);
    let mut saved = made::sample::run();
    "before".clone_into(&mut saved.id);
    "load".clone_into(&mut saved.suite);
    let mut trials = made::sample::trials();
    for trial in &mut trials {
        if let Ok(measured) = &mut trial.result {
            measured.recording.generator.saturated = true;
        }
    }
    made::keep(&store, &saved, &trials);
    path
}

/// Starts `prony serve`; its token is in `token`.
fn serve(folder: &Path, token: &Path) -> RunningProcess {
    RunningProcess::start(
        Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(["serve", "--port", "0", "--token-file"])
            .arg(token)
            .env("PRONY_STORE", filled(folder))
            .current_dir(folder),
        "http://",
    )
}

/// Starts a load that ends with the test.
fn load(more: &[&str]) -> RunningProcess {
    RunningProcess::start(
        Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(["load", &common::server(), "--rate", "50", "-c", "2", "-d", "10m"])
            .args(["--metrics", "127.0.0.1:0"])
            .args(more),
        "metrics at http://",
    )
}

fn get(address: &str, path: &str) -> String {
    ask(address, "GET", path, "").1
}

/// The head and the body of a reply; `header` is a further line of the request.
fn ask(address: &str, method: &str, path: &str, header: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("connects");
    let head = format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\n{header}\r\n");
    std::io::Write::write_all(&mut stream, head.as_bytes()).expect("asks");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("answers");
    let (head, body) = reply.split_once("\r\n\r\n").expect("a reply");
    (head.to_owned(), body.to_owned())
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

/// The dashboard.
fn board() -> Value {
    serde_json::from_str(&document("prony.json")).expect("JSON")
}

fn document(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana");
    std::fs::read_to_string(folder.join(name)).expect("a file")
}

/// The targets of the panels.
fn targets(board: &Value) -> Vec<&Value> {
    let panels = board["panels"].as_array().expect("panels");
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].to_string()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has a number of its own");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array());
    targets.flatten().collect()
}

/// A query with the variables of the dashboard as Grafana fills them in.
fn query_of(target: &Value) -> String {
    let query = target["expr"].as_str().expect("a query");
    query.replace("$suite", ".*").replace("$__rate_interval", "1m")
}

/// The expressions of the alert rules.
fn rules() -> Vec<String> {
    let rules: Value = serde_yaml_ng::from_str(&document("prony-rules.yml")).expect("YAML");
    let groups = rules["groups"].as_array().expect("groups");
    let rules = groups
        .iter()
        .filter_map(|group| group["rules"].as_array())
        .flatten();
    rules
        .map(|rule| rule["expr"].as_str().expect("a query").to_owned())
        .collect()
}

/// The metrics that a query names, and its labels.
#[derive(Debug, Default)]
struct QueryNames {
    metrics: BTreeSet<String>,
    labels: BTreeSet<String>,
}

impl QueryNames {
    fn of(query: &str) -> Self {
        let mut found = Self::default();
        let mut rest = query;
        while let Some(start) =
            rest.find(|letter: char| letter.is_ascii_alphabetic() || "_{[0123456789".contains(letter))
        {
            rest = &rest[start..];
            if let Some(selector) = rest.strip_prefix('{') {
                let (selector, after) = selector.split_once('}').expect("a selector ends");
                found.select(selector);
                rest = after;
                continue;
            }
            if rest.starts_with('[') {
                rest = rest.split_once(']').expect("a range ends").1;
                continue;
            }
            let end =
                rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '.');
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            match word {
                "by" | "on" => {
                    let (list, after) = rest.split_once(')').expect("a list ends");
                    let list = list.trim_start_matches([' ', '(']);
                    found
                        .labels
                        .extend(list.split(',').map(|label| label.trim().to_owned()));
                    rest = after;
                }
                "and" | "unless" | "offset" | "sum" | "count" => {}
                _ if rest.starts_with('(') || word.starts_with(|letter: char| letter.is_ascii_digit()) => {}
                _ => {
                    found.metrics.insert(word.to_owned());
                }
            }
        }
        found
    }

    fn select(&mut self, selector: &str) {
        for part in selector.split(',') {
            let (label, value) = part.split_once('=').expect("a matcher");
            if label == "__name__" {
                let names = value.trim_matches(['~', '"']);
                self.metrics.extend(names.split('|').map(str::to_owned));
            } else {
                self.labels.insert(label.to_owned());
            }
        }
    }
}

/// The labels of each metric in an exposition.
type Families = BTreeMap<String, BTreeSet<String>>;

fn families(exposition: &str) -> Families {
    let mut found = Families::new();
    for sample in exposition.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = sample.split_once('{').expect("labels");
        let labels = rest
            .split("=\"")
            .filter_map(|part| part.rsplit([',', '{']).next());
        let labels = labels.filter(|label| !label.contains(['"', '}', ' ']));
        found
            .entry(name.to_owned())
            .or_default()
            .extend(labels.map(str::to_owned));
    }
    found
}

/// What Prometheus stores of metrics that it receives over OTLP, by the rules of its documentation.
fn translated(posted: &[Posted]) -> Families {
    let mut found = Families::new();
    for ((name, attributes), value) in last(posted) {
        let name = name.replace('.', "_");
        let name = match value {
            collector::Value::Count(_) => format!("{name}_total"),
            collector::Value::Times { .. } => format!("{name}_seconds_bucket"),
            collector::Value::Now(_) => name,
        };
        let labels = attributes.into_keys().map(|key| key.replace('.', "_"));
        found.entry(name).or_default().extend(labels);
    }
    found
}

/// Checks an exposition as Prometheus does, and its names and units.
fn lint(exposition: &str) {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = promtool.stdin.take().expect("piped");
    std::io::Write::write_all(&mut input, exposition.as_bytes()).expect("written");
    drop(input);
    let ended = promtool.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.is_empty(), "{said}\n{exposition}");
}

/// Whether the package with Prometheus is there.
fn without_prometheus() -> bool {
    let is_missing = Command::new("promtool").arg("--version").output().is_err();
    if is_missing {
        skip::skipped("no prometheus: `apt install prometheus` installs it");
    }
    is_missing
}

/// Labels that only some series have, and where they are tested.
const OF_SOME: [&str; 1] = [
    // Of runs (`prony run --otlp`): the black-box test `otlp`.
    "prony_variant",
];
/// Metrics of other protocols, which the tests of the exporter have.
const OF_OTHER_PROTOCOLS: [&str; 2] = [
    "rpc_client_call_duration_seconds_bucket",
    "prony_websocket_request_duration_seconds_bucket",
];

#[test]
fn every_name_and_label_of_a_query_exists() {
    if without_prometheus() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    let served = serve(folder.path(), &token);
    let token = std::fs::read_to_string(&token).expect("a token");
    let header = format!("Authorization: Bearer {}\r\n", token.trim());
    let results = ask(&served.address, "GET", "/metrics", &header).1;
    let collector = Collector::new(|_| Some("200 OK"));
    let running = load(&["--otlp", &collector.url]);
    // The first request has the starts of the series, the second their values.
    let posted = [collector.next(), collector.next()];
    let live = get(&running.address, "/metrics");
    lint(&results);
    lint(&live);
    let mut known = families(&live);
    let buckets = "http_client_request_duration_seconds_bucket";
    let mut scraped = known.clone();
    scraped.retain(|name, _| name == buckets || !name.starts_with("http_client_"));
    scraped.get_mut(buckets).expect("a histogram").remove("le");
    assert_eq!(scraped, translated(&posted), "both ways give the same series");
    known.extend(families(&results));
    let board = board();
    let mut queries: Vec<(String, String)> = targets(&board)
        .into_iter()
        .map(|target| {
            (
                query_of(target),
                target["legendFormat"].as_str().expect("a legend").to_owned(),
            )
        })
        .collect();
    queries.extend(rules().into_iter().map(|rule| (rule, String::new())));
    for (query, legend) in queries {
        let names = QueryNames::of(&query);
        assert!(!names.metrics.is_empty(), "{query}");
        let mut labels: BTreeSet<&str> = OF_SOME.into();
        for metric in &names.metrics {
            match known.get(metric) {
                Some(own) => labels.extend(own.iter().map(String::as_str)),
                None => assert!(
                    OF_OTHER_PROTOCOLS.contains(&metric.as_str()),
                    "{metric} of {query}"
                ),
            }
        }
        let shown = legend
            .split("{{")
            .skip(1)
            .filter_map(|part| part.split("}}").next());
        for label in names.labels.iter().map(String::as_str).chain(shown) {
            assert!(labels.contains(label), "{label} of {query}: {labels:?}");
        }
    }
}

#[test]
fn the_rules_raise_their_alerts() {
    if without_prometheus() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rules.yml"), document("prony-rules.yml")).expect("written");
    let labels = r#"{suite="nightly",contract="c",workload="w",load="l",service="s",variant="v"}"#;
    let alert = |name: &str, count: u32| {
        format!(
            "  - expr: count(ALERTS{{alertname=\"{name}\",alertstate=\"firing\"}}) or vector(0)\n    eval_time: 30h\n    exp_samples:\n    \
             - value: {count}\n      labels: '{{}}'\n"
        )
    };
    let test = format!(
        "rule_files: [rules.yml]\nevaluation_interval: 10m\ntests:\n- interval: 5m\n  input_series:\n  \
         - {{ series: 'prony_last_run_timestamp_seconds{{suite=\"nightly\"}}', values: '0+0x400' }}\n  \
         - {{ series: 'prony_goodput_high_per_second{labels}', values: '110+0x288 80+0x100' }}\n  \
         - {{ series: 'prony_goodput_low_per_second{labels}', values: '90+0x288 60+0x100' }}\n  \
         - {{ series: 'prony_generator_bound{labels}', values: '0+0x400' }}\n  \
         - {{ series: 'prony_excluded{labels}', values: '0+0x400' }}\n  promql_expr_test:\n{}{}{}{}",
        alert("PronyRunMissing", 1),
        alert("PronySlower", 1),
        alert("PronyExcluded", 0),
        alert("PronyLowerBound", 0),
    );
    std::fs::write(folder.path().join("test.yml"), test).expect("written");
    let ended = Command::new("promtool")
        .args(["test", "rules", "test.yml"])
        .current_dir(folder.path())
        .output();
    let ended = ended.expect("it runs");
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn metrics_are_read_only_and_in_the_format_that_is_accepted() {
    let running = load(&[]);
    let (head, body) = ask(&running.address, "HEAD", "/metrics", "");
    assert!(
        head.starts_with("HTTP/1.0 200") && body.is_empty(),
        "{head} {body}"
    );
    let (head, _) = ask(&running.address, "POST", "/metrics", "");
    assert!(head.starts_with("HTTP/1.0 405"), "{head}");
    let (head, body) = ask(&running.address, "GET", "/metrics", "");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    // Before the first interval, so that a rate misses none.
    for kind in [
        "unexpected",
        "status",
        "timeout",
        "connect_error",
        "reset",
        "dropped",
    ] {
        let zero = body
            .lines()
            .find(|line| line.contains(&format!("error_type=\"{kind}\"")));
        assert!(
            zero.is_some_and(|line| line.starts_with("prony_errors_total{")),
            "{body}"
        );
    }
    let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n";
    let (head, body) = ask(&running.address, "GET", "/metrics", accept);
    assert!(
        head.contains("application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    assert!(
        body.ends_with("# EOF\n") && body.contains("prony_replies_created{"),
        "{body}"
    );
}

/// The number of series with exemplars.
fn exemplars(prometheus: &str) -> usize {
    let query = encoded("http_client_request_duration_seconds_bucket");
    let path = format!("/api/v1/query_exemplars?query={query}&start=0&end=9999999999");
    let answer: Value = serde_json::from_str(&get(prometheus, &path)).expect("JSON");
    answer["data"].as_array().map_or(0, Vec::len)
}

#[test]
fn prometheus_answers_every_query_of_the_dashboard() {
    if without_prometheus() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    let served = serve(folder.path(), &token);
    let load = load(&[]);
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
            .args([
                "--web.listen-address=127.0.0.1:0",
                "--enable-feature=exemplar-storage",
            ]),
        "msg=\"Listening on\" address=",
    );
    let began = Instant::now();
    let board = board();
    let mut open: BTreeSet<String> = targets(&board).into_iter().map(query_of).collect();
    assert!(open.len() > 10, "{open:?}");
    // Prometheus asks for OpenMetrics first, which has exemplars.
    let mut has_exemplars = false;
    while !open.is_empty() || !has_exemplars {
        let left = PATIENCE.saturating_sub(began.elapsed());
        let asked = rounds.recv_timeout(left);
        asked.unwrap_or_else(|_| panic!("no answer to {open:?}"));
        has_exemplars |= exemplars(&prometheus.address) > 0;
        open.retain(|query| {
            let found = answers(&prometheus.address, query);
            found.unwrap_or_else(|error| panic!("{query}: {error}")) == 0
        });
    }
}
