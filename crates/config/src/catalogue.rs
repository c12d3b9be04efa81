//! Everything that a project contains: services, toolchains, contracts, suites.

use crate::contract::Contract;
use crate::format::SourceFile;
use crate::format::suggestion::suggest;
use crate::{
    BackingDefinition, Class, ConfigError, Requirement, Service, Toolchain, backing, service, toolchain,
};
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
    pub backing_services: BTreeMap<String, BackingDefinition>,
}

impl Catalogue {
    /// Reads `services/`, `contracts/` and the toolchains of the project at `root` only.
    pub fn read(root: &Path) -> Result<Self, ConfigError> {
        Self::read_with(root, None)
    }

    /// Reads `services/`, `contracts/` and the toolchains of the project at `root`, and the contracts and toolchains that ship
    /// with prony. The project's own take precedence over shipped ones of the same name.
    pub fn read_with(root: &Path, shipped: Option<&Path>) -> Result<Self, ConfigError> {
        let mut toolchains = BTreeMap::new();
        let (mut contract_folders, mut backing_service_folders) = (BTreeMap::new(), BTreeMap::new());
        let named = |folder: PathBuf| Some((folder.file_name()?.to_owned(), folder));
        for place in shipped.into_iter().chain([root]) {
            let file = place.join("services/toolchains.toml");
            if file.is_file() {
                toolchains.extend(toolchain::read(&file)?);
            }
            let found = folders_with(&place.join("contracts"), "contract.toml")?;
            contract_folders.extend(found.into_iter().filter_map(named));
            for (folder, file) in backing::PLACES {
                let found = folders_with(&place.join(folder), file)?;
                backing_service_folders.extend(found.into_iter().filter_map(named));
            }
        }
        let mut contracts = BTreeMap::new();
        for folder in contract_folders.values() {
            let contract = Contract::load(folder)?;
            contracts.insert(contract.name.clone(), contract);
        }
        let mut backing_services = BTreeMap::new();
        for folder in backing_service_folders.values() {
            let backing_service = backing::read(folder)?;
            backing_services.insert(backing_service.name.clone(), backing_service);
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
            backing_services,
        };
        catalogue
            .contracts
            .values()
            .try_for_each(|contract| catalogue.verify_backing_services(contract))?;
        catalogue
            .services
            .iter()
            .try_for_each(|service| catalogue.verify(service))?;
        Ok(catalogue)
    }

    /// Verifies that everything that a service refers to exists.
    fn verify(&self, service: &Service) -> Result<(), ConfigError> {
        let file = SourceFile::read(&service.folder.join("service.toml"))?;
        let place = |message: String| file.invalid(0..0, message);
        for contract in &service.contracts {
            if !self.contracts.contains_key(contract) {
                let allowed = suggest(self.contracts.keys().map(String::as_str), contract);
                return Err(place(format!(
                    "`contracts` of variant `{}` names `{contract}`: {allowed}",
                    service.variant
                )));
            }
        }
        for requirement in &service.toolchains {
            if !self.toolchains.contains_key(&requirement.toolchain) {
                let allowed = suggest(self.toolchains.keys().map(String::as_str), &requirement.toolchain);
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
    fn verify_backing_services(&self, contract: &Contract) -> Result<(), ConfigError> {
        for wanted in contract.backing_services() {
            let at = |key: &str, reason: &str| {
                Err(ConfigError::from(contract.backing_service_error(
                    wanted.name(),
                    key,
                    reason,
                )))
            };
            let Some(backing_service) = self.backing_services.get(wanted.uses()) else {
                let allowed = suggest(self.backing_services.keys().map(String::as_str), wanted.uses());
                return at(
                    "use",
                    &format!("no backing service `{}`: {allowed}", wanted.uses()),
                );
            };
            if backing_service.seed.is_none() && !wanted.seed().is_empty() {
                return at(
                    "seed",
                    &format!("backing service `{}` takes no seed", backing_service.name),
                );
            }
            if let Err(unknown) = backing_service.settings_with(wanted.settings()) {
                let allowed = suggest(backing_service.settings.keys().map(String::as_str), unknown);
                return at(
                    unknown,
                    &format!("`{}` has no such setting: {allowed}", backing_service.name),
                );
            }
            for during in contract.during() {
                if during.backing_service() == wanted.name() {
                    let bound = backing_service.number(during.connections());
                    let bound = bound.and_then(|_| match &backing_service.watch {
                        Some(_) => Ok(()),
                        None => Err(format!(
                            "`{}` has no `watch`: its connections cannot be counted",
                            backing_service.name
                        )),
                    });
                    if let Err(reason) = bound {
                        return at("use", &format!("during `{}`: {reason}", during.name()));
                    }
                }
            }
            let asks = |name: &str| name == wanted.name();
            let is_asked = contract.rows().iter().any(|rows| asks(rows.backing_service()))
                || contract.after().iter().any(|after| asks(after.backing_service()));
            if backing_service.asked_at.is_none() && is_asked {
                return at(
                    "use",
                    &format!("backing service `{}` cannot be queried", backing_service.name),
                );
            }
        }
        Ok(())
    }

    /// Toolchains that the backing services of a contract need.
    pub fn toolchains_of_backing_services<'a>(
        &'a self,
        contract: &'a Contract,
    ) -> impl Iterator<Item = &'a Requirement> {
        let backing_services = contract.backing_services().iter();
        let backing_services = backing_services.filter_map(|wanted| self.backing_services.get(wanted.uses()));
        backing_services.flat_map(|backing_service| &backing_service.toolchains)
    }

    /// The services that match a pattern: `go-gorilla` is its default variant, `go-gorilla/pinned` that variant, also by an earlier name, `java-*` the
    /// default variants of all matching services, `node-*/*` all variants. A wildcard never matches a reference service: it must be
    /// named.
    pub fn select(&self, pattern: &str) -> Result<Vec<&Service>, ConfigError> {
        let (name, variant) = pattern
            .split_once('/')
            .map_or((pattern, None), |(name, variant)| (name, Some(variant)));
        let unknown = |allowed: String| ConfigError::Unknown {
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
                variants.as_ref().map_or(service.default, |glob| {
                    let names = std::iter::once(&service.variant).chain(&service.formerly);
                    names.into_iter().any(|name| glob.is_match(name))
                })
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
            return Err(unknown(suggest(
                self.services.iter().map(|service| service.name.as_str()),
                name,
            )));
        }
        let variants = of_name.iter().map(|service| service.variant.as_str());
        Err(unknown(format!(
            "variants: {}",
            suggest(variants, variant.unwrap_or_default())
        )))
    }

    pub fn contract(&self, name: &str) -> Result<&Contract, ConfigError> {
        self.contracts.get(name).ok_or_else(|| ConfigError::Unknown {
            kind: "contract",
            name: name.to_owned(),
            allowed: suggest(self.contracts.keys().map(String::as_str), name),
        })
    }

    /// The file of a suite: a path to a `.toml` file, or a name in `suites/`.
    pub fn suite_file(&self, name: &str) -> Result<PathBuf, ConfigError> {
        let direct = PathBuf::from(name);
        if direct.extension().is_some_and(|extension| extension == "toml") {
            return if direct.is_file() {
                Ok(direct)
            } else {
                Err(ConfigError::Unreadable {
                    path: direct,
                    reason: "no such file".into(),
                })
            };
        }
        let suites = self.suites();
        suites.get(name).cloned().ok_or_else(|| ConfigError::Unknown {
            kind: "suite",
            name: name.to_owned(),
            allowed: suggest(suites.keys().map(String::as_str), name),
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
fn folders_with(parent: &Path, file: &str) -> Result<Vec<PathBuf>, ConfigError> {
    let unreadable = |error: std::io::Error| ConfigError::Unreadable {
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
