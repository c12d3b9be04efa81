//! A service folder's `service.toml`, resolved to one [`Service`] per variant.

mod origin;
mod trust;

pub use self::origin::{ExternalService, Image, ServiceOrigin, UsageSource};

use self::origin::{PidSourceToml, ServiceOriginToml};
use self::trust::TrustToml;
use crate::ConfigError;
use crate::format::{FileKind, SourceFile};
use crate::toolchain::Requirement;
use prony_load::{DurationText, Protocol};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use crate::format::Spanned;

/// A variant of a service, with everything that its build and run need.
#[derive(Debug, Clone)]
pub struct Service {
    /// Name of the service's folder.
    pub name: String,
    pub variant: String,
    /// Whether this is the service's default variant.
    pub default: bool,
    pub title: String,
    pub language: String,
    pub framework: String,
    /// Version of the framework: the declared one, or [`AS_INSTALLED`] until a build reports it.
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
    /// Published measurements that include it.
    pub documents: Vec<String>,
    /// Toolchains that the machine must have.
    pub toolchains: Vec<Requirement>,
    pub workers: Workers,
    /// Shell commands that build it, in the build folder.
    pub build: Vec<String>,
    /// How it runs: as a command, as a container image, or externally.
    pub reached: ServiceOrigin,
    /// Added to the environment of build and run.
    pub env: BTreeMap<String, String>,
    /// The longest time until it is ready.
    pub start_timeout: Duration,
    /// Files from elsewhere in the checkout that are copied into the build folder: source by destination.
    pub copies: BTreeMap<PathBuf, PathBuf>,
    /// The framework's documentation of the settings in use.
    pub guide: Option<String>,
    /// The folder with `service.toml`.
    pub folder: PathBuf,
    /// A hint for the user if the build cannot download what it needs.
    pub unavailable_hint: Option<String>,
}

/// The kind of software of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A bare server library or server.
    Platform,
    /// A small framework.
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

/// Written by hand because a derived error lists the former names, too.
impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const NAMES: &[&str] = &["platform", "micro", "fullstack", "stripped", "reference"];
        match String::deserialize(deserializer)?.as_str() {
            "platform" => Ok(Self::Platform),
            "micro" => Ok(Self::Micro),
            // The name before it was renamed.
            "fullstack" | "full" => Ok(Self::Fullstack),
            "stripped" => Ok(Self::Stripped),
            "reference" => Ok(Self::Reference),
            other => Err(serde::de::Error::unknown_variant(other, NAMES)),
        }
    }
}

impl ServiceToml {
    fn reached(&self) -> ServiceOriginToml {
        ServiceOriginToml {
            run: self.run.clone(),
            image: self.image.clone(),
            containerfile: self.containerfile.clone(),
            url: self.url.clone(),
            pid: self.pid.clone(),
            cgroup: self.cgroup.clone(),
            trust: TrustToml {
                cacert: self.cacert.clone(),
                insecure: self.insecure.clone(),
            },
        }
    }
}

/// The file as written. The file and each variant have the same type, so that a wrong key is reported at its own line;
/// a later step verifies which keys are allowed where.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct ServiceToml {
    name: Spanned<String>,
    title: Option<String>,
    language: Option<String>,
    framework: Option<String>,
    documents: Option<Vec<String>>,
    version: Option<String>,
    version_from: Option<String>,
    #[serde(alias = "era")]
    pinned: Option<bool>,
    formerly: Option<Vec<String>>,
    note: Option<String>,
    #[schemars(with = "Option<String>")]
    class: Option<Class>,
    contracts: Option<Vec<String>>,
    protocols: Option<Vec<ProtocolToml>>,
    toolchains: Option<Vec<Spanned<String>>>,
    workers: Option<Workers>,
    build: Option<Vec<String>>,
    run: Option<Spanned<String>>,
    image: Option<Spanned<String>>,
    containerfile: Option<Spanned<PathBuf>>,
    url: Option<Spanned<String>>,
    pid: Option<Spanned<PidSourceToml>>,
    cgroup: Option<Spanned<PathBuf>>,
    cacert: Option<Spanned<PathBuf>>,
    insecure: Option<Spanned<bool>>,
    env: Option<BTreeMap<String, String>>,
    start_timeout: Option<DurationText>,
    copies: Option<BTreeMap<PathBuf, Spanned<PathBuf>>>,
    guide: Option<String>,
    unavailable_hint: Option<String>,
    #[serde(rename = "variant", default)]
    variants: Vec<ServiceToml>,
}

/// The version of a service that only its build reports.
pub const AS_INSTALLED: &str = "as installed";

const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The same for an external service.
const THERE_TIMEOUT: Duration = Duration::from_secs(3);

/// Reads `<folder>/service.toml` and resolves every variant; the first one is the default.
pub(crate) fn read(folder: &Path) -> Result<Vec<Service>, ConfigError> {
    let source = SourceFile::read(&folder.join("service.toml"))?;
    let base: ServiceToml = source.parse(FileKind::Service)?;
    let name = base.name.get_ref();
    if folder.file_name().is_none_or(|file| file != name.as_str()) {
        return Err(source.invalid(
            base.name.span(),
            format!("`name` is `{name}`: it must be the name of the folder"),
        ));
    }
    if base.variants.is_empty() {
        return Err(source.invalid(
            base.name.span(),
            "no `[[variant]]`: add at least one, with `name` and `version`",
        ));
    }
    let mut services: Vec<Service> = Vec::new();
    for own in &base.variants {
        let label = own.name.get_ref();
        if services.iter().any(|service| &service.variant == label) {
            return Err(source.invalid(own.name.span(), format!("variant `{label}` is defined twice")));
        }
        services.push(
            Reader {
                source: &source,
                base: &base,
                own,
            }
            .resolve(folder, services.is_empty())?,
        );
    }
    Ok(services)
}

/// A variant, and the file that contains it.
struct Reader<'a> {
    source: &'a SourceFile,
    base: &'a ServiceToml,
    own: &'a ServiceToml,
}

impl Reader<'_> {
    fn resolve(&self, folder: &Path, default: bool) -> Result<Service, ConfigError> {
        self.only_above()?;
        let (base, own) = (self.base, self.own);
        let reached = self.reached(folder)?;
        let is_there = matches!(reached, ServiceOrigin::There(_));
        // An image contains everything that it needs.
        let is_whole = !matches!(reached, ServiceOrigin::Run(_));
        let mut env = base.env.clone().unwrap_or_default();
        env.extend(own.env.clone().unwrap_or_default());
        Ok(Service {
            name: base.name.get_ref().clone(),
            variant: own.name.get_ref().clone(),
            default,
            title: self.need("title", |table| table.title.clone())?,
            language: self.need("language", |table| table.language.clone())?,
            framework: self.need("framework", |table| table.framework.clone())?,
            version: self.version()?,
            version_from: self.find(|table| table.version_from.clone()),
            class: self.need("class", |table| table.class)?,
            pinned: own.pinned.unwrap_or(false),
            formerly: own.formerly.clone().unwrap_or_default(),
            note: self.find(|table| table.note.clone()),
            contracts: self.need("contracts", |table| table.contracts.clone())?,
            protocols: self.protocols(),
            documents: base.documents.clone().unwrap_or_default(),
            toolchains: self.requirements(is_whole)?,
            workers: match self.find(|table| table.workers.clone()) {
                None if is_there => Workers::unknown("as started by its operator"),
                None if is_whole => Workers::unknown("as set in its image"),
                _ => self.need("workers", |table| table.workers.clone())?,
            },
            build: match reached {
                ServiceOrigin::Run(_) => self.find(|table| table.build.clone()).unwrap_or_default(),
                ServiceOrigin::Image(_) | ServiceOrigin::There(_) => Vec::new(),
            },
            reached,
            env,
            start_timeout: match self.find(|table| table.start_timeout) {
                Some(written) => written.0,
                None if is_there => THERE_TIMEOUT,
                None => START_TIMEOUT,
            },
            copies: self.copies(folder)?,
            guide: self.find(|table| table.guide.clone()),
            folder: folder.to_owned(),
            unavailable_hint: self.find(|table| table.unavailable_hint.clone()),
        })
    }

    /// The variant's value, or else the file's.
    fn find<T>(&self, get: impl Fn(&ServiceToml) -> Option<T>) -> Option<T> {
        get(self.own).or_else(|| get(self.base))
    }

    fn need<T>(&self, key: &str, get: impl Fn(&ServiceToml) -> Option<T>) -> Result<T, ConfigError> {
        self.find(get).ok_or_else(|| {
            let label = self.own.name.get_ref();
            let message =
                format!("variant `{label}` has no `{key}`: give it in the variant or above the variants");
            self.source.invalid(self.own.name.span(), message)
        })
    }

    /// How it runs, according to the variant or else the file.
    fn reached(&self, folder: &Path) -> Result<ServiceOrigin, ConfigError> {
        let misplaced = |message: &str| Err(self.source.invalid(self.own.name.span(), message));
        for table in [self.own, self.base] {
            let Some(reached) = table.reached().resolve(self.source, folder)? else {
                continue;
            };
            // Build steps of other variants may be above the variants, too.
            let builds = self.own.build.is_some() || table.build.is_some();
            return match reached {
                ServiceOrigin::There(_) if self.find(|table| table.build.clone()).is_some() => {
                    misplaced("`build` of a service with a `url`: it runs already; remove `build`")
                }
                ServiceOrigin::Image(_) if builds => {
                    misplaced("`build` of a container image: a `containerfile` builds it; remove `build`")
                }
                reached => Ok(reached),
            };
        }
        let label = self.own.name.get_ref();
        misplaced(&format!(
            "variant `{label}` has neither `run` nor `url` nor `image`: give one of them in the variant or above the variants"
        ))
    }

    /// The declared version; without it, a command must report it.
    fn version(&self) -> Result<String, ConfigError> {
        if let Some(written) = self.find(|table| table.version.clone()) {
            return Ok(written);
        }
        match self.find(|table| table.version_from.clone()) {
            Some(_) => Ok(AS_INSTALLED.to_owned()),
            None => self.need("version", |table| table.version.clone()),
        }
    }

    /// Some keys describe the service and must be the same for all variants.
    fn only_above(&self) -> Result<(), ConfigError> {
        let own = self.own;
        let misplaced = [
            ("title", own.title.is_some()),
            ("language", own.language.is_some()),
            ("framework", own.framework.is_some()),
            ("documents", own.documents.is_some()),
            ("variant", !own.variants.is_empty()),
        ];
        match misplaced.iter().find(|(_, there)| *there) {
            None => Ok(()),
            Some((key, _)) => {
                let message = format!(
                    "`{key}` in variant `{}`: it belongs above the variants",
                    own.name.get_ref()
                );
                Err(self.source.invalid(own.name.span(), message))
            }
        }
    }

    /// Sources of copies are in the checkout, destinations in the build folder.
    fn copies(&self, folder: &Path) -> Result<BTreeMap<PathBuf, PathBuf>, ConfigError> {
        let root = folder.parent().and_then(Path::parent).unwrap_or(folder);
        let inside = |path: &Path| {
            path.components()
                .all(|component| matches!(component, Component::Normal(_)))
        };
        let mut copies = BTreeMap::new();
        for (destination, written) in self.find(|table| table.copies.clone()).unwrap_or_default() {
            let source = root.join(written.get_ref());
            if !inside(&destination) || !inside(written.get_ref()) || !source.is_file() {
                let message = format!(
                    "`copies`: `{}` from `{}`: give a path in the build folder, and a file by its path relative to the root of the checkout",
                    destination.display(),
                    written.get_ref().display()
                );
                return Err(self.source.invalid(written.span(), message));
            }
            copies.insert(destination, source);
        }
        Ok(copies)
    }

    fn protocols(&self) -> Vec<Protocol> {
        self.find(|table| table.protocols.clone()).map_or_else(
            || vec![Protocol::Http1],
            |written| written.into_iter().map(Protocol::from).collect(),
        )
    }

    /// The required toolchains. Images and external services need none.
    fn requirements(&self, is_whole: bool) -> Result<Vec<Requirement>, ConfigError> {
        let read = |written: &Spanned<String>| {
            Requirement::parse(written.get_ref()).ok_or_else(|| {
                let message = format!(
                    "`toolchains`: `{}` is neither `name` nor `name >= version`",
                    written.get_ref()
                );
                self.source.invalid(written.span(), message)
            })
        };
        let written = match self.find(|table| table.toolchains.clone()) {
            None if is_whole => Vec::new(),
            _ => self.need("toolchains", |table| table.toolchains.clone())?,
        };
        written.iter().map(read).collect()
    }
}

impl Service {
    /// Whether it implements a contract over a protocol.
    pub fn offers(&self, contract: &str, protocol: Protocol) -> bool {
        self.contracts.iter().any(|name| name == contract) && self.protocols.contains(&protocol)
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

#[derive(Deserialize, Clone, Copy, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ProtocolToml {
    Http,
    Http2,
    Grpc,
    Websocket,
}

impl From<ProtocolToml> for Protocol {
    fn from(written: ProtocolToml) -> Self {
        match written {
            ProtocolToml::Http => Self::Http1,
            ProtocolToml::Http2 => Self::Http2,
            ProtocolToml::Grpc => Self::Grpc,
            ProtocolToml::Websocket => Self::WebSocket,
        }
    }
}

/// How a service uses CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    pub uses: WorkersUse,
    /// A description in a sentence.
    pub how: String,
}

impl Workers {
    /// For an image or an external service whose file does not describe it.
    fn unknown(how: &str) -> Self {
        Self {
            uses: WorkersUse::Threads,
            how: how.to_owned(),
        }
    }
}

/// The kind of workers of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkersUse {
    Threads,
    Processes,
    /// Event loops in threads of one process.
    EventLoops,
    /// It can use only one CPU.
    OneCpu,
}
