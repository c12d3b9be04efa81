//! Container images of services: existing ones, and those built from a containerfile.

use super::{Builder, Tools, base_images, steps};
use crate::Failure;
use crate::script::quoted;
use prony_config::Service;
use prony_host::{Container, Engine, Image};
use prony_records::{Exclusion, TrialStage};
use std::fs;
use std::path::Path;

/// The container of a service that uses an existing image; `None` if its image is built or it has no image. Adds the version of
/// the container engine and the images that its Containerfile names to `tools`. Nothing is pulled, because that would hide what is
/// measured.
pub(super) fn found(service: &Service, tools: &mut Tools) -> Result<Option<Container>, Failure> {
    let Some(wanted) = service.reached.image() else {
        return Ok(None);
    };
    let engine = engine()?;
    let version = engine
        .version()
        .map_err(|text| Failure::infrastructure(TrialStage::Toolchain, text))?;
    tools.versions.insert(engine.name().to_owned(), version);
    if let Some(file) = &wanted.containerfile {
        add_base_images(&engine, &service.source.folder.join(file), tools)?;
        return Ok(None);
    }
    let name = wanted.name.as_deref().unwrap_or_default();
    let image = image(&engine, name)?.ok_or_else(|| {
        let text = format!(
            "the image `{name}` does not exist on this machine and prony never pulls images: run `{engine} pull {name}` or build it",
            engine = engine.name()
        );
        Failure::infrastructure(TrialStage::Build, text)
    })?;
    Ok(Some(Container { engine, image }))
}

/// Adds the identity of each image that this Containerfile names to `tools`. One that is not here yet is pulled by the engine
/// when it builds.
fn add_base_images(engine: &Engine, containerfile: &Path, tools: &mut Tools) -> Result<(), Failure> {
    let unreadable = |error| {
        let text = format!("cannot read {}: {error}", containerfile.display());
        Failure::infrastructure(TrialStage::Build, text)
    };
    let text = fs::read_to_string(containerfile).map_err(unreadable)?;
    for name in base_images::names(&text) {
        if let Some(image) = image(engine, &name)? {
            tools.programs.insert(format!("image {name}"), image.id);
        }
    }
    Ok(())
}

/// Why the image of a service cannot be used; `None` if nothing is missing, as far as this is known without a build.
pub fn lacks_image(service: &Service) -> Option<String> {
    let found = found(service, &mut Tools::default());
    found.err().map(|failure| failure.reason)
}

/// The container of a service whose image is built in its build folder. An existing image of this digest is used again. `None`
/// if the service has no image to build.
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
            let text = format!("{} built the image `{own}` but cannot find it", engine.name());
            without_log(Failure::infrastructure(TrialStage::Build, text))
        })?
    };
    let image = Image {
        name: wanted.name.clone().unwrap_or(own),
        ..image
    };
    Ok(Some(Container { engine, image }))
}

fn engine() -> Result<Engine, Failure> {
    Engine::find().map_err(|text| {
        Failure::infrastructure(
            TrialStage::Toolchain,
            format!("the service is a container image, and {text}"),
        )
    })
}

fn image(engine: &Engine, name: &str) -> Result<Option<Image>, Failure> {
    engine
        .image(name)
        .map_err(|text| Failure::infrastructure(TrialStage::Build, text))
}
