//! The controller's end of a connection: requests, replies, beats, and its loss.

use super::shared::{ConnectionState, ProcessNotifications, State, TimedResponse};
use super::transport::Channel;
use super::{ClockSample, Connect};
use crate::HostError;
use crate::sources::sources;
use crate::wire::{self, AgentHello, AgentLink, AgentRequest, ControllerHello, PROTOCOL, Reply};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time from the marker line to the first message.
const GREETING: Duration = Duration::from_secs(20);
/// Time for the agent to end everything on request.
const GOODBYE: Duration = Duration::from_secs(30);
/// The version of this prony.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A connection. Dropping it ends everything that was started through it.
#[derive(Debug)]
pub(super) struct Connection {
    shared: Arc<ConnectionState>,
    what: String,
    /// Dropping it ends the beats.
    beats: Option<Sender<()>>,
    reader: Option<JoinHandle<()>>,
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct PendingRequest {
    id: u32,
    answer: Receiver<TimedResponse>,
}

impl Connection {
    /// Takes over a channel on which an agent has announced itself, and exchanges greetings.
    pub(super) fn greet(connect: &Connect, channel: Channel) -> Result<(Self, AgentHello), HostError> {
        let host = connect.host.clone();
        let Channel {
            input,
            output,
            conduit,
            protocol,
            rest,
        } = channel;
        if protocol != PROTOCOL {
            return Err(other(&host, format!("uses protocol {protocol}")));
        }
        let shared = Arc::new(ConnectionState {
            host,
            lease: connect.lease,
            link: Arc::default(),
            number: AtomicU32::new(1),
            state: Mutex::new(State {
                waiting: HashMap::new(),
                news: HashMap::new(),
                heard: Instant::now(),
                lost: None,
                leaving: false,
            }),
            conduit: Mutex::new(conduit),
        });
        let writer = Arc::clone(&shared);
        thread::spawn(move || {
            // The reader reports a better reason for the failure.
            let _ = writer.link.outbox.write_to(output);
        });
        let (first, hello) = mpsc::channel();
        let reader = Arc::clone(&shared);
        let reader = thread::spawn(move || reader.read(input, &rest, &first));
        let (beats, ended) = mpsc::channel();
        let mut connection = Self {
            shared,
            what: connect.what.clone(),
            beats: Some(beats),
            reader: Some(reader),
        };
        let hello = connection.welcome(&hello)?;
        let shared = Arc::clone(&connection.shared);
        // The lease starts now.
        shared.state().heard = Instant::now();
        thread::spawn(move || shared.beat(&ended));
        Ok((connection, hello))
    }

    fn welcome(&mut self, hello: &Receiver<Vec<u8>>) -> Result<AgentHello, HostError> {
        let host = self.host().to_owned();
        let first = match hello.recv_timeout(GREETING) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                self.shared.lose("its agent sent no message after it had started");
                return Err(self.shared.lost());
            }
            Err(RecvTimeoutError::Disconnected) => return Err(self.shared.lost()),
        };
        let Ok(hello) = serde_json::from_slice::<AgentHello>(&first) else {
            return Err(other(&host, "uses another protocol".to_owned()));
        };
        if hello.version != VERSION {
            return Err(other(&host, format!("is version {}", hello.version)));
        }
        let is_known = !hello.sources.is_empty() && !sources().is_empty();
        if is_known && hello.sources != sources() {
            let text = format!(
                "is another build of version {VERSION}: its sources have the digest {}",
                hello.sources
            );
            return Err(other(&host, text));
        }
        let welcome = ControllerHello {
            version: VERSION.to_owned(),
            what: self.what.clone(),
            lease_ms: self.shared.lease.as_millis() as u64,
        };
        let welcome = serde_json::to_vec(&welcome).expect("invariant: a welcome is plain data");
        // Before everything else, also before the first beat.
        self.shared.link.outbox.send_first(0, &welcome);
        Ok(hello)
    }

    pub(super) fn host(&self) -> &str {
        &self.shared.host
    }

    pub(super) fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn link(&self) -> &Arc<AgentLink> {
        &self.shared.link
    }

    /// An unused number.
    pub(super) fn number(&self) -> u32 {
        self.shared.number.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn lost(&self) -> Option<HostError> {
        let is_lost = self.shared.state().lost.is_some();
        is_lost.then(|| self.shared.lost())
    }

    /// Sends a request without waiting for the reply.
    pub(super) fn send(&self, request: &AgentRequest) -> Result<PendingRequest, HostError> {
        let json = self.json(request)?;
        let asked = self.expect_answer();
        self.shared.link.send_message(asked.id, &json);
        Ok(asked)
    }

    /// Registers a request before it is sent. If the connection is lost, the reply channel is closed at once.
    fn expect_answer(&self) -> PendingRequest {
        let (sender, answer) = mpsc::channel();
        let id = self.number();
        let mut state = self.shared.state();
        if state.lost.is_none() {
            state.waiting.insert(id, sender);
        }
        PendingRequest { id, answer }
    }

    /// Sends a request that needs no reply.
    pub(super) fn tell(&self, request: &AgentRequest) {
        if let Ok(json) = self.json(request) {
            self.shared.link.send_message(self.number(), &json);
        }
    }

    fn json(&self, request: &AgentRequest) -> Result<Vec<u8>, HostError> {
        // A path may be any bytes; JSON must be UTF-8.
        serde_json::to_vec(request).map_err(|error| HostError::There {
            host: self.host().to_owned(),
            text: format!("cannot encode the request: {error}; use file names in UTF-8"),
        })
    }

    /// Waits for the reply. `what` completes "HOST did not … within 30 s".
    pub(super) fn answer(
        &self,
        asked: &PendingRequest,
        what: &str,
        within: Duration,
    ) -> Result<Reply, HostError> {
        self.arrived(asked, what, within).map(|(_, reply)| reply)
    }

    fn arrived(
        &self,
        asked: &PendingRequest,
        what: &str,
        within: Duration,
    ) -> Result<(Instant, Reply), HostError> {
        match asked.answer.recv_timeout(within) {
            Ok((at, answer)) => answer
                .map(|reply| (at, reply))
                .map_err(|fault| fault.on(self.host())),
            Err(RecvTimeoutError::Disconnected) => Err(self.shared.lost()),
            Err(RecvTimeoutError::Timeout) => {
                self.shared.state().waiting.remove(&asked.id);
                Err(HostError::Late {
                    host: self.host().to_owned(),
                    what: what.to_owned(),
                    within,
                })
            }
        }
    }

    /// Sends a request and waits for the reply.
    pub(super) fn ask(
        &self,
        request: &AgentRequest,
        what: &str,
        within: Duration,
    ) -> Result<Reply, HostError> {
        let asked = self.send(request)?;
        self.answer(&asked, what, within)
    }

    /// Sends a request whose reply has no data.
    pub(super) fn done(&self, request: &AgentRequest, what: &str, within: Duration) -> Result<(), HostError> {
        match self.ask(request, what, within)? {
            Reply::Done => Ok(()),
            other => Err(self.unexpected_reply(&other)),
        }
    }

    /// Sends a request whose reply is a path.
    pub(super) fn path(
        &self,
        request: &AgentRequest,
        what: &str,
        within: Duration,
    ) -> Result<Option<PathBuf>, HostError> {
        match self.ask(request, what, within)? {
            Reply::Path { path } => Ok(path),
            other => Err(self.unexpected_reply(&other)),
        }
    }

    /// The error for a reply that does not fit the request.
    pub(super) fn unexpected_reply(&self, reply: &Reply) -> HostError {
        let said: String = format!("{reply:?}").chars().take(100).collect();
        HostError::There {
            host: self.host().to_owned(),
            text: format!("its agent sent an unexpected reply: {said}"),
        }
    }

    pub(super) fn clock(&self, within: Duration) -> Result<ClockSample, HostError> {
        let json = self.json(&AgentRequest::Clock)?;
        let asked = self.expect_answer();
        let sent = Instant::now();
        self.shared.link.outbox.send_first(asked.id, &json);
        match self.arrived(&asked, "report the time", within)? {
            (
                received,
                Reply::Clock {
                    monotonic_ns,
                    wall_ns,
                },
            ) => Ok(ClockSample {
                sent,
                received,
                monotonic_ns,
                wall_ns,
            }),
            (_, other) => Err(self.unexpected_reply(&other)),
        }
    }

    /// The notices about a process since the last call.
    pub(super) fn news(&self, process: u32) -> ProcessNotifications {
        let mut state = self.shared.state();
        state
            .news
            .get_mut(&process)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// From now on notices about this process are kept.
    pub(super) fn expect_news(&self, process: u32) {
        self.shared
            .state()
            .news
            .insert(process, ProcessNotifications::default());
    }

    /// Discards notices about this process, and ends it.
    pub(super) fn forget(&self, process: u32) {
        self.shared.state().news.remove(&process);
        self.tell(&AgentRequest::Process {
            process,
            order: wire::Order::Forget,
        });
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (leaving, lost) = {
            let state = self.shared.state();
            (state.leaving, state.lost.is_some())
        };
        if leaving || !lost {
            self.tell(&AgentRequest::Bye);
            self.shared.link.outbox.close();
            let deadline = Instant::now() + GOODBYE;
            // The reader ends with the agent. The beats continue meanwhile, so that the lease does not expire during the cleanup.
            while !self.reader.as_ref().is_none_or(JoinHandle::is_finished) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(2));
            }
        }
        self.beats = None;
        self.shared.lose("the connection was closed");
    }
}

fn other(host: &str, what: String) -> HostError {
    HostError::OtherProny {
        host: host.to_owned(),
        what,
        ours: format!("version {VERSION} with protocol {PROTOCOL}"),
        remedy: "use the same version on both sides (`program = …` sets the binary for a host)".to_owned(),
    }
}
