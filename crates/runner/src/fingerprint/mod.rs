//! Digests of the inputs that decide whether a service passes its check and its load, grouped into named parts. They do not
//! depend on the path of the checkout, on file times or on ignored files.

mod tree;
mod values;

use prony_config::contract::Contract;
use prony_config::{Catalogue, GroupPlan, Plan, Requirement, Service, ServiceOrigin, WorkerKind};
use prony_load::Protocol;
use prony_records::{Fingerprint, Part};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Component, Path};

use tree::Tree;
use values::Values;

pub use tree::IgnoredFiles;

/// Computes the parts ([`Part::LEDGER`]) for the services of a plan.
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

    /// The fingerprint of a service.
    pub fn of(&self, service: &Service) -> Fingerprint {
        Fingerprint::default()
            .with(Part::Source, self.source(service))
            .with(Part::Recipe, recipe(service))
            .with(Part::Tools, self.pinned_tools(service))
            .with(Part::Run, run(service))
            .with(Part::Contract, self.contract(service))
    }

    fn source(&self, service: &Service) -> String {
        let mut tree = Tree::new(self.ignored);
        tree.add_folder(&service.folder, &["service.toml"]);
        for (destination, source) in &service.copies {
            tree.add_file(&destination.to_string_lossy(), source);
        }
        let commands = service.build.iter().chain(&service.version_from);
        let commands = commands.map(String::as_str).chain(service.reached.command());
        let services = service.folder.parent().unwrap_or(&service.folder);
        tree.add_shared(services, commands);
        tree.digest()
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
        let mut asked: Vec<(&GroupPlan, Protocol)> = own
            .map(|entry| (self.plan.group_of(entry), entry.protocol))
            .collect();
        // The order of the groups in the suite does not matter.
        asked.sort_by_cached_key(|(group, protocol)| {
            let mut values = Values::default();
            values.add(&(group, protocol));
            values.digest()
        });
        let mut values = Values::default();
        for (group, protocol) in asked {
            values.add(&(group, protocol, self.contracts.get(group.contract.as_str())));
        }
        values.digest()
    }
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

/// The commands or the image that build a service, with their requirements.
fn recipe(service: &Service) -> String {
    #[derive(Serialize)]
    struct Recipe<'a> {
        build: &'a [String],
        version_from: Option<&'a str>,
        version: Option<&'a str>,
        image: Option<&'a str>,
        containerfile: Option<&'a Path>,
        toolchains: &'a [Requirement],
        env: &'a BTreeMap<String, String>,
    }
    let image = service.reached.image();
    let mut values = Values::default();
    values.add(&Recipe {
        build: &service.build,
        version_from: service.version_from.as_deref(),
        // A version next to `version_from` must equal the built one, so it matters.
        version: service.version_from.as_ref().and(service.written_version()),
        image: image.and_then(|image| image.name.as_deref()),
        containerfile: image.and_then(|image| image.containerfile.as_deref()),
        toolchains: &service.toolchains,
        env: &service.env,
    });
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
    });
    values.digest()
}

#[cfg(test)]
mod tests;
