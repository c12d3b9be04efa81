//! The processes that an agent manages, each in its own thread, so that none waits for another.

use crate::wire::{AgentEvent, AgentLink, AgentResponse, Fault, InboundReader, Order, OutboundWriter, Reply};
use crate::{AttachSpec, ExitReport, Host, HostError, Process, ProcessSpec};
use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two polls of a process without notifications.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) enum ProcessStart {
    /// Start a process, with the streams that become its input and output.
    Start(Box<ProcessSpec>, Option<(InboundReader, OutboundWriter)>),
    /// Attach to a process that already runs.
    Attach(Box<AttachSpec>),
}

/// A job for the thread of a process.
#[derive(Debug)]
enum Job {
    /// Execute this order, and reply with this request id.
    Order(u32, Order),
    /// Something happened to the process: look at it.
    Look,
    /// End the process.
    End,
}

/// All processes of an agent.
pub(super) struct Processes {
    host: Arc<dyn Host>,
    link: Arc<AgentLink>,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    running: HashMap<u32, Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

impl Processes {
    /// No processes yet. They will run on `host` and send their notices over `link`.
    pub(super) fn new(host: &Arc<dyn Host>, link: &Arc<AgentLink>) -> Self {
        Self {
            host: Arc::clone(host),
            link: Arc::clone(link),
            table: Mutex::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts or attaches to a process in a new thread, which sends the reply to request `id`.
    pub(super) fn begin(&self, id: u32, number: u32, begin: ProcessStart) {
        let mut table = self.table();
        if table.closed {
            return;
        }
        let (sender, jobs) = mpsc::channel();
        let keeper = ProcessMonitor {
            number,
            host: Arc::clone(&self.host),
            link: Arc::clone(&self.link),
            reported: (None, 0),
        };
        table.running.insert(number, sender.clone());
        table.threads.retain(|thread| !thread.is_finished());
        table
            .threads
            .push(thread::spawn(move || keeper.run(id, begin, sender, &jobs)));
    }

    /// Passes an order to the thread of a process.
    pub(super) fn order(&self, id: u32, number: u32, order: Order) -> Result<(), Fault> {
        let mut table = self.table();
        if order == Order::Forget {
            if let Some(process) = table.running.remove(&number) {
                let _ = process.send(Job::End);
            }
            return Ok(());
        }
        let process = table.running.get(&number);
        let passed = process.is_some_and(|process| process.send(Job::Order(id, order)).is_ok());
        if passed {
            Ok(())
        } else {
            Err(Fault::other(format!("there is no process {number}")))
        }
    }

    /// Ends all processes concurrently and waits for them.
    pub(super) fn end(&self) {
        let threads = {
            let mut table = self.table();
            table.closed = true;
            for process in table.running.values() {
                let _ = process.send(Job::End);
            }
            std::mem::take(&mut table.threads)
        };
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// Sends a reply.
pub(super) fn answer(link: &AgentLink, id: u32, answer: &AgentResponse) {
    let json = serde_json::to_vec(answer).or_else(|error| {
        let unsaid: AgentResponse = Err(Fault::other(format!("the reply cannot be encoded: {error}")));
        serde_json::to_vec(&unsaid)
    });
    link.send_message(id, &json.expect("invariant: a fault is plain data"));
}

/// Manages one process.
struct ProcessMonitor {
    number: u32,
    host: Arc<dyn Host>,
    link: Arc<AgentLink>,
    /// The state that the controller knows: how the process ended, and the number of warnings.
    reported: (Option<ExitReport>, usize),
}

impl ProcessMonitor {
    fn run(mut self, id: u32, begin: ProcessStart, own: Sender<Job>, jobs: &Receiver<Job>) {
        let mut process = match start(begin, &*self.host) {
            Ok(process) => process,
            Err(error) => return answer(&self.link, id, &Err(error.into())),
        };
        self.reported.1 = process.warnings().len();
        let started = Reply::Started {
            pid: process.pid(),
            age_ns: process.age().as_nanos() as u64,
            address: process.address().map(str::to_owned),
            warnings: process.warnings().to_vec(),
        };
        answer(&self.link, id, &Ok(started));
        let tells = process.on_news(Box::new(move || {
            let _ = own.send(Job::Look);
        }));
        // For events before the callback was registered.
        self.notify_if_changed(&mut *process);
        loop {
            let job = if tells {
                jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                jobs.recv_timeout(LOOK)
            };
            match job {
                Ok(Job::Order(id, order)) => {
                    let done = obey(&mut *process, order);
                    // Before the reply, so that its receiver knows the newest state.
                    self.notify_if_changed(&mut *process);
                    answer(&self.link, id, &done.map_err(Fault::from));
                }
                Ok(Job::Look) | Err(RecvTimeoutError::Timeout) => self.notify_if_changed(&mut *process),
                Ok(Job::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Sends a notice if the state has changed.
    fn notify_if_changed(&mut self, process: &mut dyn Process) {
        let ended = process.ended();
        let now = (ended.clone(), process.warnings().len());
        if now == self.reported {
            return;
        }
        self.reported = now;
        let notice = AgentEvent::Process {
            process: self.number,
            ended,
            warnings: process.warnings().to_vec(),
        };
        let json = serde_json::to_vec(&notice).expect("invariant: a notice is plain data");
        self.link.send_message(0, &json);
    }
}

fn start(begin: ProcessStart, host: &dyn Host) -> Result<Box<dyn Process>, HostError> {
    match begin {
        ProcessStart::Attach(spec) => host.attach(&spec),
        ProcessStart::Start(spec, streams) => {
            let mut process = host.start(&spec)?;
            if let (Some((input, output)), Some(streams)) = (process.take_pipes(), streams) {
                pump(streams.0, input);
                pump(output, streams.1);
            }
            Ok(process)
        }
    }
}

/// Copies bytes until the reader ends or the writer fails. Then it closes both.
fn pump(mut from: impl io::Read + Send + 'static, mut to: impl io::Write + Send + 'static) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
    });
}

fn obey(process: &mut dyn Process, order: Order) -> Result<Reply, HostError> {
    Ok(match order {
        Order::Memory => Reply::Memory {
            bytes: process.memory_bytes(),
        },
        Order::Footprint => Reply::Footprint(process.footprint()),
        Order::Files => Reply::Files {
            paths: process.used_files(),
        },
        Order::Rest => process.rest().map(|()| Reply::Done)?,
        Order::Wake => process.wake().map(|()| Reply::Done)?,
        Order::BeginWindow => process.begin_window().map(|()| Reply::Done)?,
        Order::EndWindow => Reply::Usage(Box::new(process.end_window()?)),
        Order::Stop => Reply::Stopped(process.stop()?),
        Order::LogTail(lines) => Reply::Log {
            lines: process.log_tail(lines as usize),
        },
        Order::Forget => Reply::Done,
    })
}
