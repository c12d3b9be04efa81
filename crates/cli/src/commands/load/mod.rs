//! `prony load`: one load on one URL.
//!
//! `args` is the command line, `job` builds a job from it, `stream` is the interface for other processes, `view` renders output.

mod abort;
mod args;
mod debug;
mod grpc;
mod headers;
mod input;
mod job;
mod llm;
mod metrics;
mod request_input;
mod resolve;
mod stream;
mod template;
mod view;
mod websocket;

pub(crate) use args::{Args, GeneratorArgs, RequestArgs, TrustArgs};
pub(crate) use headers::HeaderArgs;
pub(crate) use input::JobError;
pub(crate) use job::RequestPlan;
pub(crate) use llm::{aim, is_asked, remember_key};
pub(crate) use resolve::server;

use crate::checkout::{Checkout, TestbedArgs};
use crate::exit::{self, ErrorKind, Exit, StoppedEarly, bad_input};
use crate::output::print;
use crate::signals;
use crate::telemetry::{self, LiveMetrics};
use crate::text;
use abort::AbortRule;
use input::DescriptionError;
use metrics::Metrics;
use prony_generator::EngineError;
use prony_host::OtherUsage;
use prony_load::{Job, Target};
use prony_records::{Command, Event, Recording};
use prony_runner::{Cancel, LocalTestbed, ReservedRun, UrlLoad, neighbours, secrets};
use std::path::Path;
use std::sync::mpsc;
use std::time::Instant;
use view::result::LoadResult;

/// Share of the machine that other programs may use during a saved load without a warning.
const BUSY: f64 = 0.05;
/// Number of loads under one name from which on the intervals of a comparison are narrow.
const ENOUGH: u32 = 5;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.job.is_some() {
        return stream::run();
    }
    let job = job::job(args).map_err(no_job)?;
    if args.debug {
        return debug::run(&job);
    }
    llm::advise(&job);
    let wanted = args.save.wanted()?;
    let saving = wanted
        .as_ref()
        .map(|(name, store)| ReservedRun::begin(store, name, &job));
    let saving = saving.transpose()?;
    let fleet = fleet(&args.testbed, &job.target)?;
    if fleet.is_none() {
        warn_of_others();
    }
    let mut view = view::View::new(&job);
    let labels = telemetry::labels(&job, saving.as_ref().map(ReservedRun::name));
    let metrics = Metrics::wanted(args.metrics, &labels)?;
    let live = LiveMetrics::to(args.otlp.as_ref())?;
    let (own_commands, commands) = signals::load_commands()?;
    let objective = args.objective.as_ref().filter(|_| args.abort_on_miss);
    let mut abort = objective.map(|objective| AbortRule::new(&job, objective, own_commands));
    let mut on_event = |event: Event| {
        if let Some(abort) = &mut abort {
            abort.take(&event);
        }
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
    let made = make(fleet.as_ref(), &job, &mut on_event, &commands);
    let took_s = began.elapsed().as_secs_f64();
    let others = watched.and_then(|watched| watched.end());
    view.finish();
    if let Some(live) = &live {
        live.finish();
    }
    let mut recording = match made {
        Ok(Some(recording)) => recording,
        Ok(None) => return Err(StoppedEarly.into()),
        Err(error) => match unreachable(&error) {
            Some(reason) => return no_connection(args.json, reason),
            None => return Err(error),
        },
    };
    secrets::mask_recording(&mut recording);
    // A decision in the last interval has ended nothing early.
    let decided_s = abort
        .and_then(|abort| abort.decided_s())
        .filter(|_| recording.interrupted);
    let result = LoadResult::new(&recording, args.objective.as_ref(), decided_s);
    let exit = tell(args, &result.of_messages(websocket::message_bytes(&job)))?;
    if let Some(saving) = saving {
        let place = args.save.user_store();
        keep(saving, &job, &recording, (took_s, others), place.as_deref())?;
    }
    Ok(exit)
}

/// Prints the result of a load, the verdict first.
fn tell(args: &Args, result: &LoadResult<'_>) -> anyhow::Result<Exit> {
    if args.json {
        print(&result.json().to_string())?;
    } else {
        text::show(&result.text(text::columns()))?;
    }
    Ok(result.exit())
}

/// The error, if there is no recording because no connection could be made.
pub(crate) fn unreachable(error: &anyhow::Error) -> Option<&EngineError> {
    let cause = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<EngineError>());
    cause.filter(|cause| matches!(cause, EngineError::Unreachable { .. }))
}

/// Reports a server that accepts no connection: there is no recording, and the verdict is that of a load without a valid reply.
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

/// Runs a load, from the workers of a testbed if there is one.
fn make(
    fleet: Option<&UrlLoad>,
    job: &Job,
    on_event: &mut dyn FnMut(Event),
    commands: &mpsc::Receiver<Command>,
) -> anyhow::Result<Option<Recording>> {
    match fleet {
        None => here(job, on_event, commands),
        Some(fleet) => Ok(Some(fleet.load(job, on_event, commands)?)),
    }
}

/// Runs a load from this machine; `None` if it was stopped before it started.
fn here(
    job: &Job,
    on_event: &mut dyn FnMut(Event),
    commands: &mpsc::Receiver<Command>,
) -> anyhow::Result<Option<Recording>> {
    match prony_generator::run(job, on_event, commands) {
        Err(EngineError::Stopped) => Ok(None),
        other => other.map(Some).map_err(engine_failure),
    }
}

/// Warns if another prony measures here, because a load does not claim its CPUs.
pub(crate) fn warn_of_others() {
    if let Some(who) = prony_runner::who_measures() {
        eprintln!(
            "warning: {who} measures on these CPUs, and both disturb each other: wait until it ends, or give each its own CPUs \
             (`taskset --cpu-list`)"
        );
    }
}

/// Saves a result under its name, and prints how to compare it; and where it is, if that is at the default `place` of the user.
fn keep(
    saving: ReservedRun<'_>,
    job: &Job,
    recording: &Recording,
    (took_s, others): (f64, Option<OtherUsage>),
    place: Option<&Path>,
) -> anyhow::Result<()> {
    if recording.interrupted {
        eprintln!("prony: not saved: a load that was stopped early is not a measurement");
        return Ok(());
    }
    let name = saving.name().to_owned();
    let count = saving.keep(job, recording.clone(), took_s, others)?;
    let share = others
        .and_then(|others| others.share())
        .filter(|share| *share > BUSY);
    if let Some(share) = share {
        eprintln!(
            "warning: other programs used {:.0} % of the machine during this load: stop them, or compare it with loads that had the \
             same neighbours",
            100.0 * share
        );
    }
    let of = if count < ENOUGH {
        format!("{count} of {ENOUGH} repetitions")
    } else {
        format!("repetition {count}")
    };
    let place = place.map_or_else(String::new, |place| format!(" in {}", place.display()));
    eprintln!("Saved as `{name}` ({of}){place}. → `prony compare {name} OTHER`");
    Ok(())
}

/// Runs a job; errors in the job are bad input.
pub(crate) fn carry_out(job: &Job, on_event: &mut dyn FnMut(Event)) -> anyhow::Result<Recording> {
    let (_commands, none) = mpsc::channel::<Command>();
    prony_generator::run(job, on_event, &none).map_err(engine_failure)
}

/// An invalid command line is bad input, but a service that could not be asked for its methods is a failure.
pub(crate) fn no_job(error: JobError) -> anyhow::Error {
    match error {
        JobError::Description(DescriptionError::Unreachable(error)) => engine_failure(error),
        error => bad_input(error),
    }
}

/// An error of the generator: bad input if the user can fix it, else a failure.
pub(crate) fn engine_failure(error: EngineError) -> anyhow::Error {
    if error.is_bad_input() {
        bad_input(error)
    } else {
        error.into()
    }
}

/// Connects to the workers of a testbed, if one is given or the project names one.
pub(crate) fn fleet(testbed: &TestbedArgs, target: &Target) -> anyhow::Result<Option<UrlLoad>> {
    let Some(file) = testbed.read(Checkout::find().ok().as_ref())? else {
        return Ok(None);
    };
    let logs = std::env::temp_dir().join(format!("prony-load-{}", std::process::id()));
    let workbench = LocalTestbed::new(logs, &Cancel::new())?;
    let tell = |text: &str| eprintln!("{text}");
    Ok(Some(UrlLoad::connect(workbench, &file, target, &tell)?))
}
