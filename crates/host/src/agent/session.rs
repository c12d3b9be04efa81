//! One connection, from the greeting to the end of everything that was started through it.

use super::files;
use super::folders::Folders;
use super::processes::{ProcessStart, Processes, answer};
use super::{cache, pin};
use crate::wire::{
    AGENT, AgentEvent, AgentHello, AgentLink, AgentRequest, AgentResponse, ControllerHello, Fault,
    InboundReader, Inbox, Item, OutboundWriter, PROTOCOL, Reply,
};
use crate::{Host, Locks, cpu_lease::CpuLease};
use nix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time for the controller to reply to the greeting.
const WELCOME: Duration = Duration::from_mins(1);
/// Poll interval until the welcome has arrived.
const SHORT: Duration = Duration::from_millis(200);
/// Maximum number of requests that are processed concurrently.
const MOST_AT_ONCE: u32 = 256;

pub(super) struct Session {
    host: Arc<dyn Host>,
    folders: Folders,
    link: Arc<AgentLink>,
    processes: Processes,
    claims: Mutex<HashMap<u32, CpuLease>>,
    at_work: AtomicU32,
    life: Mutex<LeaseClock>,
    end: Sender<String>,
}

/// When the controller last sent something, and for how long it may be silent.
#[derive(Debug)]
struct LeaseClock {
    heard: Instant,
    lease: Duration,
    welcome: bool,
}

impl Session {
    /// A connection to `host`. A reason sent to `end` ends it.
    pub(super) fn new(host: Box<dyn Host>, folders: Folders, end: Sender<String>) -> Self {
        let (host, link) = (Arc::from(host), Arc::default());
        Self {
            processes: Processes::new(&host, &link),
            host,
            folders,
            link,
            claims: Mutex::default(),
            at_work: AtomicU32::new(0),
            life: Mutex::new(LeaseClock {
                heard: Instant::now(),
                lease: WELCOME,
                welcome: false,
            }),
            end,
        }
    }

    /// Serves until the input ends, the lease expires or something else ends the session; then ends everything.
    pub(super) fn serve(
        self,
        hello: &AgentHello,
        input: impl Read + Send + 'static,
        mut output: impl Write + Send + 'static,
        ended: &Receiver<String>,
    ) {
        let session = Arc::new(self);
        // On a line of its own: earlier output may lack a line end.
        let marker = format!("\n{AGENT}{PROTOCOL}]]\n");
        let hello = serde_json::to_vec(hello).expect("invariant: a greeting is plain data");
        session.link.send_message(0, &hello);
        let writer = Arc::clone(&session);
        let writer = thread::spawn(move || {
            let written = output.write_all(marker.as_bytes());
            let written = written.and_then(|()| writer.link.outbox.write_to(&mut output));
            if let Err(error) = written {
                let _ = writer.end.send(format!("its output ended: {error}"));
            }
            // Closing it tells the controller that everything is cleaned up.
            output
        });
        let reader = Arc::clone(&session);
        thread::spawn(move || {
            let reason = reader.read(input);
            let _ = reader.end.send(reason);
        });
        let reason = session.until_end(ended);
        session.say_leaving(&reason);
        session.link.end(&reason);
        session.processes.end();
        session.claims().clear();
        session.folders.clear();
        // A writer that hangs on a broken network ends with this process.
        let deadline = Instant::now() + Duration::from_millis(500);
        while !writer.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn life(&self) -> MutexGuard<'_, LeaseClock> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claims(&self) -> MutexGuard<'_, HashMap<u32, CpuLease>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of the session and returns the reason.
    fn until_end(&self, ended: &Receiver<String>) -> String {
        loop {
            let (until, lease, welcome) = {
                let life = self.life();
                (life.heard + life.lease, life.lease, life.welcome)
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return format!(
                    "it received nothing from its controller for {} s",
                    lease.as_secs()
                );
            }
            // The lease is set by the welcome.
            let sleep = if welcome { left } else { left.min(SHORT) };
            match ended.recv_timeout(sleep) {
                Ok(reason) => return reason,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    fn say_leaving(&self, reason: &str) {
        let notice = AgentEvent::Leaving {
            reason: reason.to_owned(),
        };
        let json = serde_json::to_vec(&notice).expect("invariant: a notice is plain data");
        self.link.send_message(0, &json);
    }

    /// Reads until the input ends and returns the reason.
    fn read(self: &Arc<Self>, mut input: impl Read) -> String {
        let mut inbox = Inbox::default();
        let mut buffer = vec![0; 128 << 10];
        loop {
            let length = match input.read(&mut buffer) {
                Ok(0) => return "its controller disconnected".to_owned(),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return format!("its input failed: {error}"),
            };
            let clocks = clocks();
            self.life().heard = Instant::now();
            inbox.push(&buffer[..length]);
            loop {
                let taken = match inbox.pop() {
                    Ok(None) => break,
                    Ok(Some(Item::Message { id, json })) => self.handle_message(id, &json, clocks),
                    Ok(Some(item)) => self.link.take(item),
                    Err(error) => Err(error.to_string()),
                };
                match taken {
                    Ok(()) => {}
                    Err(reason) => return format!("its controller violated the protocol: {reason}"),
                }
            }
        }
    }

    /// Handles a message. Slow requests go to a thread, so that beats and clock samples never wait.
    fn handle_message(self: &Arc<Self>, id: u32, json: &[u8], clocks: (u64, u64)) -> Result<(), String> {
        if !self.life().welcome {
            let welcome: ControllerHello = serde_json::from_slice(json).map_err(|error| error.to_string())?;
            let mut life = self.life();
            (life.welcome, life.lease) = (true, Duration::from_millis(welcome.lease_ms));
            return Ok(());
        }
        let request = match serde_json::from_slice(json) {
            Ok(request) => request,
            Err(error) => {
                self.answer(id, &Err(Fault::other(format!("unknown request: {error}"))));
                return Ok(());
            }
        };
        match request {
            AgentRequest::Beat => self.answer_first(id, Reply::Done),
            AgentRequest::Clock => self.answer_first(
                id,
                Reply::Clock {
                    monotonic_ns: clocks.0,
                    wall_ns: clocks.1,
                },
            ),
            AgentRequest::Bye => {
                let _ = self.end.send("its controller requested it".to_owned());
            }
            AgentRequest::Process { process, order } => {
                if let Err(fault) = self.processes.order(id, process, order) {
                    self.answer(id, &Err(fault));
                }
            }
            AgentRequest::Start { .. } | AgentRequest::Attach { .. } => self.begin(id, request),
            AgentRequest::Put {
                to,
                hash,
                bytes,
                stream,
            } => {
                // Opened here, since its first bytes may directly follow this message.
                let mut stream = InboundReader::open(&self.link, stream);
                self.work(id, move |session| {
                    files::put(&session.folders, &to, hash.as_deref(), bytes, &mut stream)
                });
            }
            AgentRequest::Get { from, stream } => self.work(id, move |session| {
                let file = files::open(&session.folders, &from)?;
                let stream = OutboundWriter::open(&session.link, stream);
                thread::spawn(move || files::send(file, stream));
                Ok(Reply::Done)
            }),
            other => self.work(id, move |session| session.do_it(other)),
        }
        Ok(())
    }

    /// Starts or attaches to a process.
    fn begin(&self, id: u32, request: AgentRequest) {
        match request {
            AgentRequest::Start {
                process,
                mut spec,
                streams,
            } => {
                spec.folder = self.folders.resolve(&spec.folder);
                spec.log = self.folders.resolve(&spec.log);
                let streams = streams.map(|(input, output)| {
                    (
                        InboundReader::open(&self.link, input),
                        OutboundWriter::open(&self.link, output),
                    )
                });
                self.processes
                    .begin(id, process, ProcessStart::Start(spec, streams));
            }
            AgentRequest::Attach { process, spec } => {
                self.processes.begin(id, process, ProcessStart::Attach(spec));
            }
            _ => {}
        }
    }

    fn answer(&self, id: u32, said: &AgentResponse) {
        answer(&self.link, id, said);
    }

    fn answer_first(&self, id: u32, reply: Reply) {
        let said: AgentResponse = Ok(reply);
        let json = serde_json::to_vec(&said).expect("invariant: numbers are plain data");
        self.link.outbox.send_first(id, &json);
    }

    /// Runs a request in its own thread and sends the reply.
    fn work(self: &Arc<Self>, id: u32, what: impl FnOnce(&Self) -> AgentResponse + Send + 'static) {
        if self.at_work.fetch_add(1, Ordering::Relaxed) >= MOST_AT_ONCE {
            self.at_work.fetch_sub(1, Ordering::Relaxed);
            let text = format!("more than {MOST_AT_ONCE} concurrent requests");
            return self.answer(id, &Err(Fault::other(text)));
        }
        let session = Arc::clone(self);
        thread::spawn(move || {
            let said = what(&session);
            session.answer(id, &said);
            session.at_work.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Handles the requests that need neither streams nor a process.
    fn do_it(&self, request: AgentRequest) -> AgentResponse {
        Ok(match request {
            AgentRequest::FreePort => Reply::Port {
                port: self.host.free_port()?,
            },
            AgentRequest::Watch { window_ns } => Reply::Machine {
                usage: self.host.watch(Duration::from_nanos(window_ns)),
            },
            AgentRequest::Environment => Reply::Environment(Box::new(self.host.environment())),
            AgentRequest::MemoryAvailable => Reply::Memory {
                bytes: self.host.memory_available_bytes(),
            },
            AgentRequest::PageCache(mut request) => {
                request.folder = request.folder.map(|folder| self.folders.resolve(&folder));
                Reply::PageCache(self.host.page_cache(&request)?)
            }
            AgentRequest::Pin { cpus } => pin(&cpus).map(|()| Reply::Done)?,
            AgentRequest::Claim { claim, cpus, what } => {
                let held = Locks::of_this_machine()?.claim(&cpus, &what)?;
                self.claims().insert(claim, held);
                Reply::Done
            }
            AgentRequest::Release { claim } => {
                self.claims().remove(&claim);
                Reply::Done
            }
            AgentRequest::Kept { hash } => Reply::Path {
                path: cache::find(&self.folders, &hash)
                    .map_err(|error| Fault::other(format!("cannot use its cache: {error}")))?,
            },
            AgentRequest::Which { program } => files::which(&program),
            AgentRequest::Look { path } => files::look(&self.folders, &path),
            AgentRequest::Remove { path } => files::forget(&self.folders, &path)?,
            other => return Err(Fault::other(format!("{other:?} is not expected here"))),
        })
    }
}

/// The monotonic clock and the wall clock, ns.
pub(super) fn clocks() -> (u64, u64) {
    let read = |clock| {
        let time = clock_gettime(clock).map(Duration::from).unwrap_or_default();
        time.as_nanos() as u64
    };
    (read(ClockId::CLOCK_MONOTONIC), read(ClockId::CLOCK_REALTIME))
}
