//! The testbed of a command: hosts, generator, logs and cancellation, set up once.

mod claims;

use crate::error::ErrorContext as _;
use crate::generators::{ProcessGenerator, SILENCE};
use crate::project::clean::StateUse;
use crate::start_time::now;
use crate::testbed::{Claims, Controller, Link, Member, Preflight, Testbed, TestbedFile};
use crate::{Cancel, Certificates, NoiseLimits, Options, RunContext, Seeds};
use crate::{Checkout, CommandError};
pub use claims::{Claim, who_measures};
use prony_config::Catalogue;
use prony_host::{CpuLease, Host, HostError, Isolation, Local, lacks_proc, writable};
use prony_records::Environment;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

/// The testbed of a command, and the options of its trials. Every prony process that it starts runs this same binary.
pub struct LocalTestbed {
    /// The hosts and their roles.
    pub testbed: Testbed,
    /// Starts the loads.
    pub generator: ProcessGenerator,
    /// Options of the trials.
    pub options: Options,
    /// Cancels the command.
    pub cancel: Cancel,
    /// The path of this binary.
    pub program: String,
    claim: Claim,
    seeds: Seeds,
    certificates: Certificates,
    held: Mutex<Option<(CpuLease, Claims)>>,
    /// Keeps `prony clean` away from the files of a checkout.
    _in_use: Option<StateUse>,
    links: OnceLock<Vec<Link>>,
}

impl LocalTestbed {
    /// A testbed of this machine, with its logs in this folder, which is created. Fails without `/proc`.
    pub fn new(logs: PathBuf, cancel: &Cancel) -> Result<Self, CommandError> {
        if lacks_proc() {
            return Err(CommandError::Failed(
                "/proc is not mounted, so no process can be started and measured: mount -t proc proc /proc"
                    .to_owned(),
            ));
        }
        std::fs::create_dir_all(&logs).failed(|| format!("cannot create {}", logs.display()))?;
        let executable =
            std::env::current_exe().failed(|| "cannot find the path of this binary".to_owned())?;
        let program = executable.to_str().ok_or_else(|| {
            CommandError::Failed("the path of this binary is not UTF-8: move it elsewhere".to_owned())
        })?;
        let seeds = Seeds::new(&logs.join("backing-services"));
        let host = local(program);
        let testbed = Testbed::here(Member::new("", Arc::new(host), vec![program.to_owned()], logs));
        Ok(Self {
            generator: ProcessGenerator::new(testbed.clone()),
            testbed,
            options: Options {
                isolation: Isolation::WherePossible,
                noise: None,
                silence: SILENCE,
            },
            cancel: cancel.clone(),
            program: program.to_owned(),
            claim: Claim::default(),
            seeds,
            certificates: Certificates::default(),
            held: Mutex::new(None),
            _in_use: None,
            links: OnceLock::new(),
        })
    }

    /// A testbed for trials in a checkout. It has its own folder of logs, because other commands may run in the same checkout. Fails
    /// if the state folder is not writable.
    pub fn of(checkout: &Checkout, cancel: &Cancel) -> Result<Self, CommandError> {
        writable(&checkout.state()).map_err(CommandError::Input)?;
        let time = now().trim_end_matches('Z').replace(':', "-");
        let name = format!("{time}-{}", std::process::id());
        let logs = checkout.state().join("log").join(name);
        Ok(Self {
            _in_use: Some(StateUse::begin(&checkout.state(), &logs)?),
            seeds: Seeds::new(&checkout.state().join("backing-services")),
            ..Self::new(logs, cancel)?
        })
    }

    /// The host of the services.
    pub fn host(&self) -> &dyn Host {
        &*self.testbed.service().host
    }

    /// The same on the hosts of a testbed file, if one is given. `tell` receives progress messages.
    pub fn in_testbed(
        mut self,
        file: Option<&TestbedFile>,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, CommandError> {
        let Some(file) = file else { return Ok(self) };
        let controller = Controller {
            host: local(&self.program),
            program: self.program.clone(),
            logs: self.testbed.service().logs.clone(),
            what: self.claim.what.clone(),
            goes_on: {
                let cancel = self.cancel.clone();
                Box::new(move || !cancel.is_asked())
            },
        };
        self.testbed = Testbed::connect(file, &controller, tell).map_err(|error| match error {
            HostError::NoPods { .. } if self.cancel.is_asked() => {
                CommandError::Interrupted(error.to_string())
            }
            error => error.into(),
        })?;
        self.generator = ProcessGenerator::new(self.testbed.clone());
        Ok(self)
    }

    /// The environment of the host of the services, and all hosts if there are several.
    pub fn environment(&self) -> Environment {
        Environment {
            prony: String::from(env!("CARGO_PKG_VERSION")),
            hosts: self.testbed.hosts(),
            ..self.testbed.service().environment().clone()
        }
    }

    /// The measured network between different machines; measured once. Fails if the preflight finds that no run is possible.
    pub(crate) fn links(&self) -> Result<&[Link], CommandError> {
        if let Some(known) = self.links.get() {
            return Ok(known);
        }
        let found = if self.testbed.members().iter().all(Member::is_on_this_machine) {
            Vec::new()
        } else {
            let found = Preflight::of(&self.testbed)?;
            let blocks = found.blocks();
            if !blocks.is_empty() {
                return Err(CommandError::Input(format!(
                    "the testbed is not ready for a run:\n  {}\nuse `prony testbed check` to check it again",
                    blocks.join("\n  ")
                )));
            }
            found.links
        };
        Ok(self.links.get_or_init(|| found))
    }

    /// Sets how its CPUs are claimed.
    #[must_use]
    pub fn claiming(mut self, claim: Claim) -> Self {
        self.claim = claim;
        self
    }

    /// Claims the CPUs of the testbed until this is dropped. `tell` receives a message if it has to wait.
    pub(crate) fn hold(&self, tell: &dyn Fn(&str)) -> Result<(), CommandError> {
        let mut held = self.held.lock().expect("invariant: no holder panics");
        if held.is_none() {
            let here = self.claim.take(&self.testbed.cpus_here(), &self.cancel, tell)?;
            let there = self.claim.take_remote(&self.testbed, &self.cancel, tell)?;
            *held = Some((here, there));
        }
        Ok(())
    }

    /// Sets whether limits are required.
    #[must_use]
    pub fn isolated(mut self, isolation: Isolation) -> Self {
        self.options.isolation = isolation;
        self
    }

    /// Sets whether disturbed trials are repeated.
    #[must_use]
    pub fn repeating(mut self, repeats: bool) -> Self {
        self.options.noise = repeats.then(NoiseLimits::default);
        self
    }

    /// The context of its trials.
    pub fn bench<'a>(&'a self, catalogue: &'a Catalogue) -> RunContext<'a> {
        RunContext {
            testbed: &self.testbed,
            generator: &self.generator,
            options: &self.options,
            cancel: &self.cancel,
            catalogue,
            seeds: &self.seeds,
            certificates: &self.certificates,
        }
    }
}

/// This machine as a host. Its processes are supervised by the same binary.
fn local(program: &str) -> Local {
    Local::new(vec![OsString::from(program), OsString::from("supervise")])
}
