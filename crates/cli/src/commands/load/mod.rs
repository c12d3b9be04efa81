//! `prony load`: one load on one URL.
//!
//! `args` is what was typed, `job` what it means, `stream` the form in which another process asks; `summary` and `view` are
//! what people see.

mod args;
mod grpc;
mod job;
mod objective;
mod stream;
mod summary;
pub(crate) mod target;
mod template;
mod view;

pub(crate) use args::{Args, LoadArgs, RequestArgs};
pub(crate) use job::{JobError, Shape};
pub(crate) use objective::Objective;

use crate::exit::{Exit, bad_input};
use crate::output::print;
use prony_engine::EngineError;
use prony_load::Job;
use prony_measurement::{Command, Event, Recording};
use std::sync::mpsc;

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.job.is_some() {
        return stream::run();
    }
    let job = job::job(args).map_err(bad_input)?;
    let mut view = view::View::new(&job);
    let recording = carry_out(&job, &mut |event| view.show(&event));
    view.finish();
    let recording = recording?;
    let missed = args
        .objective
        .as_ref()
        .map(|objective| objective.missed_by(&recording))
        .unwrap_or_default();
    if args.json {
        print(&serde_json::to_string(&recording)?)?;
    } else {
        print(&summary::summary(&recording))?;
    }
    summary::warn(&recording);
    for miss in &missed {
        eprintln!("prony: objective missed: {miss}");
    }
    Ok(if missed.is_empty() {
        Exit::Fine
    } else {
        Exit::ObjectiveFailed
    })
}

/// Runs a job; bad input in it is the user's.
pub(crate) fn carry_out(job: &Job, on_event: &mut dyn FnMut(Event)) -> anyhow::Result<Recording> {
    let (_commands, none) = mpsc::channel::<Command>();
    prony_engine::run(job, on_event, &none).map_err(told)
}

/// An error of the engine, as bad input where it is that.
pub(crate) fn told(error: EngineError) -> anyhow::Error {
    if error.is_bad_input() {
        bad_input(error)
    } else {
        error.into()
    }
}
