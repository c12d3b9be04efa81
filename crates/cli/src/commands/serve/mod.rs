//! `prony serve`: serves the live page and the history from the store.
//!
//! The page is that of the report, but it asks this server for its data. Only `edit` writes, and no text of a service is
//! ever sent as HTML: data is sent as JSON, with a policy that lets the page run only its own script. Every request must prove that
//! it comes from someone who knows the token: see `guard`.

mod answers;
mod api;
mod compare;
mod delivery;
mod edit;
mod guard;
mod history;
mod hosts;
mod live;
mod metrics;
mod run_line;
mod run_summary;
mod token;

use crate::checkout::{StoreArgs, usage};
use crate::exit::{Exit, bad_input};
use crate::http_server::HttpServer;
use crate::output::print_verbatim;
use crate::reporting::ReportContext;
use anyhow::{Context as _, anyhow};
use axum::Router;
use axum::routing::{get, put};
use guard::Guard;
use hosts::{AllowedHosts, HostName};
use prony_report::Report;
use prony_store::Store;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use token::Token;

/// Browse runs and their history
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony serve
  prony serve --token-file token
  curl -H \"Authorization: Bearer $(cat token)\" http://127.0.0.1:4400/api/runs

Open the address that is printed: it has a token, without which nothing is shown. Programs send the token as a header. Each start \
has a new token, unless a file has it.")]
pub(crate) struct Args {
    /// Address to listen on; beyond loopback runs are read-only
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    listen: IpAddr,
    /// Port to listen on; 0: a free one
    #[arg(long, default_value_t = 4400)]
    port: u16,
    /// File with the token; created if it does not exist
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Further name of the server, e.g. of a proxy; repeatable
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<HostName>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// What all requests share.
struct State {
    store: PathBuf,
    /// Whether pages may change the store: only if no other machine can reach them.
    may_change: bool,
    context: ReportContext,
    /// Results of ended runs, by the names of the runs.
    answers: Mutex<BTreeMap<String, (RunState, run_summary::RunSummary)>>,
    /// Reports of the newest run of each suite, by the names of the runs.
    newest: Mutex<BTreeMap<String, (RunState, Arc<Report>)>>,
}

/// What a result was computed from: a name of saved loads grows, and a run may be resumed after its end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RunState {
    /// Number of the last trial in the store.
    last: i64,
    ended_at: Option<String>,
}

impl RunState {
    fn of(store: &Store, run: &str, ended_at: Option<&String>) -> anyhow::Result<Self> {
        let (last, _) = store.trial_count(run)?;
        Ok(Self {
            last,
            ended_at: ended_at.cloned(),
        })
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let store = args.store.path()?;
    // An unreadable store is reported now, not on the first request.
    drop(Store::open_existing(&store).map_err(usage)?);
    let state = Arc::new(State {
        store,
        may_change: args.listen.is_loopback(),
        context: ReportContext::read()?,
        answers: Mutex::default(),
        newest: Mutex::default(),
    });
    let token = match &args.token_file {
        Some(path) => Token::of_file(path)?,
        None => Token::random(),
    };
    let address = SocketAddr::new(args.listen, args.port);
    let server = HttpServer::bind(address).map_err(|error| {
        bad_input(anyhow!(
            "cannot listen on {address}: {error} → Choose another port with --port, or a free one with --port 0."
        ))
    })?;
    let url = format!("http://{}/", server.address());
    // The token is there to be seen.
    print_verbatim(&if args.json {
        serde_json::json!({ "schema": prony_records::SCHEMA, "url": url, "token": token.reveal() })
            .to_string()
    } else {
        format!("{url}?token={}", token.reveal())
    })?;
    let hosts = AllowedHosts::new(args.listen, args.allow_host.clone());
    let guard = Guard::new(hosts, token, state.may_change);
    server
        .serve_until_ctrl_c(routes(state, guard))
        .context("the server failed")?;
    Ok(Exit::Fine)
}

fn routes(state: Arc<State>, guard: Guard) -> Router {
    let pages = [
        "/",
        "/run/{run}",
        "/compare",
        "/service/{service}/{variant}/{contract}",
    ];
    let router = pages
        .iter()
        .fold(Router::new(), |router, path| router.route(path, get(api::page)));
    router
        .route("/api/answers", get(answers::answers))
        .route("/api/changes", get(edit::accepted).post(edit::accept))
        .route("/api/runs", get(api::runs))
        .route("/api/runs/{run}", get(api::run).delete(edit::remove))
        .route("/api/runs/{run}/label", put(edit::label))
        .route("/api/runs/{run}/answer", get(run_summary::answer))
        .route("/api/runs/{run}/events", get(live::events))
        .route("/api/compare", get(compare::two))
        .route("/api/rights", get(edit::rights))
        .route("/api/services", get(api::services))
        .route("/api/history", get(history::history))
        .route("/metrics", get(metrics::metrics))
        .layer(axum::middleware::from_fn_with_state(
            Arc::new(guard),
            guard::guard,
        ))
        .layer(axum::middleware::from_fn(delivery::deliver))
        .with_state(state)
}
