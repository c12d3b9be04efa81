//! The controller's end of a connection: requests, answers, beats, and what becomes of all when it is lost.

use super::shared::{Arrived, News, Shared, State};
use super::transport::Channel;
use super::{ClockSample, Connect};
use crate::HostError;
use crate::wire::{self, Hello, Link, PROTOCOL, Reply, Request, Welcome};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time for the first message after the line that announces it.
const GREETING: Duration = Duration::from_secs(20);
/// Time that an agent has to end everything when it is told to.
const GOODBYE: Duration = Duration::from_secs(30);
/// This prony.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A connection. Dropping it ends everything that was started through it.
#[derive(Debug)]
pub(super) struct Connection {
    shared: Arc<Shared>,
    what: String,
    /// Dropped: no more beats.
    beats: Option<Sender<()>>,
    reader: Option<JoinHandle<()>>,
}

/// A request that is under way.
#[derive(Debug)]
pub(super) struct Asked {
    id: u32,
    answer: Receiver<Arrived>,
}

impl Connection {
    /// Takes over a channel on which an agent has announced itself, and is greeted.
    pub(super) fn greet(connect: &Connect, channel: Channel) -> Result<(Self, Hello), HostError> {
        let host = connect.host.clone();
        let Channel {
            input,
            output,
            conduit,
            protocol,
            rest,
        } = channel;
        if protocol != PROTOCOL {
            return Err(other(&host, format!("speaks protocol {protocol}")));
        }
        let shared = Arc::new(Shared {
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
            // Why it failed is known best by who reads.
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
        // From now on silence counts.
        shared.state().heard = Instant::now();
        thread::spawn(move || shared.beat(&ended));
        Ok((connection, hello))
    }

    fn welcome(&mut self, hello: &Receiver<Vec<u8>>) -> Result<Hello, HostError> {
        let host = self.host().to_owned();
        let first = match hello.recv_timeout(GREETING) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                self.shared.lose("its agent announced itself and said nothing");
                return Err(self.shared.lost());
            }
            Err(RecvTimeoutError::Disconnected) => return Err(self.shared.lost()),
        };
        let Ok(hello) = serde_json::from_slice::<Hello>(&first) else {
            return Err(other(&host, "speaks in another way".to_owned()));
        };
        if hello.version != VERSION {
            return Err(other(&host, format!("is version {}", hello.version)));
        }
        let welcome = Welcome {
            version: VERSION.to_owned(),
            what: self.what.clone(),
            lease_ms: self.shared.lease.as_millis() as u64,
        };
        let welcome = serde_json::to_vec(&welcome).expect("invariant: a welcome is plain data");
        // First of all, also before the first beat.
        self.shared.link.outbox.send_first(0, &welcome);
        Ok(hello)
    }

    pub(super) fn host(&self) -> &str {
        &self.shared.host
    }

    pub(super) fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn link(&self) -> &Arc<Link> {
        &self.shared.link
    }

    /// A number that was not used yet.
    pub(super) fn number(&self) -> u32 {
        self.shared.number.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn lost(&self) -> Option<HostError> {
        let is_lost = self.shared.state().lost.is_some();
        is_lost.then(|| self.shared.lost())
    }

    /// Sends a request and does not wait.
    pub(super) fn send(&self, request: &Request) -> Result<Asked, HostError> {
        let json = self.json(request)?;
        let asked = self.expect_answer();
        self.shared.link.send_message(asked.id, &json);
        Ok(asked)
    }

    /// A request that is about to be sent. Where nothing comes any more, nobody is left who could answer it.
    fn expect_answer(&self) -> Asked {
        let (sender, answer) = mpsc::channel();
        let id = self.number();
        let mut state = self.shared.state();
        if state.lost.is_none() {
            state.waiting.insert(id, sender);
        }
        Asked { id, answer }
    }

    /// Says something that needs no answer.
    pub(super) fn tell(&self, request: &Request) {
        if let Ok(json) = self.json(request) {
            self.shared.link.send_message(self.number(), &json);
        }
    }

    fn json(&self, request: &Request) -> Result<Vec<u8>, HostError> {
        // A path may be anything; JSON is not.
        serde_json::to_vec(request).map_err(|error| HostError::There {
            host: self.host().to_owned(),
            text: format!("what is asked for cannot be sent: {error}; name files in UTF-8"),
        })
    }

    /// Waits for an answer. `what` completes "it did not … within 30 s".
    pub(super) fn answer(&self, asked: &Asked, what: &str, within: Duration) -> Result<Reply, HostError> {
        self.arrived(asked, what, within).map(|(_, reply)| reply)
    }

    fn arrived(&self, asked: &Asked, what: &str, within: Duration) -> Result<(Instant, Reply), HostError> {
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

    /// Asks and waits.
    pub(super) fn ask(&self, request: &Request, what: &str, within: Duration) -> Result<Reply, HostError> {
        let asked = self.send(request)?;
        self.answer(&asked, what, within)
    }

    /// Asks for something that is done or not.
    pub(super) fn done(&self, request: &Request, what: &str, within: Duration) -> Result<(), HostError> {
        match self.ask(request, what, within)? {
            Reply::Done => Ok(()),
            other => Err(self.nonsense(&other)),
        }
    }

    /// Asks for a path.
    pub(super) fn path(
        &self,
        request: &Request,
        what: &str,
        within: Duration,
    ) -> Result<Option<PathBuf>, HostError> {
        match self.ask(request, what, within)? {
            Reply::Path { path } => Ok(path),
            other => Err(self.nonsense(&other)),
        }
    }

    /// An answer that is none to what was asked.
    pub(super) fn nonsense(&self, reply: &Reply) -> HostError {
        let said: String = format!("{reply:?}").chars().take(100).collect();
        HostError::There {
            host: self.host().to_owned(),
            text: format!("its agent answered something else than it was asked: {said}"),
        }
    }

    pub(super) fn clock(&self, within: Duration) -> Result<ClockSample, HostError> {
        let json = self.json(&Request::Clock)?;
        let asked = self.expect_answer();
        let sent = Instant::now();
        self.shared.link.outbox.send_first(asked.id, &json);
        match self.arrived(&asked, "say the time", within)? {
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
            (_, other) => Err(self.nonsense(&other)),
        }
    }

    /// What was said unasked of a process since the last time.
    pub(super) fn news(&self, process: u32) -> News {
        let mut state = self.shared.state();
        state
            .news
            .get_mut(&process)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// From now on what is said of this process is kept.
    pub(super) fn expect_news(&self, process: u32) {
        self.shared.state().news.insert(process, News::default());
    }

    /// Not any more.
    pub(super) fn forget(&self, process: u32) {
        self.shared.state().news.remove(&process);
        self.tell(&Request::Process {
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
            self.tell(&Request::Bye);
            self.shared.link.outbox.close();
            let deadline = Instant::now() + GOODBYE;
            // The reader ends with the agent; beats go on meanwhile no more, so the agent is patient from here on.
            while !self.reader.as_ref().is_none_or(JoinHandle::is_finished) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(2));
            }
        }
        self.beats = None;
        self.shared.lose("it was closed");
    }
}

fn other(host: &str, what: String) -> HostError {
    HostError::OtherProny {
        host: host.to_owned(),
        what,
        ours: format!("version {VERSION} with protocol {PROTOCOL}"),
        remedy: "give the same version on both sides (`program = …` names the one for a host)".to_owned(),
    }
}
