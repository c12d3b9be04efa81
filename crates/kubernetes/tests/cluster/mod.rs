//! A fake cluster: an API server over HTTP on this machine. Its pods run at once, and it executes commands "in" them as its
//! own child processes.

mod streams;

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// The state of the API.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) jobs: Vec<Value>,
    /// Number of jobs created so far.
    count: usize,
    /// An error code, and the HTTP method that it applies to.
    pub(crate) refuses: Option<(u16, &'static str)>,
    /// The error with which every command fails at once.
    pub(crate) no_command: Option<String>,
    /// Whether all pods are on one node.
    pub(crate) one_node: bool,
    /// Processes of running commands.
    pub(crate) processes: Vec<u32>,
}

/// The server. It ends with the test.
pub(crate) struct Cluster {
    state: Arc<Mutex<State>>,
    folder: tempfile::TempDir,
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::fs::write(folder.path().join("config"), kubeconfig(&address.to_string())).expect("written");
        let state: Arc<Mutex<State>> = Arc::default();
        let (shared, home) = (Arc::clone(&state), folder.path().to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, home) = (Arc::clone(&shared), home.clone());
                thread::spawn(move || serve(&stream, &shared, &home));
            }
        });
        Self { state, folder }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("config")
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("not poisoned")
    }
}

/// A configuration with one context, `fake`.
pub(crate) fn kubeconfig(address: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\n\
         clusters: [{{name: fake, cluster: {{server: \"http://{address}\"}}}}]\n\
         users: [{{name: ann, user: {{token: secret}}}}]\n\
         contexts: [{{name: fake, context: {{cluster: fake, user: ann}}}}]\n\
         current-context: fake\n"
    )
}

/// Serves a connection until the client closes it.
fn serve(stream: &TcpStream, state: &Mutex<State>, home: &Path) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        assert_eq!(request.header("authorization"), Some("Bearer secret"));
        if request.path.ends_with("/exec") {
            streams::serve(stream, reader, &request, state, home);
            return;
        }
        let (code, body) = answer(&request, &mut state.lock().expect("not poisoned"));
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {code} .\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if (&mut &*stream).write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if reader.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
    }
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut headers);
    assert!(parsed.parse(&head).expect("HTTP").is_complete());
    let target = parsed.path.expect("a path").to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut request = Request {
        method: parsed.method.expect("a method").to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: parsed
            .headers
            .iter()
            .map(|header| (header.name.to_owned(), text(header.value)))
            .collect(),
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .map_or(0, |length| length.parse().expect("a length"));
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

fn answer(request: &Request, state: &mut State) -> (u16, Value) {
    let status = |code: u16, message: &str| {
        (
            code,
            json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": "x", "code": code }),
        )
    };
    if let Some((code, _)) = state.refuses.filter(|(_, method)| *method == request.method) {
        return status(code, "User \"ann\" cannot do that in the namespace \"bench\"");
    }
    if request.path.ends_with("/selfsubjectaccessreviews") {
        return (201, json!({ "status": { "allowed": true } }));
    }
    assert!(request.path.contains("/namespaces/bench/"), "{}", request.path);
    match (
        request.method.as_str(),
        request.path.rsplit('/').next().expect("a name"),
    ) {
        ("POST", "jobs") => {
            let mut job: Value = serde_json::from_slice(&request.body).expect("JSON");
            state.count += 1;
            job["metadata"]["uid"] = json!(format!("uid-{}", state.count));
            state.jobs.push(job.clone());
            (201, job)
        }
        ("GET", "jobs") => (200, json!({ "kind": "JobList", "items": state.jobs })),
        ("GET", "pods") => (
            200,
            json!({ "kind": "PodList", "items": pods(&state.jobs, state.one_node) }),
        ),
        ("GET", "events") => (200, json!({ "kind": "EventList", "items": [] })),
        ("DELETE", name) => {
            state.jobs.retain(|job| job["metadata"]["name"] != name);
            (200, json!({ "kind": "Status", "status": "Success" }))
        }
        other => status(404, &format!("{other:?}")),
    }
}

fn pods(jobs: &[Value], one_node: bool) -> Vec<Value> {
    let mut pods = Vec::new();
    for job in jobs {
        for index in 0..job["spec"]["completions"].as_u64().expect("a number") {
            pods.push(json!({
                "metadata": {
                    "name": format!("{}-{index}-abcde", job["metadata"]["name"].as_str().expect("a name")),
                    "labels": job["spec"]["template"]["metadata"]["labels"],
                    "annotations": { "batch.kubernetes.io/job-completion-index": index.to_string() },
                },
                "spec": { "nodeName": format!("node{}", if one_node { 0 } else { pods.len() }) },
                "status": {
                    "phase": "Running",
                    "podIP": "127.0.0.1",
                    "containerStatuses": [{ "imageID": "x@sha256:11", "state": { "running": {} } }],
                },
            }));
        }
    }
    pods
}
