//! How a service runs: prony runs a command or a container image, or the service runs externally.

use super::toml::{Keys, PidSourceToml};
use super::trust::TrustToml;
use crate::ConfigError;
use crate::format::{SourceFile, Spanned};
use crate::target;
use prony_load::Target;
use std::path::{Component, Path, PathBuf};

/// How a service runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceOrigin {
    /// A shell command runs it, in the build folder.
    Run(String),
    Image(Image),
    /// An external service: prony neither starts nor stops it.
    There(ExternalService),
}

/// A container image. At least one of the fields is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The name of the image for podman and docker. With a `containerfile`, the built image gets this name.
    pub name: Option<String>,
    /// The file in the build folder from which the image is built; `None`: the image must exist on the machine.
    pub containerfile: Option<PathBuf>,
}

/// An external service, which prony neither starts nor stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalService {
    /// The address of the service, and its TLS settings.
    pub target: Box<Target>,
    /// The source of its resource usage; `None`: unknown.
    pub counted: Option<UsageSource>,
    /// Whether requests that may change its data are sent.
    pub allow_writes: bool,
}

/// The source of the resource usage of an external service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UsageSource {
    /// A process and its descendants.
    Pid(u32),
    /// The process whose id is in this file when the service is first queried.
    PidFile(PathBuf),
    /// A control group: its folder, or its path as in `/proc/PID/cgroup`.
    Cgroup(PathBuf),
}

impl ServiceOrigin {
    /// The command, if it has one.
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Run(command) => Some(command),
            Self::Image(_) | Self::There(_) => None,
        }
    }

    /// The container image, if it has one.
    pub const fn image(&self) -> Option<&Image> {
        match self {
            Self::Image(image) => Some(image),
            Self::Run(_) | Self::There(_) => None,
        }
    }
}

/// The keys of a variant or above the variants.
pub(super) struct ServiceOriginToml {
    pub(super) run: Option<Spanned<String>>,
    pub(super) image: Option<Spanned<String>>,
    pub(super) containerfile: Option<Spanned<PathBuf>>,
    pub(super) url: Option<Spanned<String>>,
    pub(super) pid: Option<Spanned<PidSourceToml>>,
    pub(super) cgroup: Option<Spanned<PathBuf>>,
    pub(super) allow_writes: Option<Spanned<bool>>,
    pub(super) trust: TrustToml,
}

impl ServiceOriginToml {
    pub(super) fn of(keys: &Keys) -> Self {
        Self {
            run: keys.run.clone(),
            image: keys.image.clone(),
            containerfile: keys.containerfile.clone(),
            url: keys.url.clone(),
            pid: keys.pid.clone(),
            cgroup: keys.cgroup.clone(),
            allow_writes: keys.allow_writes.clone(),
            trust: TrustToml {
                cacert: keys.cacert.clone(),
                insecure: keys.insecure.clone(),
            },
        }
    }

    /// Resolves the keys of one table; `None` if it has none of `run`, `image`, `containerfile` and `url`. The folders are that of the
    /// service and that of its source.
    pub(super) fn resolve(
        self,
        source: &SourceFile,
        (folder, sources): (&Path, &Path),
    ) -> Result<Option<ServiceOrigin>, ConfigError> {
        let counted = match (self.pid, self.cgroup) {
            (Some(_), Some(cgroup)) => {
                let message = "`pid` and `cgroup`: give only one";
                return Err(source.invalid(cgroup.span(), message));
            }
            (Some(pid), None) => Some((pid.span(), pid.into_inner().into())),
            (None, Some(path)) => Some((path.span(), UsageSource::Cgroup(path.into_inner()))),
            (None, None) => None,
        };
        if self.url.is_none() {
            self.trust.reject_without_url(source)?;
            if let Some(key) = &self.allow_writes {
                let message = "`allow_writes` is for a service that runs already";
                return Err(source.invalid_with(key.span(), message, "give its `url`, too"));
            }
        }
        let allow_writes = self.allow_writes.is_some_and(Spanned::into_inner);
        let contained = (self.image.as_ref().map(|image| (image.span(), "image"))).or_else(|| {
            let file = self.containerfile.as_ref();
            file.map(|file| (file.span(), "containerfile"))
        });
        match (self.run, self.url, contained, counted) {
            (Some(_), _, Some((span, key)), _) => {
                let message =
                    format!("`run` and `{key}`: a service is either a command or a container image");
                Err(source.invalid_with(span, message, "give only one"))
            }
            (_, Some(_), Some((span, key)), _) => {
                let message =
                    format!("`url` and `{key}`: a service is either a container image or runs already");
                Err(source.invalid_with(span, message, "give only one"))
            }
            (Some(_), Some(url), ..) => {
                let message = "`run` and `url`: a service is either started by prony or runs already";
                Err(source.invalid_with(url.span(), message, "give only one"))
            }
            (_, None, _, Some((span, _))) => {
                let message = "`pid` and `cgroup` are for a service that runs already";
                Err(source.invalid_with(span, message, "give its `url`, too"))
            }
            (None, None, Some(_), None) => image(source, self.image, self.containerfile, sources)
                .map(|image| Some(ServiceOrigin::Image(image))),
            (None, Some(url), None, counted) => {
                let target = Box::new(external_target(source, &url, (self.trust, folder))?);
                let counted = counted.map(|(_, counted)| counted);
                Ok(Some(ServiceOrigin::There(ExternalService {
                    target,
                    counted,
                    allow_writes,
                })))
            }
            (run, None, None, None) => Ok(run.map(|run| ServiceOrigin::Run(run.into_inner()))),
        }
    }
}

fn image(
    source: &SourceFile,
    name: Option<Spanned<String>>,
    containerfile: Option<Spanned<PathBuf>>,
    folder: &Path,
) -> Result<Image, ConfigError> {
    if let Some(name) = &name {
        let text = name.get_ref();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@".contains(letter);
        if !text.starts_with(|letter: char| letter.is_ascii_alphanumeric()) || !text.chars().all(plain) {
            let message = format!("`image` is \"{text}\"");
            return Err(source.invalid_with(
                name.span(),
                message,
                "give the name of an image, such as \"name:tag\"",
            ));
        }
    }
    if let Some(file) = &containerfile {
        let path = file.get_ref();
        let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let letters = |letter: char| letter.is_ascii_alphanumeric() || "._-/".contains(letter);
        let plain = path.to_str().is_some_and(|path| path.chars().all(letters));
        if !inside || !plain || !folder.join(path).is_file() {
            let message = format!("`containerfile` is \"{}\"", path.display());
            let help = "give a file in the service's source, by its path relative to that folder";
            return Err(source.invalid_with(file.span(), message, help));
        }
    }
    Ok(Image {
        name: name.map(Spanned::into_inner),
        containerfile: containerfile.map(Spanned::into_inner),
    })
}

impl From<PidSourceToml> for UsageSource {
    fn from(written: PidSourceToml) -> Self {
        match written {
            PidSourceToml::Number(pid) => Self::Pid(pid),
            PidSourceToml::File(path) => Self::PidFile(path),
        }
    }
}

fn external_target(
    source: &SourceFile,
    written: &Spanned<String>,
    (trust, folder): (TrustToml, &Path),
) -> Result<Target, ConfigError> {
    let text = written.get_ref();
    let refused = |why: &str| source.invalid(written.span(), format!("`url` is \"{text}\": {why}"));
    let (mut target, path) = target::parse(text, false)
        .map_err(|error| source.invalid(written.span(), format!("`url`: {error}")))?;
    if path != "/" {
        return Err(refused("give only the host: the contract defines the paths"));
    }
    trust.apply_to(&mut target, source, folder)?;
    Ok(target)
}
