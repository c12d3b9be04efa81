//! The inputs of a build as digests: the parts [`Part::BUILD`] of its fingerprint. Builds with the same parts are equal.

use super::sources::{Sources, hash_shared};
use super::{Folders, Tools, c_library};
use crate::Failure;
use crate::digest::short;
use crate::values::Values;
use prony_config::{Requirement, Service};
use prony_host::{Container, InheritedVariables};
use prony_records::{Fingerprint, Part};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// `pulled` is the container of an existing image. Its ID is one of the inputs: the same name with another image is another
/// build.
pub(super) fn of(
    sources: &Sources<'_>,
    tools: &Tools,
    folders: &Folders,
    pulled: Option<&Container>,
) -> Result<Fingerprint, Failure> {
    let mut source = Sha256::new();
    sources.hash(&mut source)?;
    hash_shared(&mut source, sources)?;
    Ok(Fingerprint::default()
        .with(Part::Source, short(&source.finalize()))
        .with(Part::Recipe, recipe(sources.service()))
        .with(Part::Tools, tools_of(sources.service(), tools, pulled))
        .with(Part::Platform, platform(&folders.builds)))
}

/// The name of a build: a digest of its inputs.
pub(super) fn name(inputs: &Fingerprint) -> String {
    let mut digest = Sha256::new();
    for (part, value) in inputs.parts(Part::BUILD) {
        digest.update(format!("{part} {value}\n"));
    }
    short(&digest.finalize())
}

/// The part [`Part::Tools`].
pub(super) fn tools_of(service: &Service, tools: &Tools, pulled: Option<&Container>) -> String {
    #[derive(Serialize)]
    struct UsedTools<'a> {
        versions: &'a BTreeMap<String, String>,
        environment: &'a BTreeMap<String, String>,
        /// Path and digest of each program.
        programs: &'a BTreeMap<String, String>,
        variables: BTreeMap<String, String>,
        image: Option<&'a str>,
    }
    let variables = InheritedVariables::of_tools(&service.pass).values().into_iter();
    let mut values = Values::default();
    values.add(&UsedTools {
        versions: &tools.versions,
        environment: &tools.environment,
        programs: &tools.programs,
        variables: variables
            .map(|(name, value)| {
                let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
                (text(name), text(value))
            })
            .collect(),
        image: pulled.map(|container| container.image.id.as_str()),
    });
    values.digest()
}

/// Architecture, C library and the folder of the builds: many tools write their own path into what they build.
fn platform(builds: &Path) -> String {
    #[derive(Serialize)]
    struct Platform<'a> {
        architecture: &'static str,
        library: String,
        builds: &'a Path,
    }
    let builds = builds.canonicalize().unwrap_or_else(|_| builds.to_owned());
    let mut values = Values::default();
    values.add(&Platform {
        architecture: std::env::consts::ARCH,
        library: c_library::of_this_machine(),
        builds: &builds,
    });
    values.digest()
}

/// The commands or the image that build a service, with their requirements.
pub(crate) fn recipe(service: &Service) -> String {
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
