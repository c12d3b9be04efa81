//! A `service.toml`, resolved to one [`Service`] per variant.

mod origin;
mod revision;
mod source;
mod toml;
mod trust;
mod warm_up;

pub use self::origin::{ExternalService, Image, ServiceOrigin, UsageSource};
pub use self::revision::Revision;
pub use self::source::{PathPatterns, Source, SourceFiles};
pub(crate) use self::toml::ServiceToml;
pub use self::toml::WorkerKind;
pub(crate) use self::warm_up::WITHOUT_COMPILER;

use self::origin::ServiceOriginToml;
use self::toml::{Keys, VariantToml};
use crate::ConfigError;
use crate::format::suggestion::suggest;
use crate::format::{Faults, FileKind, SourceFile, Spanned};
use crate::project::{SERVICE_FILE, folder_name, services_around};
use crate::toolchain::{Requirement, requirements};
use crate::{Channel, TlsProtocol};
use prony_load::Protocol;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A variant of a service, with everything that its build and run need.
#[derive(Debug, Clone)]
pub struct Service {
    /// Name of the service: that of its folder, or the one in its file.
    pub name: String,
    pub variant: String,
    /// Whether this is the service's default variant.
    pub default: bool,
    pub title: String,
    pub language: String,
    pub framework: String,
    /// Version of the framework: the declared one, or [`AS_INSTALLED`].
    pub version: String,
    /// Shell command that prints the version, in the build folder after the build; it must match the declared one.
    pub version_from: Option<String>,
    /// The kind of software.
    pub class: Class,
    /// Whether this is the version of the published measurement that is reproduced.
    pub pinned: bool,
    /// Earlier names of the variant, under which stored runs and commands may name it.
    pub formerly: Vec<String>,
    /// Remarks on the variant.
    pub note: Option<String>,
    /// Contracts that it implements.
    pub contracts: Vec<String>,
    pub protocols: Vec<Protocol>,
    /// Protocols that it offers over TLS; empty: it has no TLS port.
    pub tls: Vec<TlsProtocol>,
    /// Published measurements that include it.
    pub studies: Vec<String>,
    /// Toolchains that the machine must have.
    pub toolchains: Vec<Requirement>,
    /// The earlier revision of the project that it belongs to; `None`: that of the catalogue.
    pub revision: Option<Arc<Revision>>,
    pub workers: Workers,
    /// Shell commands that build it, in the build folder.
    pub build: Vec<String>,
    /// How it runs: as a command, as a container image, or externally.
    pub reached: ServiceOrigin,
    /// Added to the environment of build and run.
    pub env: BTreeMap<String, String>,
    /// Variables of the caller's environment that build and run inherit in addition to the usual ones.
    pub pass: Vec<String>,
    /// Beginnings of the names of its compiler threads, in addition to the known ones.
    pub compiler_threads: Vec<String>,
    /// The longest time until it is ready.
    pub start_timeout: Duration,
    /// Files from elsewhere in the checkout that are copied into the build folder: source by destination.
    pub copies: BTreeMap<PathBuf, PathBuf>,
    /// The framework's documentation of the settings in use.
    pub guide: Option<String>,
    /// The root of the project.
    pub project: PathBuf,
    /// The folder with `service.toml`.
    pub folder: PathBuf,
    /// The files that it is built from.
    pub source: Source,
    /// The folder of scripts that it shares with other services: that of all services. `None` for a service elsewhere.
    pub shared_scripts: Option<PathBuf>,
    /// A hint for the user if the build cannot download what it needs.
    pub unavailable_hint: Option<String>,
}

impl Service {
    /// Whether it may get requests that change data: prony starts it, or its file says so.
    pub const fn allows_writes(&self) -> bool {
        match &self.reached {
            ServiceOrigin::There(external) => external.allow_writes,
            ServiceOrigin::Run(_) | ServiceOrigin::Image(_) => true,
        }
    }
}

/// The kind of software of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-former-values" = { "full": "fullstack" }))]
pub enum Class {
    /// A bare server library or server.
    Platform,
    /// A small framework.
    #[default]
    Micro,
    /// A framework with batteries included.
    Fullstack,
    /// Tuned for the benchmark.
    Stripped,
    /// Shows how to implement a contract. It is ranked only if it is named explicitly.
    Reference,
}

impl Class {
    /// The name of the class in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Micro => "micro",
            Self::Fullstack => "fullstack",
            Self::Stripped => "stripped",
            Self::Reference => "reference",
        }
    }
}

/// The version of a service whose file declares none.
pub const AS_INSTALLED: &str = "as installed";
/// The only variant of a service without `[[variant]]`.
const DEFAULT_VARIANT: &str = "default";

const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The same for an external service.
const EXTERNAL_START_TIMEOUT: Duration = Duration::from_secs(3);

/// The names that a service may refer to.
pub(crate) struct KnownNames<'a> {
    pub(crate) contracts: Vec<&'a str>,
    pub(crate) toolchains: Vec<&'a str>,
    /// Why some toolchains may be missing.
    pub(crate) toolchain_error: Option<&'a ConfigError>,
}

/// Reads `<folder>/service.toml` and resolves every variant; the first one is the default. `root`: that of the project.
pub(crate) fn read(folder: &Path, root: &Path, known: &KnownNames<'_>) -> Result<Vec<Service>, ConfigError> {
    of(
        &SourceFile::read(&folder.join(SERVICE_FILE))?,
        (folder, root),
        known,
    )
}

/// The same, from the text of its `service.toml`.
pub(crate) fn of(
    source: &SourceFile,
    (folder, root): (&Path, &Path),
    known: &KnownNames<'_>,
) -> Result<Vec<Service>, ConfigError> {
    let ServiceToml(base) = source.parse(FileKind::Service)?;
    let mut faults = Faults::default();
    let name = faults
        .keep(name_of(source, &base, (folder, root)))
        .unwrap_or_default();
    let single = [VariantToml(Keys::default())];
    let variants = if base.variants.is_empty() {
        &single[..]
    } else {
        &base.variants[..]
    };
    let mut services: Vec<Service> = Vec::new();
    let mut labels: Vec<&str> = Vec::new();
    for VariantToml(own) in variants {
        let label = own.name.as_ref().map_or(DEFAULT_VARIANT, |name| name.get_ref());
        if let Some(again) = own.name.as_ref().filter(|_| labels.contains(&label)) {
            let message = format!("variant `{label}` is defined twice");
            faults.keep::<()>(Err(source.invalid(again.span(), message)));
        }
        let variant = Variant {
            source,
            base: &base,
            own,
            known,
            folder,
            root,
        };
        let service = variant.resolve(&name, label, labels.is_empty());
        services.extend(faults.keep(service));
        labels.push(label);
    }
    faults.or(services)
}

/// The name of a service: that of its folder, or the one in its file if the folder is the root of a repository, which has any name.
fn name_of(source: &SourceFile, keys: &Keys, (folder, root): (&Path, &Path)) -> Result<String, ConfigError> {
    let name = folder_name(folder);
    match &keys.name {
        Some(written) if folder == root => plain_name(source, written),
        None if folder == root => Err(source.invalid_with(
            0..0,
            "the file has no `name`",
            "give one, such as `name = \"shop\"`: the folder of a repository has any name",
        )),
        Some(written) if *written.get_ref() != name => Err(wrong_name(source, written, &name)),
        _ => Ok(name),
    }
}

/// A name that can be part of a path and of a command line.
fn plain_name(source: &SourceFile, written: &Spanned<String>) -> Result<String, ConfigError> {
    let name = written.get_ref();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && name.chars().all(plain) {
        return Ok(name.clone());
    }
    let message = format!("`name` is \"{name}\"");
    Err(source.invalid_with(written.span(), message, "use letters, digits, `-`, `_` and `.`"))
}

/// The error for a `name` that is not the name of the folder.
pub(crate) fn wrong_name(source: &SourceFile, written: &Spanned<String>, folder: &str) -> ConfigError {
    let message = format!(
        "`name` is \"{}\", and the folder is `{folder}`",
        written.get_ref()
    );
    source.invalid_with(
        written.span(),
        message,
        "remove `name`: it is the name of the folder",
    )
}

/// A variant, and the file that contains it.
struct Variant<'a> {
    source: &'a SourceFile,
    base: &'a Keys,
    own: &'a Keys,
    known: &'a KnownNames<'a>,
    folder: &'a Path,
    /// That of the project.
    root: &'a Path,
}

impl Variant<'_> {
    fn resolve(&self, name: &str, label: &str, default: bool) -> Result<Service, ConfigError> {
        let (base, own) = (self.base, self.own);
        let mut faults = Faults::default();
        let services = services_around(self.folder, self.root);
        let files = faults.keep(Source::resolve(
            self.source,
            (own, base),
            (self.folder, services.is_some()),
        ));
        let sources = files.as_ref().map_or(self.folder, |files| &files.folder);
        let reached = faults.keep(self.reached(sources));
        let contracts = faults.keep(self.contracts());
        let toolchains = faults.keep(self.requirements());
        let copies = faults.keep(self.copies());
        let pass = faults.keep(self.passed());
        let (Some(files), Some(reached), Some(contracts), Some(toolchains), Some(copies), Some(pass)) =
            (files, reached, contracts, toolchains, copies, pass)
        else {
            return Err(faults.into_error());
        };
        let tls = self.tls(&reached)?;
        let mut env = base.env.clone().unwrap_or_default();
        env.extend(own.env.clone().unwrap_or_default());
        Ok(Service {
            name: name.to_owned(),
            variant: label.to_owned(),
            default,
            title: base.title.clone().unwrap_or_else(|| name.to_owned()),
            language: base.language.clone().unwrap_or_default(),
            framework: base.framework.clone().unwrap_or_default(),
            version: self
                .find(|keys| keys.version.clone())
                .unwrap_or_else(|| AS_INSTALLED.to_owned()),
            version_from: self.find(|keys| keys.version_from.clone()),
            class: self.find(|keys| keys.class).unwrap_or_default(),
            pinned: own.pinned.unwrap_or(false),
            formerly: own.formerly.clone().unwrap_or_default(),
            note: self.find(|keys| keys.note.clone()),
            contracts,
            protocols: self
                .find(|keys| keys.protocols.clone())
                .unwrap_or_else(|| vec![Protocol::Http1]),
            tls,
            studies: base.study.clone().unwrap_or_default(),
            toolchains,
            revision: None,
            workers: self.workers(&reached),
            build: match reached {
                ServiceOrigin::Run(_) => self.find(|keys| keys.build.clone()).unwrap_or_default(),
                ServiceOrigin::Image(_) | ServiceOrigin::There(_) => Vec::new(),
            },
            env,
            pass,
            compiler_threads: self
                .find(|keys| keys.compiler_threads.clone())
                .unwrap_or_default(),
            start_timeout: match (self.find(|keys| keys.start_timeout), &reached) {
                (Some(written), _) => written.0,
                (None, ServiceOrigin::There(_)) => EXTERNAL_START_TIMEOUT,
                (None, _) => START_TIMEOUT,
            },
            reached,
            copies,
            guide: self.find(|keys| keys.guide.clone()),
            project: self.project().to_owned(),
            folder: self.folder.to_owned(),
            source: files,
            shared_scripts: services.map(Path::to_owned),
            unavailable_hint: self.find(|keys| keys.unavailable_hint.clone()),
        })
    }

    /// The root of the project. A file outside of it is read as if it were in one.
    fn project(&self) -> &Path {
        let around = services_around(self.folder, self.root).and_then(Path::parent);
        around.unwrap_or(self.root)
    }

    /// The variant's value, or else the file's.
    fn find<T>(&self, get: impl Fn(&Keys) -> Option<T>) -> Option<T> {
        get(self.own).or_else(|| get(self.base))
    }

    /// An error for a key that neither the variant nor the file has.
    fn missing(&self, keys: &str, help: &str) -> ConfigError {
        match &self.own.name {
            Some(name) => {
                let message = format!("variant `{}` has no {keys}", name.get_ref());
                let help = format!("{help}, in the variant or above the variants");
                self.source.invalid_with(name.span(), message, help)
            }
            None => self
                .source
                .invalid_with(0..0, format!("the file has no {keys}"), help),
        }
    }

    /// The protocols over TLS. A service that runs already has its own certificate.
    fn tls(&self, reached: &ServiceOrigin) -> Result<Vec<TlsProtocol>, ConfigError> {
        match (self.find(|keys| keys.tls.clone()), reached) {
            (None, _) => Ok(Vec::new()),
            (Some(written), ServiceOrigin::There(_)) => Err(self.source.invalid_with(
                written.span(),
                "`tls` is for a service that prony starts with a certificate",
                "write the `url` as https://…",
            )),
            (Some(written), _) => Ok(written.into_inner()),
        }
    }

    /// The contracts. Each must exist.
    fn contracts(&self) -> Result<Vec<String>, ConfigError> {
        let written = self.find(|keys| keys.contracts.clone());
        let written = written.ok_or_else(|| {
            let help = "name those that the service implements, such as `contracts = [\"hello\"]`";
            self.missing("`contracts`", help)
        })?;
        let mut faults = Faults::default();
        for contract in &written {
            let name = contract.get_ref().as_str();
            if !self.known.contracts.contains(&name) {
                let help = suggest(self.known.contracts.iter().copied(), name);
                let message = format!("no contract `{name}`");
                faults.keep::<()>(Err(self.source.invalid_with(contract.span(), message, help)));
            }
        }
        faults.or(written.into_iter().map(Spanned::into_inner).collect())
    }

    /// The toolchains. Each must exist.
    fn requirements(&self) -> Result<Vec<Requirement>, ConfigError> {
        let written = self.find(|keys| keys.toolchains.clone()).unwrap_or_default();
        let mut faults = Faults::default();
        let requirements = faults
            .keep(requirements(self.source, &written))
            .unwrap_or_default();
        for (requirement, written) in requirements.iter().zip(&written) {
            let name = requirement.toolchain.as_str();
            if self.known.toolchains.contains(&name) {
                continue;
            }
            let error = self.known.toolchain_error.cloned().unwrap_or_else(|| {
                let help = suggest(self.known.toolchains.iter().copied(), name);
                self.source
                    .invalid_with(written.span(), format!("no toolchain `{name}`"), help)
            });
            faults.keep::<()>(Err(error));
        }
        faults.or(requirements)
    }

    /// The variables that it inherits.
    fn passed(&self) -> Result<Vec<String>, ConfigError> {
        let written = self.find(|keys| keys.pass.clone()).unwrap_or_default();
        let is_name = |name: &str| {
            !name.is_empty()
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && name
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        let mut faults = Faults::default();
        for name in written.iter().filter(|name| !is_name(name.get_ref())) {
            let message = format!("`{}` is not the name of a variable", name.get_ref());
            let help = "give names alone, such as `pass = [\"MY_TOKEN\"]`; set values in `[env]`";
            faults.keep::<()>(Err(self.source.invalid_with(name.span(), message, help)));
        }
        faults.or(written.into_iter().map(Spanned::into_inner).collect())
    }

    /// How it runs, according to the variant or else the file. `sources`: the folder of its source.
    fn reached(&self, sources: &Path) -> Result<ServiceOrigin, ConfigError> {
        for keys in [self.own, self.base] {
            let folders = (self.folder, sources);
            let Some(reached) = ServiceOriginToml::of(keys).resolve(self.source, folders)? else {
                continue;
            };
            // Build steps of other variants may be above the variants, too.
            let builds = self.own.build.is_some() || keys.build.is_some();
            let place = self.own.name.as_ref().map_or(0..0, Spanned::span);
            let misplaced = |reason: &str| {
                Err(self
                    .source
                    .invalid_with(place, format!("`build` {reason}"), "remove `build`"))
            };
            return match reached {
                ServiceOrigin::There(_) if self.find(|keys| keys.build.clone()).is_some() => {
                    misplaced("of a service with a `url`, which runs already")
                }
                ServiceOrigin::Image(_) if builds => {
                    misplaced("of a container image: a `containerfile` builds it")
                }
                reached => Ok(reached),
            };
        }
        Err(self.missing(
            "`run`, `image`, `containerfile` or `url`",
            "give the command that starts it, such as `run = \"python3 app.py\"`",
        ))
    }

    fn workers(&self, reached: &ServiceOrigin) -> Workers {
        match (self.find(|keys| keys.workers.clone()), reached) {
            (Some(written), _) => Workers {
                kind: Some(written.kind),
                note: written.note,
            },
            (None, ServiceOrigin::There(_)) => Workers::unknown("as started by its operator"),
            (None, ServiceOrigin::Image(_)) => Workers::unknown("as set in its image"),
            (None, ServiceOrigin::Run(_)) => Workers::unknown(""),
        }
    }

    /// Sources of copies are in the checkout, destinations in the build folder.
    fn copies(&self) -> Result<BTreeMap<PathBuf, PathBuf>, ConfigError> {
        let root = self.project();
        let inside = |path: &Path| {
            path.components()
                .all(|component| matches!(component, Component::Normal(_)))
        };
        let mut faults = Faults::default();
        let mut copies = BTreeMap::new();
        for (destination, written) in self.find(|keys| keys.copies.clone()).unwrap_or_default() {
            let source = root.join(written.get_ref());
            let wrong =
                |message: String, help: &str| Err(self.source.invalid_with(written.span(), message, help));
            let checked = if !inside(&destination) {
                let message = format!("`{}` is not a path in the build folder", destination.display());
                wrong(message, "give a relative path without `..`")
            } else if !inside(written.get_ref()) || !source.is_file() {
                let message = format!("`{}` is not a file of the project", written.get_ref().display());
                wrong(message, "give its path from the root of the project")
            } else {
                Ok(())
            };
            faults.keep(checked);
            copies.insert(destination, source);
        }
        faults.or(copies)
    }
}

impl Service {
    /// Whether it implements a contract over a channel.
    pub fn offers(&self, contract: &str, channel: impl Into<Channel>) -> bool {
        let channel = channel.into();
        self.contracts.iter().any(|name| name == contract) && self.channels().any(|own| own == channel)
    }

    /// The channels over which clients reach it.
    pub fn channels(&self) -> impl Iterator<Item = Channel> {
        let in_clear = self.protocols.iter().map(|&protocol| protocol.into());
        in_clear.chain(self.tls.iter().map(|protocol| protocol.channel()))
    }

    /// The declared version, if any.
    pub fn written_version(&self) -> Option<&str> {
        (self.version != AS_INSTALLED).then_some(self.version.as_str())
    }

    /// `name/variant`, as used on the command line.
    pub fn label(&self) -> String {
        format!("{}/{}", self.name, self.variant)
    }
}

/// How a service uses CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workers {
    /// `None`: unknown.
    pub kind: Option<WorkerKind>,
    /// A description in a sentence; empty: unknown.
    pub note: String,
}

impl Workers {
    /// For a service whose file does not describe it.
    fn unknown(note: &str) -> Self {
        Self {
            kind: None,
            note: note.to_owned(),
        }
    }
}
