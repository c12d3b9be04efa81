//! The interface for other processes that run a load: a job as one JSON line on standard input, then commands; events as
//! JSON lines on standard output. A job that is a share of a larger load ends with a part, all others with a recording.

use super::told;
use crate::exit::{Exit, bad_input};
use anyhow::Context as _;
use prony_generator::EngineError;
use prony_load::Job;
use prony_records::{Command, Event, Fault};
use prony_runner::BenchError;
use prony_runner::designs::capacity::search_and_measure;
use std::cell::Cell;
use std::io::{BufRead as _, Write as _};
use std::sync::mpsc::{self, Receiver};

pub(super) fn run() -> anyhow::Result<Exit> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .context("reading the job from standard input")?;
    let job: Job = serde_json::from_str(&line)
        .context("the first line of standard input is not a job")
        .map_err(bad_input)?;
    let commands = commands();
    let mut broken = None;
    let mut on_event = |event: Event| write(&event, &mut broken);
    // If a search finds no rate, this is the service's fault, too.
    let fault = Cell::new(Fault::Service);
    let explained = |error| {
        fault.set(fault_of(&error));
        told(error)
    };
    let load = |job: &Job, on_event: &mut dyn FnMut(Event), commands: &Receiver<Command>| {
        prony_generator::run(job, on_event, commands).map_err(explained)
    };
    let whole = |recording| Event::Recording {
        recording: Box::new(recording),
    };
    let result = match (&job.share, &job.search) {
        (None, None) => load(&job, &mut on_event, &commands).map(whole),
        (None, Some(search)) => search_and_measure(&job, search, &load, &mut on_event, &commands).map(whole),
        (Some(_), None) => prony_generator::run_part(&job, &mut on_event, &commands)
            .map(|part| Event::Part { part: part.encode() })
            .map_err(explained),
        (Some(_), Some(_)) => Err(bad_input(anyhow::anyhow!(
            "a job cannot have both a share and a search: the controller searches, and gives the workers a rate"
        ))),
    };
    match result {
        Ok(end) => write(&end, &mut broken),
        Err(error) => {
            let reason = error.to_string();
            let of_search = || error.downcast_ref::<BenchError>().map(BenchError::fault);
            let fault = of_search().unwrap_or_else(|| fault.get());
            write(&Event::Failed { reason, fault }, &mut broken);
            return Err(error);
        }
    }
    match broken {
        Some(error) => Err(error).context("writing events to standard output"),
        None => Ok(Exit::Fine),
    }
}

/// An unreachable service is at fault if its host can be reached. Everything else that prevents a load is an infrastructure
/// failure.
fn fault_of(error: &EngineError) -> Fault {
    // ENETUNREACH and EHOSTUNREACH, as the standard library prints them.
    let is_cut = |reason: &str| {
        ["(os error 101)", "(os error 113)"]
            .iter()
            .any(|code| reason.contains(code))
    };
    match error {
        EngineError::Unreachable { reason, .. } if !is_cut(reason) => Fault::Service,
        _ => Fault::Infrastructure,
    }
}

/// Reads commands until the input ends, which stops the load.
fn commands() -> Receiver<Command> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            match serde_json::from_str(&line) {
                Ok(command) => {
                    if sender.send(command).is_err() {
                        return;
                    }
                }
                Err(error) => eprintln!("prony: `{line}` is not a command: {error}"),
            }
        }
        // If the load is over already, there is nothing left to stop.
        let _ = sender.send(Command::Stop);
    });
    receiver
}

fn write(event: &Event, broken: &mut Option<std::io::Error>) {
    let mut line = serde_json::to_vec(event).expect("an event is plain data");
    line.push(b'\n');
    let mut output = std::io::stdout().lock();
    if let Err(error) = output.write_all(&line).and_then(|()| output.flush()) {
        broken.get_or_insert(error);
    }
}
