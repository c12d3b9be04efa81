//! The first start of the server of a repository: it is built and started, its port is found, and a contract is drafted from its
//! replies.

mod description;
mod port;

use crate::build::id_of;
use crate::error::ErrorContext as _;
use crate::import_replies::draft;
use crate::start::start_service;
use crate::{
    BackingProcesses, BuildOutput, Builder, Checkout, CommandError, Failure, Folders, LocalTestbed, Progress,
    RunContext, Start, StartedService, TrialPlacement,
};
use prony_config::contract::Contract;
use prony_config::guess::{description, routes};
use prony_config::import::{Draft, Omission, Operation, from_openapi, from_paths};
use prony_config::{Address, Catalogue, Limits, Service};
use prony_load::Target;
use prony_records::Exclusion;
use std::path::{Path, PathBuf};

/// Seed of the values of backing services.
const SEED: u64 = 1;
/// The common case that may change data: it sends POST and DELETE to paths for which the contract has neither.
const WRONG_METHOD: &str = "wrong method";
/// Lines of the log that a failure shows.
const LOG_LINES: usize = 20;

/// The contract that was drafted, and what the server told about itself.
#[derive(Debug)]
pub struct FirstStart {
    /// The port on which the server listened, and the one that it should have taken from `PORT`.
    pub port: u16,
    pub requested_port: u16,
    /// The draft, which is written.
    pub draft: Draft,
    /// The source of the draft, for readers.
    pub source: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Remarks about its replies.
    pub remarks: Vec<String>,
    /// Paths in the sources that were not requested, because they have parameters.
    pub unrequested: Vec<String>,
}

impl FirstStart {
    /// Whether it listens where prony tells it to, so that two of it can run at the same time.
    pub const fn follows_port(&self) -> bool {
        self.port == self.requested_port
    }
}

/// Builds and starts the service `name`, and drafts its contract of the same name in place of the present one. Requests that may change
/// data are only drafted and sent with `allow_writes`. `tell` receives progress messages.
pub fn first_start(
    checkout: &Checkout,
    (name, allow_writes): (&str, bool),
    workbench: &LocalTestbed,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<FirstStart, CommandError> {
    let catalogue = checkout.catalogue()?;
    let unknown = || CommandError::Input(format!("no service `{name}`"));
    let service = *catalogue.select(name)?.first().ok_or_else(unknown)?;
    let contract = catalogue.contract(name)?;
    let contracts = contract.folder.parent().unwrap_or(&checkout.root).to_owned();
    let built = built(checkout, &catalogue, service, workbench, tell)?;
    tell(&format!("starting {name}"));
    let bench = workbench.bench(&catalogue);
    let mut subject =
        started(&bench, service, &built, contract).map_err(|failure| failed(&failure.reason, &[]))?;
    let requested_port = subject.targets.clear.port;
    let listening = port::wait(
        &mut *subject.service,
        &subject.targets.clear,
        service.start_timeout,
        &bench,
    );
    let drafted = listening.and_then(|target| {
        tell(&format!("recording the replies of {}", target.authority));
        let drafted = drafted(&checkout.root, (&contracts, name), &target, allow_writes)?;
        Ok((target.port, drafted))
    });
    let _ = subject.service.stop();
    let log = subject.service.log_tail(LOG_LINES);
    let (port, mut drafted) = drafted.map_err(|error| match error {
        CommandError::Failed(text) => failed(&text, &log),
        other => other,
    })?;
    let present = contracts.join(name);
    std::fs::remove_dir_all(&present).failed(|| format!("cannot remove {}", present.display()))?;
    let folder = draft::write(&contracts, name, &mut drafted.draft)?;
    drop_schema_line(&folder.join("contract.toml"))?;
    Ok(FirstStart {
        port,
        requested_port,
        folder,
        draft: drafted.draft,
        source: drafted.source,
        remarks: drafted.remarks,
        unrequested: drafted.unrequested,
    })
}

/// Removes the line that names the schema of a file: a repository gets no folder of schemas.
fn drop_schema_line(file: &Path) -> Result<(), CommandError> {
    let cannot = || format!("cannot write {}", file.display());
    let text = std::fs::read_to_string(file).failed(cannot)?;
    let lines = text.lines().filter(|line| !line.starts_with("#:schema "));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    std::fs::write(file, text).failed(cannot)
}

/// Starts the service.
fn started(
    bench: &RunContext<'_>,
    service: &Service,
    built: &BuildOutput,
    contract: &Contract,
) -> Result<StartedService, Failure> {
    let placement = TrialPlacement::alone(bench.testbed, contract, None);
    let backing = BackingProcesses::start(bench, contract, SEED, &placement)?;
    let start = Start {
        service,
        built,
        contract,
        address: &Address::default(),
        limits: Limits::default(),
        network: None,
    };
    start_service(bench, &start, &placement, backing)
}

fn built(
    checkout: &Checkout,
    catalogue: &Catalogue,
    service: &Service,
    workbench: &LocalTestbed,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<BuildOutput, CommandError> {
    checkout.has_room([service.name.as_str()])?;
    let folders = Folders::of(&checkout.root, &checkout.state());
    let builder = Builder::new(
        &workbench.testbed,
        &catalogue.toolchains,
        folders,
        &workbench.cancel,
    );
    tell(&format!("building {}", id_of(service)));
    let built = builder.build_watched(service, &|progress: Progress| {
        if let Some(text) = progress.waits() {
            tell(&text);
        }
    });
    built.map_err(|excluded: Exclusion| failed(&excluded.reason, &excluded.log_tail))
}

fn failed(reason: &str, log: &[String]) -> CommandError {
    let lines = std::iter::once(reason).chain(log.iter().map(String::as_str));
    CommandError::Failed(lines.collect::<Vec<_>>().join("\n    "))
}

/// A draft, and what it is made from.
struct Drafted {
    draft: Draft,
    source: String,
    remarks: Vec<String>,
    unrequested: Vec<String>,
}

/// The draft from the first source that leads to a reply: the description in the repository, that of the server, or its paths.
fn drafted(
    root: &Path,
    (contracts, name): (&Path, &str),
    target: &Target,
    allow_writes: bool,
) -> Result<Drafted, CommandError> {
    let record = |draft: &mut Draft| {
        if !allow_writes {
            // Paths may have methods that the draft lacks.
            let reason = "it may change data: `prony init --allow-writes` sends it".to_owned();
            draft.skip_common_cases.push((WRONG_METHOD.to_owned(), reason));
        }
        draft::record(contracts, name, draft, (target, allow_writes), &|_, _| {})
    };
    let file = description(root);
    let of_file = file.and_then(|file| Some((relative(root, &file), from_openapi(&file).ok()?)));
    let described = of_file.or_else(|| description::of_server(target));
    if let Some((source, mut draft)) = described {
        if !allow_writes {
            omit_writes(&mut draft);
        }
        if !draft.operations.is_empty()
            && let Ok(remarks) = record(&mut draft)
        {
            return Ok(Drafted {
                draft,
                source,
                remarks,
                unrequested: Vec::new(),
            });
        }
    }
    let found = routes(root);
    let paths: Vec<String> = std::iter::once("/".to_owned()).chain(found.paths).collect();
    let mut draft = from_paths(&paths);
    let remarks = record(&mut draft)?;
    Ok(Drafted {
        source: format!("GET {}", shown_paths(&draft)),
        draft,
        remarks,
        unrequested: found.with_parameters,
    })
}

/// Leaves out the operations that may change data.
fn omit_writes(draft: &mut Draft) {
    let (reads, writes) = std::mem::take(&mut draft.operations)
        .into_iter()
        .partition(Operation::only_reads);
    draft.operations = reads;
    let writes: Vec<Operation> = writes;
    draft.omitted.extend(writes.into_iter().map(|operation| {
        let request = format!("{} {}", operation.method, operation.path);
        Omission::new(
            request,
            "it may change data: `prony init --allow-writes` drafts it",
        )
    }));
}

fn shown_paths(draft: &Draft) -> String {
    let paths = draft.operations.iter().map(|operation| operation.path.as_str());
    paths.collect::<Vec<_>>().join(", ")
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}
