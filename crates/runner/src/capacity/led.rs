//! Loads from the hosts of a lab, led by the controller.

use super::search_and_measure;
use crate::BenchError;
use crate::generators::{Generator, Heard, Loading, ProcessGenerator, Spent};
use crate::testbed::Lab;
use prony_host::{HostError, Placement};
use prony_load::Job;
use prony_records::{Command, Event, Recording};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// Time between two looks at what the caller says.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a job on the workers of a placement, as the engine would run it here.
pub fn load_on(
    generator: &dyn Generator,
    placement: &Placement,
    (job, log): (&Job, &Path),
    on_event: &mut dyn FnMut(Event),
    commands: &Receiver<Command>,
) -> Result<Recording, BenchError> {
    let mut loading = generator.begin(job, placement, log)?;
    loop {
        while let Ok(command) = commands.try_recv() {
            loading.tell(command);
        }
        match loading.next(LOOK) {
            Heard::Event(Event::Recording { recording }) => return Ok(*recording),
            Heard::Event(Event::Failed { reason, .. }) | Heard::Gone(reason) => {
                return Err(BenchError::Failed(reason));
            }
            Heard::Event(event) => on_event(event),
            Heard::Nothing => {}
        }
    }
}

/// The generator of a lab. A search for a rate is the generator's own on one worker; over several it is led from here: each
/// rate is a load of all of them.
#[derive(Clone)]
pub struct LabGenerator {
    processes: ProcessGenerator,
    workers: usize,
}

impl LabGenerator {
    /// The generator of this lab.
    pub fn new(lab: &Lab) -> Self {
        Self {
            processes: ProcessGenerator::new(lab.clone()),
            workers: lab.workers().count(),
        }
    }
}

impl Generator for LabGenerator {
    fn begin(&self, job: &Job, placement: &Placement, log: &Path) -> Result<Box<dyn Loading>, HostError> {
        match &job.search {
            Some(_) if self.workers > 1 => Ok(Box::new(Led::begin(
                self.processes.clone(),
                job.clone(),
                placement.clone(),
                log.to_owned(),
            ))),
            _ => self.processes.begin(job, placement, log),
        }
    }
}

/// A search that is led from here, in a thread of its own.
struct Led {
    events: Receiver<Event>,
    commands: Sender<Command>,
}

impl Led {
    fn begin(generator: ProcessGenerator, job: Job, placement: Placement, log: PathBuf) -> Self {
        let (told, events) = mpsc::channel();
        let (commands, heard) = mpsc::channel();
        std::thread::spawn(move || {
            let Some(search) = job.search.clone() else { return };
            let load = |job: &Job, on_event: &mut dyn FnMut(Event), commands: &Receiver<Command>| {
                load_on(&generator, &placement, (job, &log), on_event, commands)
            };
            // Nobody listens any more when the trial was ended.
            let mut tell = |event: Event| drop(told.send(event));
            let end = match search_and_measure(&job, &search, &load, &mut tell, &heard) {
                Ok(recording) => Event::Recording {
                    recording: Box::new(recording),
                },
                Err(error) => Event::Failed {
                    reason: error.to_string(),
                    fault: error.fault(),
                },
            };
            tell(end);
        });
        Self { events, commands }
    }
}

impl Loading for Led {
    fn next(&mut self, within: Duration) -> Heard {
        match self.events.recv_timeout(within) {
            Ok(event) => Heard::Event(event),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                Heard::Gone("the search for a rate ended without a word".to_owned())
            }
        }
    }

    fn tell(&mut self, command: Command) {
        // A search that is over hears nothing any more.
        let _ = self.commands.send(command);
    }

    /// What each rate's generators used is not added up.
    fn begin_window(&mut self) {}

    fn end_window(&mut self) -> Option<Spent> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::TryRecvError;

    #[test]
    fn a_search_whose_listener_is_gone_is_told_to_end() {
        let (commands, heard) = mpsc::channel::<Command>();
        let (_told, events) = mpsc::channel();
        drop(Led { events, commands });
        assert_eq!(heard.try_recv(), Err(TryRecvError::Disconnected));
    }
}
