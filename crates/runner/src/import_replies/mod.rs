//! Compares the replies of services to the same request, and checks the conditions of a fair comparison: no request log, no debug mode,
//! and the configured number of workers.

pub mod draft;

use crate::build::id_of;
use crate::{BuildOutput, Builder, Failure, Folders, Progress, ServiceRequest, with_service};
use crate::{Checkout, CommandError, LocalTestbed};
use prony_config::contract::Contract;
use prony_config::{Catalogue, Channel, Service, ServiceOrigin, WorkerKind};
use prony_host::Process;
use prony_load::{Body, Protocol, Request, Target, Template};
use prony_protocols::client::{BodyFraming, Client, ClientError, Connection, PreparedRequest, Reply};
use prony_protocols::protocol::Framing;
use prony_protocols::request_values::Parameters;
use prony_records::{ServiceId, TrialStage};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The contract and path whose replies are compared.
const CONTRACT: &str = "hello";
const PATH: &str = "/api/test";
/// Workers of each service, independent of the machine.
const WORKERS: u64 = 4;
/// Requests before the log is read.
const REQUESTS: usize = 60;
/// Connections that are open at once: a server with a thread for each connection has this many threads.
const CONNECTIONS: usize = 8;
/// Timeout for each reply.
const PATIENCE: Duration = Duration::from_secs(10);
/// Log lines that are read.
const LINES: usize = 4 * REQUESTS;
/// Texts that servers in a debug mode log.
const DEBUG_WORDS: [&str; 6] = [
    "debug mode: on",
    "debugger is active",
    "development server",
    "[gin-debug]",
    "developmentmode",
    "running in debug mode",
];
const BUILDS_AT_ONCE: usize = 2;

/// The reply of a service.
pub struct Row {
    /// The service.
    pub id: ServiceId,
    /// The observed reply, or why there is none.
    pub seen: Result<ObservedReply, String>,
}

/// An observed reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedReply {
    /// Size of the whole reply in bytes.
    pub bytes: usize,
    /// Header names in the order and case in which they were sent.
    pub headers: Vec<String>,
    /// Whether the connection accepted a second request.
    pub keep_alive: bool,
    /// What ends the body.
    pub framing: Framing,
    /// Violations of the conditions of a fair comparison.
    pub faults: Vec<String>,
}

/// Builds and starts each service and examines its reply. `tell` receives progress messages.
pub fn replies(
    services: &[&Service],
    (checkout, catalogue): (&Checkout, &Catalogue),
    workbench: &LocalTestbed,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Row>, CommandError> {
    let contract = catalogue.contract(CONTRACT)?;
    let services: Vec<&Service> = services
        .iter()
        .copied()
        .filter(|service| service.offers(CONTRACT, Protocol::Http1))
        .collect();
    checkout.has_room(services.iter().map(|service| service.name.as_str()))?;
    let folders = Folders::of(&checkout.root, &checkout.state());
    let builder = Builder::new(
        &workbench.testbed,
        &catalogue.toolchains,
        folders,
        &workbench.cancel,
    );
    let built = builder.build_all(&services, BUILDS_AT_ONCE, &|progress| {
        if let Progress::Building(service) = progress {
            tell(&format!("building {service}"));
        }
    });
    let mut rows = Vec::new();
    for service in services {
        if workbench.cancel.is_asked() {
            return Err(CommandError::Interrupted(
                "cancelled before every service was examined".to_owned(),
            ));
        }
        let id = id_of(service);
        tell(&format!("examining {id}"));
        let seen = match &built[&id] {
            Ok(built) => observe(service, built, contract, (catalogue, workbench)),
            Err(excluded) => Err(excluded.reason.clone()),
        };
        rows.push(Row { id, seen });
    }
    Ok(rows)
}

/// Starts one service with this number of workers and examines its reply.
fn observe(
    service: &Service,
    built: &BuildOutput,
    contract: &Contract,
    (catalogue, workbench): (&Catalogue, &LocalTestbed),
) -> Result<ObservedReply, String> {
    let mut configured = service.clone();
    if let ServiceOrigin::Run(command) = &mut configured.reached {
        *command = format!("WORKERS={WORKERS}\nexport WORKERS\n{command}");
    }
    let request = ServiceRequest {
        service: &configured,
        built,
        contracts: &[(contract, Channel::Http1)],
        seed: 1,
        thorough: false,
    };
    // An image receives WORKERS from the trial placement alone.
    let is_run = matches!(service.reached, ServiceOrigin::Run(_));
    let kind = service.workers.kind.filter(|_| is_run);
    with_service(&workbench.bench(catalogue), &request, |ready, subject| {
        let target = &ready[0].target;
        if target.tls.is_some() {
            let text =
                "its replies are compared byte by byte, which is not possible with TLS: use `prony call --url`";
            return Err(Failure::new(TrialStage::Check, text));
        }
        examine(target, &mut *subject.service, kind)
            .map_err(|error| Failure::new(TrialStage::Check, format!("no reply to GET {PATH}: {error}")))
    })
    .map_err(|excluded| excluded.reason)
}

fn examine(
    target: &Target,
    process: &mut dyn Process,
    kind: Option<WorkerKind>,
) -> Result<ObservedReply, ClientError> {
    let client = Client::new(target, Protocol::Http1)?;
    let mut connection = ReplyConnection::open(&client)?;
    let first = connection.request()?;
    if first.status != 200 {
        return Err(ClientError::Malformed(format!("status {}", first.status)));
    }
    let keep_alive = !first.closes && connection.request().is_ok();
    drop(connection);
    let _ = process.begin_window();
    let before = counts(&process.log_tail(LINES));
    let connections = send_requests(&client)?;
    let usage = process.end_window().ok();
    // Only now: once the host has answered that the window ended, it has read everything printed before.
    let log = process.log_tail(LINES);
    drop(connections);
    let tree = usage.map(|usage| (usage.resources.threads_peak, usage.resources.processes_peak));
    let mut faults = Vec::new();
    faults.extend(request_log(&before, &counts(&log)));
    faults.extend(debug_mode(&log));
    faults.extend(kind.and_then(|kind| lacks_workers(kind, tree.unwrap_or_default())));
    Ok(ObservedReply {
        bytes: first.received,
        headers: first
            .headers
            .iter()
            .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
            .collect(),
        keep_alive,
        framing: first.framing,
        faults,
    })
}

/// A connection that sends the same request repeatedly.
struct ReplyConnection {
    connection: Connection,
    request: PreparedRequest,
}

impl ReplyConnection {
    fn open(client: &Client) -> Result<Self, ClientError> {
        let request = Request {
            method: "GET".to_owned(),
            path: Template::literal(PATH),
            headers: Vec::new(),
            body: Body::None,
        };
        Ok(Self {
            request: client.prepare(&request, BodyFraming::Length)?,
            connection: client.connect(Instant::now() + PATIENCE)?,
        })
    }

    fn request(&mut self) -> Result<Reply, ClientError> {
        let token = self
            .connection
            .start(&self.request, Parameters::new(&[], 0).values(0));
        self.connection.reply(token, Instant::now() + PATIENCE)
    }
}

/// Sends [`REQUESTS`] requests round-robin over several connections, which stay open. A connection that the service closes is
/// replaced.
fn send_requests(client: &Client) -> Result<Vec<ReplyConnection>, ClientError> {
    let all = (0..CONNECTIONS).map(|_| ReplyConnection::open(client));
    let mut connections: Vec<ReplyConnection> = all.collect::<Result<_, _>>()?;
    for number in 0..REQUESTS {
        let connection = &mut connections[number % CONNECTIONS];
        if connection.request()?.closes {
            *connection = ReplyConnection::open(client)?;
        }
    }
    Ok(connections)
}

/// The number of occurrences of each log line, without digits: lines differ by times and ports.
fn counts(lines: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in lines {
        let words = line.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        *counts.entry(words).or_default() += 1;
    }
    counts
}

/// A fault if the log grew by a line per request.
fn request_log(before: &BTreeMap<String, usize>, after: &BTreeMap<String, usize>) -> Option<String> {
    let grown: usize = after
        .iter()
        .map(|(line, count)| count.saturating_sub(before.get(line).copied().unwrap_or_default()))
        .sum();
    (grown >= REQUESTS)
        .then(|| format!("writes {grown} log lines for {REQUESTS} requests: disable its request log"))
}

/// A fault if the log shows a debug mode.
fn debug_mode(log: &[String]) -> Option<String> {
    let said = log.iter().find(|line| {
        let line = line.to_ascii_lowercase();
        DEBUG_WORDS.iter().any(|word| line.contains(word))
    })?;
    Some(format!(
        "runs in a debug mode (`{said}`): start it with its production settings"
    ))
}

/// A fault if there are fewer processes or threads than configured workers.
fn lacks_workers(kind: WorkerKind, (threads, processes): (Option<u64>, Option<u64>)) -> Option<String> {
    let (found, of) = match kind {
        WorkerKind::OneCpu => return None,
        WorkerKind::Processes => (processes?, "processes"),
        WorkerKind::Threads | WorkerKind::EventLoops => (threads?, "threads"),
    };
    (found < WORKERS)
        .then(|| format!("has {found} {of} where WORKERS={WORKERS}: pass WORKERS to the server in `run`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_per_request_is_a_fault_and_a_line_at_the_start_is_none() {
        let lines = |count: usize| -> Vec<String> {
            (0..count)
                .map(|number| format!("127.0.0.1:{number} GET /api/test"))
                .collect()
        };
        assert_eq!(
            request_log(&counts(&lines(2)), &counts(&lines(2 + REQUESTS / 2))),
            None
        );
        let fault = request_log(&counts(&lines(2)), &counts(&lines(2 + REQUESTS))).expect("a fault");
        assert!(
            fault.starts_with("writes 60 log lines for 60 requests"),
            "{fault}"
        );
    }

    #[test]
    fn a_debug_mode_is_found_by_what_the_server_says() {
        let log = ["listening", " * Debug mode: on"].map(str::to_owned);
        assert!(
            debug_mode(&log)
                .expect("a fault")
                .contains("(` * Debug mode: on`)")
        );
        assert_eq!(debug_mode(&["listening".to_owned()]), None);
    }

    #[test]
    fn fewer_workers_than_given_are_a_fault_where_more_than_one_can_be_used() {
        let fault = lacks_workers(WorkerKind::Processes, (Some(40), Some(1))).expect("a fault");
        assert!(fault.starts_with("has 1 processes where WORKERS=4"), "{fault}");
        assert!(lacks_workers(WorkerKind::Threads, (Some(1), Some(9))).is_some());
        assert_eq!(lacks_workers(WorkerKind::Processes, (Some(4), Some(4))), None);
        assert_eq!(lacks_workers(WorkerKind::OneCpu, (Some(1), Some(1))), None);
        // Without numbers there is no finding.
        assert_eq!(lacks_workers(WorkerKind::Threads, (None, None)), None);
    }
}
