//! A load from the workers of a lab.

use prony_bench::{Workbench, load_on};
use prony_lab::LabFile;
use prony_load::Job;
use prony_measurement::{Command, Event, Recording};
use prony_trial::Cancel;
use std::path::Path;
use std::sync::mpsc::Receiver;

/// Reaches the workers of a lab.
pub(super) fn connect(file: LabFile) -> anyhow::Result<Workbench> {
    let logs = std::env::temp_dir().join(format!("prony-load-{}", std::process::id()));
    let workbench = Workbench::new(logs, &Cancel::new())?;
    Ok(workbench.in_lab(Some(&file.workers()), &|text| eprintln!("{text}"))?)
}

/// Loads from all of them, as one generator would.
pub(super) fn load(
    workbench: &Workbench,
    job: &Job,
    on_event: &mut dyn FnMut(Event),
    commands: &Receiver<Command>,
) -> anyhow::Result<Recording> {
    let placement = workbench.lab.place_load();
    let log = Path::new("generator.log");
    Ok(load_on(
        &workbench.generator,
        &placement,
        (job, log),
        on_event,
        commands,
    )?)
}
