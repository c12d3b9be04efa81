//! `prony serve`: serves the live page and the history from the store.
//!
//! The page is that of the report, but it asks this server for its data. Only `change` writes, and no text of a service is
//! ever sent as HTML: data is sent as JSON, with a policy that lets the page run only its own script.

mod api;
mod compare;
mod edit;
mod guard;
mod history;
mod live;
mod metrics;
mod run_line;
mod run_summary;

use crate::checkout::{StoreArgs, usage};
use crate::exit::{Exit, bad_input};
use crate::http_server::HttpServer;
use crate::output::{address_said, print_verbatim};
use crate::reporting::ReportContext;
use anyhow::{Context as _, anyhow};
use axum::Router;
use axum::routing::{get, put};
use prony_report::Report;
use prony_store::Store;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Show runs, a run in progress and their history in the browser
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address to listen on; beyond loopback everyone who can reach it can read the runs, but no run can be labelled or deleted
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    listen: IpAddr,
    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 4400)]
    port: u16,
    /// Print the listening address as JSON
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
    answers: Mutex<BTreeMap<String, run_summary::RunSummary>>,
    /// Reports of the newest run of each suite, by the names of the runs.
    newest: Mutex<BTreeMap<String, Arc<Report>>>,
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
    let address = SocketAddr::new(args.listen, args.port);
    let server = HttpServer::bind(address).map_err(|error| {
        bad_input(anyhow!(
            "cannot listen on {address}: {error}; choose another port with --port, or a free one with --port 0"
        ))
    })?;
    print_verbatim(&address_said(&format!("http://{}/", server.address()), args.json))?;
    server
        .serve_until_ctrl_c(routes(state))
        .context("the server failed")?;
    Ok(Exit::Fine)
}

fn routes(state: Arc<State>) -> Router {
    let only_local = state.may_change;
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
        .layer(axum::middleware::from_fn(move |request, next| {
            guard::guard(only_local, request, next)
        }))
        .with_state(state)
}
