//! Everything that a project contains: services, toolchains, contracts, suites.

use crate::contract::Contract;
use crate::error::known;
use crate::{Class, Companion, PlanError, Requirement, Service, Toolchain, backing, service, toolchain};
use globset::Glob;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Everything that a project contains.
#[derive(Debug)]
pub struct Catalogue {
    /// The root folder of the project.
    pub root: PathBuf,
    /// The folder that ships with prony, with the same layout. The project's own files take precedence.
    pub shipped: Option<PathBuf>,
    /// Every service in every variant, by name, then in the order of `service.toml`.
    pub services: Vec<Service>,
    pub toolchains: BTreeMap<String, Toolchain>,
    pub contracts: BTreeMap<String, Contract>,
    /// The backing services by name.
    pub companions: BTreeMap<String, Companion>,
}

impl Catalogue {
    /// Reads `services/`, `contracts/` and the toolchains of the project at `root` only.
    pub fn read(root: &Path) -> Result<Self, PlanError> {
        Self::read_with(root, None)
    }

    /// Reads `services/`, `contracts/` and the toolchains of the project at `root`, and the contracts and toolchains that ship
    /// with prony. The project's own take precedence over shipped ones of the same name.
    pub fn read_with(root: &Path, shipped: Option<&Path>) -> Result<Self, PlanError> {
        let mut toolchains = BTreeMap::new();
        let (mut contract_folders, mut companion_folders) = (BTreeMap::new(), BTreeMap::new());
        let named = |folder: PathBuf| Some((folder.file_name()?.to_owned(), folder));
        for place in shipped.into_iter().chain([root]) {
            let file = place.join("services/toolchains.toml");
            if file.is_file() {
                toolchains.extend(toolchain::read(&file)?);
            }
            let found = folders_with(&place.join("contracts"), "contract.toml")?;
            contract_folders.extend(found.into_iter().filter_map(named));
            let found = folders_with(&place.join("companions"), "companion.toml")?;
            companion_folders.extend(found.into_iter().filter_map(named));
        }
        let mut contracts = BTreeMap::new();
        for folder in contract_folders.values() {
            let contract = Contract::load(folder)?;
            contracts.insert(contract.name.clone(), contract);
        }
        let mut companions = BTreeMap::new();
        for folder in companion_folders.values() {
            let companion = backing::read(folder)?;
            companions.insert(companion.name.clone(), companion);
        }
        let mut services = Vec::new();
        for folder in folders_with(&root.join("services"), "service.toml")? {
            services.extend(service::read(&folder)?);
        }
        let catalogue = Self {
            root: root.to_owned(),
            shipped: shipped.map(Path::to_owned),
            services,
            toolchains,
            contracts,
            companions,
        };
        catalogue
            .contracts
            .values()
            .try_for_each(|contract| catalogue.verify_companions(contract))?;
        catalogue
            .services
            .iter()
            .try_for_each(|service| catalogue.verify(service))?;
        Ok(catalogue)
    }

    /// Verifies that everything that a service refers to exists.
    fn verify(&self, service: &Service) -> Result<(), PlanError> {
        let place = |message| PlanError::Invalid {
            path: service.folder.join("service.toml"),
            line: 1,
            message,
        };
        for contract in &service.contracts {
            if !self.contracts.contains_key(contract) {
                let allowed = known(self.contracts.keys().map(String::as_str), contract);
                return Err(place(format!(
                    "`contracts` of variant `{}` names `{contract}`: {allowed}",
                    service.variant
                )));
            }
        }
        for requirement in &service.toolchains {
            if !self.toolchains.contains_key(&requirement.toolchain) {
                let allowed = known(self.toolchains.keys().map(String::as_str), &requirement.toolchain);
                let name = &requirement.toolchain;
                return Err(place(format!(
                    "`toolchains` of variant `{}` names `{name}`: {allowed}",
                    service.variant
                )));
            }
        }
        Ok(())
    }

    /// Verifies what a contract says about backing services.
    fn verify_companions(&self, contract: &Contract) -> Result<(), PlanError> {
        for wanted in contract.companions() {
            let at = |key: &str, reason: &str| {
                Err(PlanError::from(contract.companion_error(
                    wanted.name(),
                    key,
                    reason,
                )))
            };
            let Some(companion) = self.companions.get(wanted.uses()) else {
                let allowed = known(self.companions.keys().map(String::as_str), wanted.uses());
                return at(
                    "use",
                    &format!("no backing service `{}`: {allowed}", wanted.uses()),
                );
            };
            if companion.seed.is_none() && !wanted.seed().is_empty() {
                return at(
                    "seed",
                    &format!("backing service `{}` takes no seed", companion.name),
                );
            }
            if let Err(unknown) = companion.settings_with(wanted.settings()) {
                let allowed = known(companion.settings.keys().map(String::as_str), unknown);
                return at(
                    unknown,
                    &format!("`{}` has no such setting: {allowed}", companion.name),
                );
            }
            for during in contract.during() {
                if during.companion() == wanted.name() {
                    let bound = companion.number(during.connections());
                    let bound = bound.and_then(|_| match &companion.watch {
                        Some(_) => Ok(()),
                        None => Err(format!(
                            "`{}` has no `watch`: its connections cannot be counted",
                            companion.name
                        )),
                    });
                    if let Err(reason) = bound {
                        return at("use", &format!("during `{}`: {reason}", during.name()));
                    }
                }
            }
            let asks = |name: &str| name == wanted.name();
            let is_asked = contract.rows().iter().any(|rows| asks(rows.companion()))
                || contract.after().iter().any(|after| asks(after.companion()));
            if companion.asked_at.is_none() && is_asked {
                return at(
                    "use",
                    &format!("backing service `{}` cannot be queried", companion.name),
                );
            }
        }
        Ok(())
    }

    /// Toolchains that the backing services of a contract need.
    pub fn toolchains_of_companions<'a>(
        &'a self,
        contract: &'a Contract,
    ) -> impl Iterator<Item = &'a Requirement> {
        let companions = contract.companions().iter();
        let companions = companions.filter_map(|wanted| self.companions.get(wanted.uses()));
        companions.flat_map(|companion| &companion.toolchains)
    }

    /// The services that match a pattern: `go-gorilla` is its default variant, `go-gorilla/era` that variant, `java-*` the
    /// default variants of all matching services, `node-*/*` all variants. A wildcard never matches a reference service: it must be
    /// named.
    pub fn select(&self, pattern: &str) -> Result<Vec<&Service>, PlanError> {
        let (name, variant) = pattern
            .split_once('/')
            .map_or((pattern, None), |(name, variant)| (name, Some(variant)));
        let unknown = |allowed: String| PlanError::Unknown {
            kind: "service",
            name: pattern.to_owned(),
            allowed,
        };
        let glob = |text: &str| {
            Glob::new(text)
                .map(|glob| glob.compile_matcher())
                .map_err(|error| unknown(format!("it is not a pattern: {error}")))
        };
        let names = glob(name)?;
        let variants = variant.map(glob).transpose()?;
        let found: Vec<&Service> = self
            .services
            .iter()
            .filter(|service| names.is_match(&service.name))
            .filter(|service| service.class != Class::Reference || service.name == name)
            .filter(|service| {
                variants
                    .as_ref()
                    .map_or(service.default, |glob| glob.is_match(&service.variant))
            })
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let of_name: Vec<&Service> = self
            .services
            .iter()
            .filter(|service| names.is_match(&service.name))
            .collect();
        if of_name.is_empty() {
            return Err(unknown(known(
                self.services.iter().map(|service| service.name.as_str()),
                name,
            )));
        }
        let variants = of_name.iter().map(|service| service.variant.as_str());
        Err(unknown(format!(
            "variants: {}",
            known(variants, variant.unwrap_or_default())
        )))
    }

    pub fn contract(&self, name: &str) -> Result<&Contract, PlanError> {
        self.contracts.get(name).ok_or_else(|| PlanError::Unknown {
            kind: "contract",
            name: name.to_owned(),
            allowed: known(self.contracts.keys().map(String::as_str), name),
        })
    }

    /// The file of a suite: a path to a `.toml` file, or a name in `suites/`.
    pub fn suite_file(&self, name: &str) -> Result<PathBuf, PlanError> {
        let direct = PathBuf::from(name);
        if direct.extension().is_some_and(|extension| extension == "toml") {
            return if direct.is_file() {
                Ok(direct)
            } else {
                Err(PlanError::Unreadable {
                    path: direct,
                    reason: "no such file".into(),
                })
            };
        }
        let suites = self.suites();
        suites.get(name).cloned().ok_or_else(|| PlanError::Unknown {
            kind: "suite",
            name: name.to_owned(),
            allowed: known(suites.keys().map(String::as_str), name),
        })
    }

    /// The suites by name. The project's own take precedence over shipped ones.
    pub fn suites(&self) -> BTreeMap<String, PathBuf> {
        let places = self.shipped.as_deref().into_iter().chain([self.root.as_path()]);
        places.flat_map(suites_in).collect()
    }
}

/// The suites in `suites/` of a folder.
fn suites_in(root: &Path) -> BTreeMap<String, PathBuf> {
    let Ok(entries) = std::fs::read_dir(root.join("suites")) else {
        return BTreeMap::new();
    };
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path.clone())))
        .collect()
}

/// The folders in `parent` that contain `file`, by name; empty if `parent` does not exist.
fn folders_with(parent: &Path, file: &str) -> Result<Vec<PathBuf>, PlanError> {
    let unreadable = |error: std::io::Error| PlanError::Unreadable {
        path: parent.to_owned(),
        reason: error.to_string(),
    };
    let mut folders = Vec::new();
    if !parent.exists() {
        return Ok(folders);
    }
    for entry in std::fs::read_dir(parent).map_err(unreadable)? {
        let folder = entry.map_err(unreadable)?.path();
        if folder.join(file).is_file() {
            folders.push(folder);
        }
    }
    folders.sort();
    Ok(folders)
}
