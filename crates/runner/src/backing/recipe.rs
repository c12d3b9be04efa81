//! The commands that seed and run one backing service of a contract on its host.

use super::lock;
use crate::Seeds;
use crate::build::{InstalledToolchain, before_path, probe, system};
use crate::digest::{hex, short};
use crate::script::{ScriptExit, quoted, until_ended};
use crate::testbed::Member;
use crate::{Cancel, Failure};
use crate::{RunContext, TrialPlacement};
use prony_config::contract::Contract;
use prony_config::{BackingDefinition as Definition, StopSignal};
use prony_host::{HostError, InheritedVariables, Limits, ProcessSpec, RolePlacement};
use prony_records::TrialStage;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

const PRELUDE: &str = include_str!("prelude.sh");
/// Maximum size of a log in bytes.
const LOG_BYTES: u64 = 1 << 20;
/// Time between its stop signal and SIGKILL.
const GRACE: Duration = Duration::from_secs(10);
/// Interval of resource samples; long, because some backing services have a process for each connection.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);
/// Bits of a seed that every language of a seed file can represent.
const SEED_BITS: u32 = 31;

/// One backing service of a contract, on its host.
#[derive(Clone)]
pub(super) struct Recipe {
    /// Its name in the contract.
    pub(super) name: String,
    pub(super) definition: Definition,
    pub(super) member: Member,
    pub(super) cancel: Cancel,
    pub(super) tools: Tools,
    base: PathBuf,
    pub(super) settings: BTreeMap<String, String>,
    /// The seed that its seed files receive.
    pub(super) number: u64,
    /// Names of its seed files in the contract's folder.
    files: Vec<PathBuf>,
    contract: PathBuf,
    pub(super) trial_placement: TrialPlacement,
    /// Host and CPUs.
    pub(super) placement: RolePlacement,
    /// The key of its data in the cache; `None` if it begins without data.
    pub(super) key: Option<String>,
    /// Identifies its own data folder.
    token: String,
    /// The password of the service at it.
    password: String,
    /// The password of prony at it.
    admin_password: String,
    /// The address from which the service connects.
    service_address: String,
}

/// The toolchains of a backing service on its host.
#[derive(Clone, Default)]
pub(super) struct Tools {
    /// Shell commands that find them on another host.
    locates: String,
    /// Variables with their folders on this machine.
    environment: BTreeMap<String, String>,
    /// The version of the first toolchain, if it can be found on this machine.
    pub(super) version: Option<String>,
}

impl Recipe {
    pub(super) fn new(
        bench: &RunContext<'_>,
        contract: &Contract,
        requirement: &prony_config::contract::BackingRequirement,
        seed: u64,
        trial_placement: &TrialPlacement,
    ) -> Result<Self, Failure> {
        let failed = |reason: String| Failure::infrastructure(TrialStage::Start, reason);
        let definition = bench.catalogue.backing_services.get(requirement.uses()).cloned();
        let definition = definition
            .ok_or_else(|| failed(format!("there is no backing service `{}`", requirement.uses())))?;
        let member = if definition.beside_service {
            bench.testbed.service().clone()
        } else {
            bench.testbed.backing_service().clone()
        };
        let placement = placement(trial_placement, definition.beside_service);
        let base = match &member.remote {
            None => bench.seeds.folder.clone(),
            Some(reached) => reached.remote().hello().cache.join("backing-services"),
        };
        let tools = tools(bench, &definition, member.is_here());
        let tools = tools.map_err(|reason| failed(format!("{} cannot run: {reason}", definition.title)))?;
        let settings = definition.settings_with(requirement.settings());
        let settings = settings.map_err(|name| failed(format!("`{}` has no `{name}`", definition.name)))?;
        let files = requirement.seed().iter();
        let mut recipe = Self {
            member,
            cancel: bench.cancel.clone(),
            tools,
            base,
            name: requirement.name().to_owned(),
            definition,
            settings,
            number: number(seed),
            files: files
                .map(|file| file.strip_prefix(&contract.folder).unwrap_or(file).to_owned())
                .collect(),
            contract: contract.folder.clone(),
            trial_placement: trial_placement.clone(),
            placement,
            key: None,
            token: token(),
            password: password(),
            admin_password: password(),
            service_address: service_address(bench, trial_placement),
        };
        recipe.key = recipe.data_key()?;
        Ok(recipe)
    }

    /// Its name in the contract, and its title.
    pub(super) fn label(&self) -> String {
        format!("backing service `{}` ({})", self.name, self.definition.title)
    }

    pub(super) fn failed(&self, reason: &str) -> Failure {
        Failure::infrastructure(TrialStage::Start, format!("{} {reason}", self.label()))
    }

    pub(super) fn host_failed(error: &HostError) -> Failure {
        Failure::host(TrialStage::Start, error)
    }

    /// A key derived from everything that determines the data: equal data is generated once.
    fn data_key(&self) -> Result<Option<String>, Failure> {
        let Some(seed) = &self.definition.seed else {
            return Ok(None);
        };
        let mut digest = Sha256::new();
        digest.update(seed);
        if seed.contains("{prony}") {
            digest.update(env!("CARGO_PKG_VERSION"));
        }
        for variable in &self.tools.environment {
            digest.update(format!("{variable:?}"));
        }
        for file in &self.files {
            let read = std::fs::read(self.contract.join(file));
            let read = read.map_err(|error| {
                self.failed(&format!(
                    "cannot be seeded: {} cannot be read: {error}",
                    self.shown_path(file)
                ))
            })?;
            digest.update(file.as_os_str().as_encoded_bytes());
            digest.update((read.len() as u64).to_le_bytes());
            digest.update(read);
        }
        let digits = short(&digest.finalize());
        Ok(Some(format!("{}-{digits}-{}", self.definition.name, self.number)))
    }

    /// The path of a seed file for messages.
    pub(super) fn shown_path(&self, file: &Path) -> String {
        let contract = self.contract.file_name().unwrap_or_default().to_string_lossy();
        format!("contracts/{contract}/{}", file.display())
    }

    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The folder of the seed files on its host.
    pub(super) fn seed_folder(&self) -> Result<PathBuf, Failure> {
        match &self.member.remote {
            None => Ok(std::path::absolute(&self.contract).unwrap_or_else(|_| self.contract.clone())),
            Some(reached) => {
                let sent = reached.remote().keep(&self.contract, &|_| {});
                sent.map(|sent| sent.path)
                    .map_err(|error| Self::host_failed(&error))
            }
        }
    }

    /// A process that runs a script on its host, after the common prelude.
    pub(super) fn script(
        &self,
        (log, text): (&str, &str),
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
    ) -> ProcessSpec {
        let there = &self.member;
        let mut all = self.tools.environment.clone();
        all.extend(self.data_environment());
        all.extend(environment);
        let script = format!("{}{PRELUDE}{text}", self.tools.locates);
        let words = ["sh", "-euc", script.as_str(), "backing_service"].map(str::to_owned);
        ProcessSpec {
            name: self.label(),
            command: words.into_iter().chain(arguments).collect(),
            folder: there.logs.clone(),
            inherited: InheritedVariables::of_services(&[]),
            empty_home: true,
            environment: all,
            cpus: self.placement.cpus.clone(),
            batch_policy: self.placement.batch_policy,
            supervisor_cpus: self.placement.keepers.clone(),
            log: there.logs.join(self.trial_placement.log(log)),
            log_bytes: LOG_BYTES,
            grace: GRACE,
            ..ProcessSpec::default()
        }
    }

    /// The process of the backing service itself, on this port.
    pub(super) fn running(&self, port: u16) -> ProcessSpec {
        let workers = self.placement.cpus.len().max(1);
        let environment = BTreeMap::from([
            ("KEY".to_owned(), self.key.clone().unwrap_or_default()),
            ("HOST".to_owned(), self.placement.address.clone()),
            ("PORT".to_owned(), port.to_string()),
            ("WORKERS".to_owned(), workers.to_string()),
            ("RUNNING".to_owned(), self.filled(&self.definition.run, port)),
        ]);
        let log = format!("backing-{}", self.name);
        let spec = self.script((&log, include_str!("run.sh")), Vec::new(), environment);
        let limits = self.definition.limits;
        ProcessSpec {
            limits: Limits {
                cpus: limits.cpus,
                memory_bytes: limits.memory_bytes,
                ..Limits::default()
            },
            stop_signal: self.definition.stop_signal.map(StopSignal::number),
            sample_every: Some(SAMPLE_EVERY),
            ..spec
        }
    }

    /// A text of its file with its placeholders filled, quoted for a shell.
    pub(super) fn filled(&self, text: &str, port: u16) -> String {
        let program = self.member.prony(&[]);
        let program: Vec<String> = program.iter().map(|word| quoted(word)).collect();
        let mut filled = text
            .replace("{prony}", &program.join(" "))
            .replace("{settings}", &self.setting_words())
            .replace("{host}", &self.placement.address)
            .replace("{port}", &port.to_string());
        for (name, value) in &self.settings {
            filled = filled.replace(&format!("{{{name}}}"), &quoted(value));
        }
        filled
    }

    /// An address of its definition with its placeholders filled.
    pub(super) fn address(&self, text: &str, port: u16) -> String {
        text.replace("{host}", &self.placement.address)
            .replace("{port}", &port.to_string())
            .replace("{password}", &self.password)
            .replace("{admin_password}", &self.admin_password)
    }

    /// The address of prony's queries. On its own host these use a socket in the folder in which the process `pid` runs.
    pub(super) fn query_url(&self, port: u16, pid: Option<u32>) -> Option<String> {
        let local = self.definition.local_query_url.as_ref().zip(pid);
        if let Some((url, pid)) = local.filter(|_| self.member.is_here()) {
            let data = format!("/proc/{pid}/cwd");
            return Some(self.address(&url.replace("{data}", &data), port));
        }
        let url = self.definition.query_url.as_ref()?;
        Some(self.address(url, port))
    }

    fn setting_words(&self) -> String {
        let words = self.settings.iter().flat_map(|(name, value)| {
            let filled = |word: &String| quoted(&word.replace("{name}", name).replace("{value}", value));
            self.definition.setting.iter().map(filled)
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Variables with the data folders of its host and the users that it may run as.
    fn data_environment(&self) -> BTreeMap<String, String> {
        let digest = Sha256::digest(self.base.as_os_str().as_encoded_bytes());
        let digits = short(&digest);
        BTreeMap::from([
            ("BASE".to_owned(), self.base.to_string_lossy().into_owned()),
            ("OTHERWISE".to_owned(), format!("/var/tmp/prony-backing-{digits}")),
            ("USERS".to_owned(), self.definition.users.join(" ")),
            ("TOKEN".to_owned(), self.token.clone()),
            ("PASSWORD".to_owned(), self.password.clone()),
            ("ADMIN_PASSWORD".to_owned(), self.admin_password.clone()),
            ("SERVICE_ADDRESS".to_owned(), self.service_address.clone()),
            // prony's queries come from another host.
            (
                "REMOTE_QUERIES".to_owned(),
                if self.member.is_here() { "" } else { "1" }.to_owned(),
            ),
        ])
    }
}

/// 32 random bytes in hexadecimal digits, which mean themselves in a URL and in a shell.
fn password() -> String {
    hex(&rand::random::<[u8; 32]>())
}

/// The address from which the service of a trial connects to backing services.
fn service_address(bench: &RunContext<'_>, trial_placement: &TrialPlacement) -> String {
    let placement = &trial_placement.placement;
    match &placement.backing_service {
        Some(backing) if backing.host != placement.service.host => bench.host().address().to_owned(),
        Some(backing) => backing.address.clone(),
        None => bench.host().address().to_owned(),
    }
}

/// A token that no other prony process has, not even one on another machine that uses the same host.
fn token() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_nanos());
    format!(
        "{}-{now}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Finds the toolchains of a backing service on this machine, or returns the commands that find them on another host.
fn tools(bench: &RunContext<'_>, definition: &Definition, is_here: bool) -> Result<Tools, String> {
    let (mut tools, mut path) = (Tools::default(), Vec::new());
    for requirement in &definition.toolchains {
        let name = &requirement.toolchain;
        let toolchain = bench.catalogue.toolchains.get(name);
        let toolchain = toolchain.ok_or_else(|| format!("unknown toolchain `{name}`"))?;
        if !is_here {
            if let Some((locate, variable)) = &toolchain.locate {
                let _ = writeln!(tools.locates, "{variable}=$(\n{locate}\n)\nexport {variable}");
            }
            continue;
        }
        let found = probe_once(bench.seeds, toolchain);
        let found = found.map_err(|what| format!("{what}; {}", toolchain.how_to_install(system())))?;
        if let Some(minimum) = requirement
            .minimum
            .as_ref()
            .filter(|minimum| found.version < **minimum)
        {
            let (title, version) = (&toolchain.title, &found.version);
            let how = toolchain.how_to_renew(minimum);
            return Err(format!(
                "{title} {version} is too old, {minimum} is needed; {how}"
            ));
        }
        tools.version.get_or_insert_with(|| found.version.to_string());
        tools.environment.extend(found.located);
        path.extend(found.path);
    }
    if !path.is_empty() {
        tools.environment.insert("PATH".to_owned(), before_path(&path));
    }
    Ok(tools)
}

/// Probes a toolchain on the first call.
fn probe_once(seeds: &Seeds, toolchain: &prony_config::Toolchain) -> Result<InstalledToolchain, String> {
    let cache = seeds.folder.parent().unwrap_or(&seeds.folder).join("cache");
    let mut known = lock(&seeds.found);
    let found = known.entry(toolchain.name.clone());
    found.or_insert_with(|| probe(toolchain, &cache)).clone()
}

/// The number that seed files receive for the seed of a run.
pub(super) const fn number(seed: u64) -> u64 {
    seed & ((1 << SEED_BITS) - 1)
}

/// The host and the CPUs of a backing service. One that only writes files for the service has no CPUs of its own.
fn placement(trial_placement: &TrialPlacement, beside_service: bool) -> RolePlacement {
    let placement = &trial_placement.placement;
    if beside_service {
        return placement.service.clone();
    }
    placement.backing_service.clone().unwrap_or_default()
}

/// Runs a script to its end. The error is the last lines of its log.
pub(super) fn run(
    recipe: &Recipe,
    spec: &ProcessSpec,
    within: Duration,
) -> Result<Result<(), Vec<String>>, Failure> {
    Ok(output(recipe, spec, within)?.map(drop))
}

/// Runs a script to its end. Returns the last lines of its log; they are the error if it failed.
pub(super) fn output(
    recipe: &Recipe,
    spec: &ProcessSpec,
    within: Duration,
) -> Result<Result<Vec<String>, Vec<String>>, Failure> {
    let started = recipe.member.host.start(spec);
    let mut process = started.map_err(|error| Recipe::host_failed(&error))?;
    let ended = until_ended(&mut *process, within, || recipe.cancel.is_now());
    if matches!(ended, ScriptExit::Cancelled) {
        return Err(Failure::interrupted(TrialStage::Start));
    }
    // Ends processes that it left running.
    let _ = process.stop();
    let log = process.log_tail(30);
    Ok(match ended {
        ScriptExit::Itself(ending) if ending.code == Some(0) => Ok(log),
        _ => Err(log),
    })
}
