//! Toy servers that use what a contract's backing services hold, each wrong in one way: every one must be rejected with a message
//! that names its fault, and the twin that is right must pass. Backing services are started once for all mutants of a contract.
//! Those that are checked at once have a copy of the seeded database each; what one of them wrote is taken back before the next.

mod account;
mod cache;
mod database;
mod fortunes;
mod orders;
mod token;

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../check/tests/listening.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod listening;
#[path = "../../../check/tests/mutants.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod mutants;
#[path = "../../../check/tests/right.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod right;
#[path = "../../../../tests/skip.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod skip;
#[path = "../../../check/tests/toy.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod toy;

use crate::common::Testbed;
use crate::toy::{Call, FaultMode, ScriptedReply};
use database::Database;
use mutants::{
    CorrectHandler, assert_correct_passes, assert_none_survives, failures_of, request, survival, target,
};
use prony_check::check;
use prony_config::Catalogue;
use prony_load::Protocol;
use prony_runner::{BackingProcesses, RunContext, TrialPlacement, prepare};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The number that the data is made of.
const SEED: u64 = 11;

/// What one server stands on.
pub(crate) struct ServerEnvironment {
    database: Arc<Database>,
    /// What a service of the contract has in its environment.
    environment: BTreeMap<String, String>,
    /// No other server has it.
    name: String,
}

/// A reply that is none of those that were asked for.
pub(crate) struct UnexpectedAnswer(ScriptedReply);

type Reply = Result<ScriptedReply, UnexpectedAnswer>;

impl UnexpectedAnswer {
    pub(crate) fn new(status: u16) -> Self {
        Self(ScriptedReply::new(status))
    }
}

impl From<tokio_postgres::Error> for UnexpectedAnswer {
    fn from(error: tokio_postgres::Error) -> Self {
        Self(ScriptedReply::of(500, "text/plain", error.to_string()))
    }
}

/// What is wrong with a server, what the check must say of it, and where it is broken.
type Row<F> = (&'static str, &'static str, F);

/// Checks the server that `serve` makes without a fault, and one for every fault; fails with the list of those that were not
/// caught. `mend` are statements that take back what a server wrote.
fn try_faults<F: Copy + Send>(
    (name, mend): (&str, &str),
    serve: impl Fn(ServerEnvironment, Option<F>) -> Box<CorrectHandler> + Sync,
    faults: Vec<Row<F>>,
) {
    let testbed = Testbed::new(&["ok"]);
    // The user of the database must be able to enter it.
    std::fs::set_permissions(testbed.folder.path(), Permissions::from_mode(0o755)).expect("ours");
    let catalogue = catalogue();
    let bench = RunContext {
        testbed: &testbed.hosts,
        generator: &testbed.generator,
        options: &testbed.options,
        cancel: &testbed.cancel,
        catalogue: &catalogue,
        seeds: &testbed.seeds,
        certificates: &prony_runner::Certificates::default(),
    };
    let contract = &catalogue.contracts[name];
    let prepared = prepare(&bench, contract, SEED);
    let contract = match prepared {
        Err(failure) if failure.reason.contains(" cannot run: ") => return skip::skipped(&failure.reason),
        prepared => prepared.unwrap_or_else(|failure| panic!("{failure}")),
    };
    let seat = TrialPlacement::alone(&testbed.hosts, &contract, None);
    let backing_services = BackingProcesses::start(&bench, &contract, SEED, &seat);
    let backing_services = backing_services.unwrap_or_else(|failure| panic!("{failure}"));
    let mut environment = contract.environment().clone();
    environment.extend(backing_services.exports());
    let grounds = SeededDatabases::new(environment);
    assert_correct_passes(&contract, &serve(grounds.next(), None).into());
    assert_none_survives(faults, |(name, expected, fault)| {
        let ground = grounds.next();
        let database = Arc::clone(&ground.database);
        let wrong = serve(ground, Some(fault));
        let toy = toy::serve(FaultMode::Right, Arc::new(move |call: &Call| wrong(call)));
        // Without the recheck, which only repeats a part of the check.
        let report = check(&request(&contract, &target(toy.address), Protocol::Http1));
        let complaint = survival(name, expected, &failures_of(&[report]));
        database.order(mend);
        grounds.give_back(database);
        complaint
    });
}

/// The checkout's own. Nothing here must outlive a power cut, so the database does not wait for the disk.
fn catalogue() -> Catalogue {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut catalogue = Catalogue::read(&root).unwrap_or_else(|error| panic!("{error}"));
    let database = catalogue
        .backing_services
        .get_mut("postgresql")
        .expect("the backing service");
    for setting in ["fsync", "full_page_writes"] {
        database.settings.insert(setting.to_owned(), "off".to_owned());
    }
    catalogue
}

/// Makes databases as they were seeded.
struct SeededDatabases {
    environment: BTreeMap<String, String>,
    seeded: Database,
    above: Database,
    idle: Mutex<Vec<Arc<Database>>>,
    made: AtomicUsize,
}

impl SeededDatabases {
    fn new(environment: BTreeMap<String, String>) -> Self {
        let seeded = Database::at(&environment["DATABASE_URL"]);
        Self {
            above: seeded.beside("postgres", "postgres"),
            seeded,
            environment,
            idle: Mutex::default(),
            made: AtomicUsize::new(0),
        }
    }

    fn next(&self) -> ServerEnvironment {
        let name = format!("ground_{}", self.made.fetch_add(1, Ordering::SeqCst));
        let idle = self.idle.lock().expect("no panic").pop();
        ServerEnvironment {
            database: idle.unwrap_or_else(|| self.copy(&name)),
            environment: self.environment.clone(),
            name,
        }
    }

    fn copy(&self, name: &str) -> Arc<Database> {
        self.above.order(&format!(
            "create database {name} template prony owner prony strategy file_copy"
        ));
        Arc::new(self.seeded.beside("prony", name))
    }

    fn give_back(&self, database: Arc<Database>) {
        self.idle.lock().expect("no panic").push(database);
    }
}

/// A handler out of a server and its way to answer.
fn handler<S: Send + Sync + 'static>(server: S, answer: fn(&S, &Call) -> Reply) -> Box<CorrectHandler> {
    Box::new(move |call: &Call| answer(&server, call).unwrap_or_else(|UnexpectedAnswer(answer)| answer))
}
