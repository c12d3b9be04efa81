//! Everything that a project contains: services, toolchains, contracts, suites.

use crate::contract::Contract;
use crate::format::suggestion::suggest;
use crate::format::{Diagnostics, Faults, FileKind};
use crate::project::{PROJECT_FILE, contract_places, folder_name, is_pattern, name_in, service_folders};
use crate::service::KnownNames;
use crate::{
    BackingDefinition, Class, ConfigError, Requirement, Service, Toolchain, backing, service, toolchain,
};
use globset::Glob;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
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
    /// What could not be read. It is an error only for commands that need it.
    pub broken: Vec<BrokenDefinition>,
}

/// A contract, service, backing service or list of toolchains that cannot be used, because its file or one that it needs is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenDefinition {
    pub kind: FileKind,
    /// The name of its folder.
    pub name: String,
    pub error: ConfigError,
}

impl Catalogue {
    /// Reads `services/`, `contracts/` and the toolchains of the project at `root` only.
    pub fn read(root: &Path) -> Result<Self, ConfigError> {
        Self::read_with(root, None)
    }

    /// Reads `services/`, `contracts/` and the toolchains of the project at `root`, and the contracts and toolchains that ship
    /// with prony. The project's own take precedence over shipped ones of the same name. Broken files are left out; see
    /// [`Self::verify`] and [`Self::warning`].
    pub fn read_with(root: &Path, shipped: Option<&Path>) -> Result<Self, ConfigError> {
        let mut catalogue = Self {
            root: root.to_owned(),
            shipped: shipped.map(Path::to_owned),
            services: Vec::new(),
            toolchains: BTreeMap::new(),
            contracts: BTreeMap::new(),
            backing_services: BTreeMap::new(),
            broken: Vec::new(),
        };
        let (mut contract_folders, mut backing_service_folders) = (BTreeMap::new(), BTreeMap::new());
        let named = |folder: PathBuf| (folder_name(&folder), folder);
        for place in shipped.into_iter().chain([root]) {
            let file = place.join("services/toolchains.toml");
            if file.is_file() {
                let read = toolchain::read(&file);
                let read = catalogue.keep(FileKind::Toolchains, "toolchains", read);
                let mut read = read.unwrap_or_default();
                for (name, toolchain) in &mut read {
                    let known = catalogue.toolchains.get(name);
                    toolchain.is_own = Some(place) != shipped
                        && known.is_none_or(|known| !toolchain.has_same_commands(known));
                }
                catalogue.toolchains.extend(read);
            }
            for contracts in contract_places(place) {
                let found = folders_with(&contracts, "contract.toml")?;
                contract_folders.extend(found.into_iter().map(named));
            }
            for (folder, file) in backing::PLACES {
                let found = folders_with(&place.join(folder), file)?;
                backing_service_folders.extend(found.into_iter().map(named));
            }
        }
        for (name, folder) in backing_service_folders {
            let read = catalogue.keep(FileKind::Backing, &name, backing::read(&folder));
            catalogue.backing_services.extend(read.map(|read| (name, read)));
        }
        for (name, folder) in contract_folders {
            let is_shipped = shipped.is_some_and(|place| {
                let copy = place.join("contracts").join(&name);
                folder == copy || has_same_files(&folder, &copy)
            });
            let read = if is_shipped {
                Contract::load_shipped(&folder)
            } else {
                Contract::load_without_schemas(&folder)
            };
            let read = read.and_then(|contract| {
                catalogue.verify_backing_services(&contract)?;
                Ok(contract)
            });
            let read = catalogue.keep(FileKind::Contract, &name, read);
            catalogue.contracts.extend(read.map(|contract| (name, contract)));
        }
        catalogue.read_services();
        Ok(catalogue)
    }

    fn read_services(&mut self) {
        let (folders, error) = service_folders(&self.root);
        self.keep::<()>(FileKind::Project, PROJECT_FILE, error.map_or(Ok(()), Err));
        for folder in folders {
            let read = service::read(&folder, &self.root, &self.known_names());
            let read = self.keep(FileKind::Service, &name_in(&folder, &self.root), read);
            self.services.extend(read.unwrap_or_default());
        }
    }

    /// The names that a service may refer to.
    pub(crate) fn known_names(&self) -> KnownNames<'_> {
        let broken = |kind| self.broken.iter().filter(move |broken| broken.kind == kind);
        let broken_contracts = broken(FileKind::Contract).map(|broken| broken.name.as_str());
        let contracts = self.contracts.keys().map(String::as_str);
        KnownNames {
            contracts: contracts.chain(broken_contracts).collect(),
            toolchains: self.toolchains.keys().map(String::as_str).collect(),
            toolchain_error: broken(FileKind::Toolchains).map(|broken| &broken.error).next(),
        }
    }

    /// The value, or `None` and its error is kept.
    fn keep<T>(&mut self, kind: FileKind, name: &str, read: Result<T, ConfigError>) -> Option<T> {
        read.map_err(|error| {
            let name = name.to_owned();
            self.broken.push(BrokenDefinition { kind, name, error });
        })
        .ok()
    }

    /// The error of a broken definition; `None`: it is not broken.
    fn error_of(&self, kind: FileKind, name: &str) -> Option<&ConfigError> {
        let mut broken = self.broken.iter();
        let found = broken.find(|broken| broken.kind == kind && broken.name == name)?;
        Some(&found.error)
    }

    /// The errors of all broken files together.
    pub fn verify(&self) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        for broken in &self.broken {
            faults.keep::<()>(Err(broken.error.clone()));
        }
        faults.or(())
    }

    /// A warning in one line if files were left out because they are broken.
    pub fn warning(&self) -> Option<String> {
        if self.broken.is_empty() {
            return None;
        }
        let mut files = BTreeSet::new();
        for broken in &self.broken {
            match &broken.error {
                ConfigError::Files(Diagnostics(found)) => {
                    files.extend(found.iter().map(|one| one.path.as_path()));
                }
                ConfigError::Unreadable { path, .. } => {
                    files.insert(path);
                }
                ConfigError::Unknown { .. }
                | ConfigError::UnknownInContract { .. }
                | ConfigError::Empty(_) => {}
            }
        }
        let what = match files.len() {
            0 | 1 => "1 file is broken and was".to_owned(),
            several => format!("{several} files are broken and were"),
        };
        Some(format!("{what} left out: `prony validate` shows why"))
    }

    /// Verifies what a contract says about backing services.
    pub(crate) fn verify_backing_services(&self, contract: &Contract) -> Result<(), ConfigError> {
        for wanted in contract.backing_services() {
            let at =
                |key: &str, reason: &str| Err(contract.backing_service_error(wanted.name(), key, reason));
            if let Some(error) = self.error_of(FileKind::Backing, wanted.uses()) {
                return Err(error.clone());
            }
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
                    &format!("`{}` has no setting `{unknown}`: {allowed}", backing_service.name),
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
                        let (message, help) = reason.split_once(": ").unwrap_or((&reason, "give a number"));
                        return Err(contract.connections_error(during.name(), message, help));
                    }
                }
            }
            let asks = |name: &str| name == wanted.name();
            let is_asked = contract.rows().iter().any(|rows| asks(rows.backing_service()))
                || contract.after().iter().any(|after| asks(after.backing_service()));
            if backing_service.query_url.is_none() && is_asked {
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
    /// named. Broken services are skipped, but naming one is an error, and so is a pattern that matches no others.
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
                .map_err(|error| unknown(format!("it is not a pattern: {}", error.kind())))
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
        if !is_pattern(name) || found.is_empty() {
            self.reject_broken(FileKind::Service, |broken| names.is_match(broken))?;
        }
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

    /// The variant of a service; `None` if it is not here.
    pub fn variant(&self, service: &str, variant: &str) -> Option<&Service> {
        let mut services = self.services.iter();
        services.find(|known| known.name == service && known.variant == variant)
    }

    /// The services that match any of the patterns. The errors of all patterns are reported together.
    pub fn select_all<'a>(
        &self,
        patterns: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<&Service>, ConfigError> {
        let mut faults = Faults::default();
        let mut services: Vec<&Service> = Vec::new();
        for pattern in patterns {
            for service in faults.keep(self.select(pattern)).unwrap_or_default() {
                if !services.iter().any(|known| std::ptr::eq(*known, service)) {
                    services.push(service);
                }
            }
        }
        faults.or(services)
    }

    /// The errors of all broken definitions of a kind whose names match.
    fn reject_broken(&self, kind: FileKind, matches: impl Fn(&str) -> bool) -> Result<(), ConfigError> {
        let mut faults = Faults::default();
        for broken in &self.broken {
            if broken.kind == kind && matches(&broken.name) {
                faults.keep::<()>(Err(broken.error.clone()));
            }
        }
        faults.or(())
    }

    /// A contract. If it is broken, its errors are returned.
    pub fn contract(&self, name: &str) -> Result<&Contract, ConfigError> {
        if let Some(error) = self.error_of(FileKind::Contract, name) {
            return Err(error.clone());
        }
        let contract = self.contracts.get(name).ok_or_else(|| ConfigError::Unknown {
            kind: "contract",
            name: name.to_owned(),
            allowed: suggest(self.contracts.keys().map(String::as_str), name),
        })?;
        contract.verify_schemas()?;
        Ok(contract)
    }

    /// The contract of this name that a service is checked and loaded with: that of its revision.
    pub fn contract_for<'a>(&'a self, service: &'a Service, name: &str) -> Option<&'a Contract> {
        let contracts = service
            .revision
            .as_ref()
            .map_or(&self.contracts, |revision| &revision.contracts);
        contracts.get(name)
    }

    /// Whether there is a contract of this name, even a broken one.
    pub fn has_contract(&self, name: &str) -> bool {
        self.contracts.contains_key(name) || self.error_of(FileKind::Contract, name).is_some()
    }

    /// The contracts that a service implements. The errors of all broken ones are reported together.
    pub fn contracts_of(&self, service: &Service) -> Result<Vec<&Contract>, ConfigError> {
        let mut faults = Faults::default();
        let mut contracts = Vec::new();
        for name in &service.contracts {
            contracts.extend(faults.keep(self.contract(name)));
        }
        faults.or(contracts)
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

/// Both folders contain the same files and nothing else.
fn has_same_files(folder: &Path, other: &Path) -> bool {
    let names = |folder: &Path| -> Option<BTreeSet<OsString>> {
        let entries = std::fs::read_dir(folder).ok()?;
        entries.map(|entry| Some(entry.ok()?.file_name())).collect()
    };
    let same = |name: OsString| {
        let (one, two) = (folder.join(&name), other.join(&name));
        if one.is_dir() {
            return has_same_files(&one, &two);
        }
        std::fs::read(one).is_ok_and(|one| std::fs::read(two).is_ok_and(|two| one == two))
    };
    let Some(found) = names(folder) else { return false };
    names(other).as_ref() == Some(&found) && found.into_iter().all(same)
}
