//! Digests of everything that a result depends on, grouped into named parts. Those of the ledger do not depend on the path of
//! the checkout, on file times or on ignored files.

mod key;

mod tree;

use crate::build::{own_program, recipe};
use crate::source_files::source_files;
use crate::values::Values;
use prony_config::contract::{BackingRequirement, Contract};
use prony_config::project::SERVICE_FILE;
use prony_config::{
    Catalogue, Channel, GroupPlan, Plan, Service, ServiceOrigin, SourceFiles, TlsProtocol, Toolchain,
    WorkerKind,
};
use prony_load::Protocol;
use prony_records::{CallerVariables, Fingerprint, Part};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path};

use tree::Tree;

pub(crate) use key::FingerprintKey;
pub use tree::IgnoredFiles;

/// Computes the fingerprints of the services of a plan.
pub struct Fingerprints<'a> {
    catalogue: &'a Catalogue,
    plan: &'a Plan,
    ignored: &'a IgnoredFiles,
    /// Digests of the contracts by name.
    contracts: BTreeMap<&'a str, String>,
}

impl<'a> Fingerprints<'a> {
    /// For services of this catalogue. `ignored`: files in it that are not sources.
    pub fn new(catalogue: &'a Catalogue, plan: &'a Plan, ignored: &'a IgnoredFiles) -> Self {
        let contracts = catalogue.contracts.iter();
        Self {
            catalogue,
            plan,
            ignored,
            contracts: contracts
                .map(|(name, contract)| (name.as_str(), of_contract(contract, ignored)))
                .collect(),
        }
    }

    /// What decides whether a service passes: [`Part::LEDGER`].
    pub fn for_ledger(&self, service: &Service) -> Fingerprint {
        // Sources that cannot be read equal no others.
        let source = source(service, self.ignored).ok();
        let source = source.map(|digest| Fingerprint::default().with(Part::Source, digest));
        source
            .unwrap_or_default()
            .with(Part::Recipe, recipe(service))
            .with(Part::Tools, self.pinned_tools(service))
            .with(Part::Run, run(service))
            .with(Part::Contract, self.contract(service))
    }

    /// What the results of a run depend on: all parts. `build`: what its build depends on; `variables`: those of prony on the host
    /// of the service; `key`: for values that may be secret, `None` if they are those of another host.
    pub(crate) fn for_run(
        &self,
        service: &Service,
        build: Fingerprint,
        variables: &CallerVariables,
        key: Option<&FingerprintKey>,
    ) -> Fingerprint {
        build
            .with(Part::Run, run(service))
            .with(Part::Environment, environment(service, variables, key))
            .with(Part::Backing, self.backing(service))
            .with(Part::Contract, self.contract(service))
            .with(Part::Prony, prony())
    }

    /// The files that define the backing services of its contracts. Their settings are part of the contracts.
    fn backing(&self, service: &Service) -> String {
        let own = self.plan.entries.iter();
        let own = own.filter(|entry| entry.service == service.name && entry.variant == service.variant);
        let contracts = own.filter_map(|entry| {
            let group = self.plan.group_of(entry);
            self.catalogue.contract_for(service, &group.contract)
        });
        let names: BTreeSet<&str> = contracts
            .flat_map(|contract| contract.backing_services().iter().map(BackingRequirement::uses))
            .collect();
        let mut values = Values::default();
        for definition in names
            .iter()
            .filter_map(|name| self.catalogue.backing_services.get(*name))
        {
            let mut files = Tree::new(self.ignored);
            files.add_folder(&definition.folder, &[]);
            values.add(&(&definition.name, files.digest()));
        }
        values.digest()
    }

    /// The tools whose version the project itself chooses: those that it installs by name from a registry. Tools of the
    /// distribution differ between machines.
    fn pinned_tools(&self, service: &Service) -> String {
        let mut values = Values::default();
        let needed = service.toolchains.iter();
        for toolchain in needed.filter_map(|needed| self.catalogue.toolchains.get(&needed.toolchain)) {
            if let Some(install) = &toolchain.install {
                values.add(&(&toolchain.name, install));
            }
        }
        values.digest()
    }

    /// The loads of the plan for the service, with their contracts.
    fn contract(&self, service: &Service) -> String {
        let entries = self.plan.entries.iter();
        let own = entries.filter(|entry| entry.service == service.name && entry.variant == service.variant);
        let mut asked: Vec<(&GroupPlan, Channel)> = own
            .map(|entry| (self.plan.group_of(entry), entry.channel))
            .collect();
        // The order of the groups in the suite does not matter.
        asked.sort_by_cached_key(|(group, protocol)| {
            let mut values = Values::default();
            values.add(&(group, protocol));
            values.digest()
        });
        let mut values = Values::default();
        for (group, protocol) in asked {
            values.add(&(group, protocol, self.contract_digest(service, &group.contract)));
        }
        values.digest()
    }

    fn contract_digest(&self, service: &Service, name: &str) -> Option<Cow<'_, str>> {
        match &service.revision {
            None => self
                .contracts
                .get(name)
                .map(|digest| Cow::Borrowed(digest.as_str())),
            Some(revision) => {
                let contract = revision.contracts.get(name)?;
                Some(Cow::Owned(of_contract(contract, self.ignored)))
            }
        }
    }
}

/// What the files of a project say about a service: [`Part::DEFINITION`]. Nothing is built, and no tool is looked for. `catalogue`: that
/// of the current state, for a service of no revision.
pub(crate) fn of_definition(
    service: &Service,
    catalogue: &Catalogue,
    ignored: &IgnoredFiles,
) -> io::Result<Fingerprint> {
    let mut contracts = Values::default();
    for name in &service.contracts {
        let contract = catalogue.contract_for(service, name);
        contracts.add(&(name, contract.map(|contract| of_contract(contract, ignored))));
    }
    let own = service.revision.as_ref().map(|revision| &revision.toolchains);
    let toolchains = own.unwrap_or(&catalogue.toolchains);
    let mut tools = Values::default();
    for needed in &service.toolchains {
        // Which of equal files it comes from does not matter, nor what is known about its builds.
        let toolchain = toolchains.get(&needed.toolchain).map(|toolchain| Toolchain {
            code_layout: None,
            is_own: false,
            ..toolchain.clone()
        });
        tools.add(&format!("{toolchain:?}"));
    }
    Ok(Fingerprint::default()
        .with(Part::Source, source(service, ignored)?)
        .with(Part::Recipe, recipe(service))
        .with(Part::Tools, tools.digest())
        .with(Part::Run, run(service))
        .with(Part::Contract, contracts.digest()))
}

/// The values of a contract, and the contents of the files that it names.
fn of_contract(contract: &Contract, ignored: &IgnoredFiles) -> String {
    let mut values = Values::default();
    values.add(&contract.values());
    let mut files = Tree::new(ignored);
    for text in values.texts() {
        let path = Path::new(text);
        let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let file = contract.folder.join(path);
        if inside && !text.is_empty() && file.is_file() {
            files.add_file(text, &file);
        }
    }
    // Files that are imported by another file are not named in the contract.
    files.add_all(&contract.folder, "proto");
    format!("{}-{}", values.digest(), files.digest())
}

/// The files of a service, those that it copies, and the shared scripts that they name.
fn source(service: &Service, ignored: &IgnoredFiles) -> io::Result<String> {
    let mut tree = Tree::new(ignored);
    match service.source.files {
        SourceFiles::All => tree.add_folder(&service.source.folder, &[SERVICE_FILE]),
        SourceFiles::NotIgnored => tree.add_sources(source_files(service, &|| false)?),
    }
    for (destination, source) in &service.copies {
        tree.add_file(&destination.to_string_lossy(), source);
    }
    if let Some(services) = &service.shared_scripts {
        let commands = service.build.iter().chain(&service.version_from);
        let commands = commands.map(String::as_str).chain(service.reached.command());
        tree.add_shared(services, commands);
    }
    Ok(tree.digest())
}

/// The variables that a service inherits.
fn environment(service: &Service, variables: &CallerVariables, key: Option<&FingerprintKey>) -> String {
    let passed: BTreeMap<&str, Option<String>> = service
        .pass
        .iter()
        .map(|name| (name.as_str(), key.and_then(|key| key.digest_of_variable(name))))
        .collect();
    let mut values = Values::default();
    values.add(&(&variables.values, passed));
    values.digest()
}

/// This program: its version and its content.
fn prony() -> String {
    let mut values = Values::default();
    values.add(&(env!("CARGO_PKG_VERSION"), own_program()));
    values.digest()
}

fn run(service: &Service) -> String {
    #[derive(Serialize)]
    struct Run<'a> {
        command: Option<&'a str>,
        url: Option<&'a str>,
        env: &'a BTreeMap<String, String>,
        start_timeout_ns: u128,
        protocols: &'a [Protocol],
        workers: WorkerKind,
        pass: &'a [String],
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        tls: &'a [TlsProtocol],
    }
    let mut values = Values::default();
    values.add(&Run {
        command: service.reached.command(),
        url: match &service.reached {
            ServiceOrigin::There(there) => Some(&there.target.url),
            ServiceOrigin::Run(_) | ServiceOrigin::Image(_) => None,
        },
        env: &service.env,
        start_timeout_ns: service.start_timeout.as_nanos(),
        protocols: &service.protocols,
        // Digests of earlier versions had this for unknown ones.
        workers: service.workers.kind.unwrap_or(WorkerKind::Threads),
        pass: &service.pass,
        tls: &service.tls,
    });
    values.digest()
}

#[cfg(test)]
mod tests;
