//! Container images: one that must be there already, or one that is built.

use super::{Builder, Tools, steps};
use crate::Failure;
use crate::script::quoted;
use prony_config::Service;
use prony_host::{Container, Engine, Image};
use prony_records::{Exclusion, Stage};
use std::collections::BTreeMap;
use std::path::Path;

/// The container of a service whose image nobody builds; `None`: a build makes it, or it is no image at all. The engine's version
/// comes to `versions`. Nothing is pulled: that would hide what is measured.
pub(super) fn found(
    service: &Service,
    versions: &mut BTreeMap<String, String>,
) -> Result<Option<Container>, Failure> {
    let Some(wanted) = service.reached.image() else {
        return Ok(None);
    };
    let engine = engine()?;
    let version = engine
        .version()
        .map_err(|text| Failure::new(Stage::Toolchain, text))?;
    versions.insert(engine.name().to_owned(), version);
    if wanted.containerfile.is_some() {
        return Ok(None);
    }
    let name = wanted.name.as_deref().unwrap_or_default();
    let image = image(&engine, name)?.ok_or_else(|| {
        let text = format!(
            "the image `{name}` is not on this machine, and prony pulls none: `{engine} pull {name}`, or build it",
            engine = engine.name()
        );
        Failure::new(Stage::Build, text)
    })?;
    Ok(Some(Container { engine, image }))
}

/// What is missing for a service that is a container image, in a sentence; `None`: nothing, as far as can be seen without a build.
pub fn lacks_image(service: &Service) -> Option<String> {
    let found = found(service, &mut BTreeMap::new());
    found.err().map(|failure| failure.reason)
}

/// The container of a service whose image is built in its build folder, unless that of this digest is still there; `None`: it has
/// none.
pub(super) fn built(
    builder: &Builder<'_>,
    service: &Service,
    tools: &Tools,
    (folder, digest): (&Path, &str),
) -> Result<Option<Container>, Exclusion> {
    let without_log = |failure: Failure| failure.with_log(Vec::new());
    let Some(wanted) = service.reached.image() else {
        return Ok(None);
    };
    let Some(file) = &wanted.containerfile else {
        return Ok(None);
    };
    let engine = engine().map_err(without_log)?;
    let number = builder
        .repetition
        .map(|repetition| format!("-{}", repetition.number));
    let label = format!("{}-{}", service.name, service.variant);
    let own = Engine::built_name(&label, &format!("{digest}{}", number.unwrap_or_default()));
    let afresh = builder.repetition.is_some_and(|repetition| repetition.fresh);
    let there = image(&engine, &own).map_err(without_log)?.filter(|_| !afresh);
    let image = if let Some(image) = there {
        image
    } else {
        let names: Vec<&str> = [Some(own.as_str()), wanted.name.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        let line: Vec<String> = engine
            .build_line(file, &names)
            .iter()
            .map(|word| quoted(word))
            .collect();
        steps::run_one(builder, service, tools, (folder, &line.join(" "), "image"))?;
        let image = image(&engine, &own).map_err(without_log)?;
        image.ok_or_else(|| {
            let text = format!("{} built `{own}`, and does not know it", engine.name());
            without_log(Failure::new(Stage::Build, text))
        })?
    };
    let image = Image {
        name: wanted.name.clone().unwrap_or(own),
        ..image
    };
    Ok(Some(Container { engine, image }))
}

fn engine() -> Result<Engine, Failure> {
    Engine::find()
        .map_err(|text| Failure::new(Stage::Toolchain, format!("it is a container image, and {text}")))
}

fn image(engine: &Engine, name: &str) -> Result<Option<Image>, Failure> {
    engine
        .image(name)
        .map_err(|text| Failure::new(Stage::Build, text))
}
