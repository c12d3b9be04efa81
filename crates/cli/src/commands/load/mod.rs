//! `prony load`: one load on one URL.
//!
//! `args` is what was typed, `job` what it means, `stream` the form in which another process asks, `view` what people see.

mod args;
mod fleet;
mod grpc;
mod input;
mod interrupt;
mod job;
mod llm;
mod metrics;
mod request_input;
mod resolve;
mod server_target;
mod stream;
mod template;
mod view;
mod websocket;

pub(crate) use args::{Args, LoadArgs, RequestArgs, TrustArgs};
pub(crate) use fleet::fleet;
pub(crate) use input::JobError;
pub(crate) use job::Shape;
pub(crate) use llm::{aim, is_asked};
pub(crate) use server_target::server;

use crate::exit::{self, ErrorKind, Exit, Stopped, bad_input};
use crate::output::print;
use crate::telemetry::{self, Live};
use crate::text;
use input::DescriptionError;
use metrics::Metrics;
use prony_generator::EngineError;
use prony_host::OtherUsage;
use prony_load::Job;
use prony_records::{Command, Event, Recording};
use prony_runner::{Saving, neighbours};
use std::sync::mpsc;
use std::time::Instant;
use view::result::LoadResult;

/// What other programs may use of the machine during a load that is kept, as a share of it.
const BUSY: f64 = 0.05;
/// Loads of one name from which the intervals of a comparison become narrow.
const ENOUGH: u32 = 5;

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.job.is_some() {
        return stream::run();
    }
    let job = job::job(args).map_err(no_job)?;
    llm::advise(&job);
    let wanted = args.save.wanted()?;
    let saving = match &wanted {
        Some((name, store)) => Some(Saving::begin(store, name, &job)?),
        None => None,
    };
    let fleet = fleet(&args.lab, &job.target)?;
    if fleet.is_none() {
        warn_of_others();
    }
    let mut view = view::View::new(&job);
    let metrics = args.metrics.map(Metrics::serve).transpose()?;
    let live = Live::to(args.otlp.as_ref())?;
    let labels = telemetry::labels(&job, saving.as_ref().map(Saving::name));
    let commands = interrupt::commands()?;
    let mut on_event = |event: Event| {
        view.show(&event);
        if let Some(metrics) = &metrics {
            metrics.take(&event);
        }
        if let Some(live) = &live {
            live.take(&labels, &event);
            if let Some(text) = live.warning() {
                view.says(&text);
            }
        }
    };
    let watched = saving
        .as_ref()
        .filter(|_| fleet.is_none())
        .and_then(|_| neighbours(&job.target));
    let began = Instant::now();
    let recording = match &fleet {
        None => here(&job, &mut on_event, &commands),
        Some(fleet) => {
            let recording = fleet.load(&job, &mut on_event, &commands);
            recording.map(Some).map_err(Into::into)
        }
    };
    let took_s = began.elapsed().as_secs_f64();
    let others = watched.and_then(|watched| watched.end());
    view.finish();
    if let Some(live) = &live {
        live.finish();
    }
    let recording = match recording {
        Err(error) => match unreachable(&error) {
            Some(reason) => return no_connection(args.json, reason),
            None => return Err(error),
        },
        Ok(recording) => recording,
    };
    let Some(mut recording) = recording else {
        return Err(Stopped.into());
    };
    if is_asked(&job) {
        llm::mask(&mut recording);
    }
    let exit = tell(args, &recording)?;
    if let Some(saving) = saving {
        keep(saving, &job, &recording, (took_s, others))?;
    }
    Ok(exit)
}

/// Prints what a load gave: the verdict first.
fn tell(args: &Args, recording: &Recording) -> anyhow::Result<Exit> {
    let result = LoadResult::new(recording, args.objective.as_ref());
    if args.json {
        print(&result.json().to_string())?;
    } else {
        text::show(&result.text(text::columns()))?;
    }
    Ok(result.exit())
}

/// Why no connection could be made, where that is why there is no recording.
pub(crate) fn unreachable(error: &anyhow::Error) -> Option<&EngineError> {
    let cause = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<EngineError>());
    cause.filter(|cause| matches!(cause, EngineError::Unreachable { .. }))
}

/// A server that takes no connection gives no recording: the verdict is that of a load without a valid reply.
pub(crate) fn no_connection(json: bool, error: &EngineError) -> anyhow::Result<Exit> {
    let exit = Exit::ObjectiveFailed;
    let reason = error.to_string();
    let advice = error.advice().unwrap_or_default();
    if json {
        print(&exit::error_json(exit, ErrorKind::Connect, &reason, Some(advice)).to_string())?;
    } else {
        let columns = text::columns();
        let line = text::headline(&format!("FAILED: 0 % success: {reason}"), columns);
        text::show(&format!("{line}\n    → {}", text::wrapped(advice, columns, 6, 6)))?;
    }
    Ok(exit)
}

/// Loads from this machine; `None`: it was ended before it began.
fn here(
    job: &Job,
    on_event: &mut dyn FnMut(Event),
    commands: &mpsc::Receiver<Command>,
) -> anyhow::Result<Option<Recording>> {
    match prony_generator::run(job, on_event, commands) {
        Err(EngineError::Stopped) => Ok(None),
        other => other.map(Some).map_err(told),
    }
}

/// Says who else measures here, since a load claims no CPU.
pub(crate) fn warn_of_others() {
    if let Some(who) = prony_runner::who_measures() {
        eprintln!(
            "warning: {who} measures on these CPUs: both spoil each other's numbers; wait for its end, or give each its own CPUs \
             (`taskset --cpu-list`)"
        );
    }
}

/// Keeps a result by the name that was given, and says what to do with it.
fn keep(
    saving: Saving<'_>,
    job: &Job,
    recording: &Recording,
    (took_s, others): (f64, Option<OtherUsage>),
) -> anyhow::Result<()> {
    if recording.interrupted {
        eprintln!("prony: not saved: a load that was ended early is no measurement");
        return Ok(());
    }
    let name = saving.name().to_owned();
    let count = saving.keep(job, recording.clone(), took_s, others)?;
    let share = others
        .and_then(|others| others.share())
        .filter(|share| *share > BUSY);
    if let Some(share) = share {
        eprintln!(
            "warning: other programs used {:.0} % of the machine during this load: end them, or compare it with loads made next to \
             the same",
            100.0 * share
        );
    }
    let of = if count < ENOUGH {
        format!("{count} of {ENOUGH} repetitions")
    } else {
        format!("repetition {count}")
    };
    eprintln!("Saved as `{name}` ({of}). → `prony compare {name} OTHER`");
    Ok(())
}

/// Runs a job; bad input in it is the user's.
pub(crate) fn carry_out(job: &Job, on_event: &mut dyn FnMut(Event)) -> anyhow::Result<Recording> {
    let (_commands, none) = mpsc::channel::<Command>();
    prony_generator::run(job, on_event, &none).map_err(told)
}

/// What was typed makes no job; a service that had to be asked and was not there is no bad input.
pub(crate) fn no_job(error: JobError) -> anyhow::Error {
    match error {
        JobError::Description(DescriptionError::Unreachable(error)) => told(error),
        error => bad_input(error),
    }
}

/// An error of the engine, as bad input where it is that.
pub(crate) fn told(error: EngineError) -> anyhow::Error {
    if error.is_bad_input() {
        bad_input(error)
    } else {
        error.into()
    }
}
