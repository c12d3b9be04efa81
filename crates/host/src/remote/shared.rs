//! State shared by the threads of a connection: pending requests, notices, and why the connection is lost.

use super::transport::TransportGuard;
use crate::wire::{AgentEvent, AgentLink, AgentRequest, AgentResponse, Inbox, Item};
use crate::{ExitReport, HostError};
use prony_records::Warning;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const BEAT: Duration = Duration::from_secs(1);

/// A reply, and when it arrived.
pub(super) type TimedResponse = (Instant, AgentResponse);

#[derive(Debug)]
pub(super) struct ConnectionState {
    pub(super) host: String,
    pub(super) lease: Duration,
    pub(super) link: Arc<AgentLink>,
    /// The next number of a request, stream, process or claim.
    pub(super) number: AtomicU32,
    pub(super) state: Mutex<State>,
    pub(super) conduit: Mutex<Box<dyn TransportGuard>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) waiting: HashMap<u32, Sender<TimedResponse>>,
    pub(super) news: HashMap<u32, ProcessNotifications>,
    pub(super) heard: Instant,
    pub(super) lost: Option<String>,
    /// Whether the agent announced its end.
    pub(super) leaving: bool,
}

/// Notices of an agent about a process.
#[derive(Debug, Clone, Default)]
pub(super) struct ProcessNotifications {
    pub(super) ended: Option<ExitReport>,
    pub(super) warnings: Option<Vec<Warning>>,
}

impl ConnectionState {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lost(&self) -> HostError {
        let reason = self.state().lost.clone();
        HostError::Lost {
            host: self.host.clone(),
            reason: reason.unwrap_or_else(|| "the connection ended".to_owned()),
        }
    }

    /// All waiting and all later requests fail.
    pub(super) fn give_up(&self, reason: &str) {
        {
            let mut state = self.state();
            state.lost.get_or_insert_with(|| reason.to_owned());
            state.waiting.clear();
        }
        self.link.end(reason);
    }

    /// The same, and closes the channel.
    pub(super) fn lose(&self, reason: &str) {
        self.give_up(reason);
        self.conduit.lock().unwrap_or_else(PoisonError::into_inner).end();
    }

    /// Reads until the agent ends. The first message is passed to `first`.
    pub(super) fn read(&self, mut input: File, rest: &[u8], first: &Sender<Vec<u8>>) {
        let mut inbox = Inbox::default();
        inbox.push(rest);
        let mut buffer = vec![0; 128 << 10];
        let mut greeted = false;
        loop {
            loop {
                let item = match inbox.pop() {
                    Ok(Some(item)) => item,
                    Ok(None) => break,
                    Err(error) => return self.lose(&format!("its agent violated the protocol: {error}")),
                };
                let taken = match item {
                    Item::Message { json, .. } if !greeted => {
                        greeted = true;
                        let _ = first.send(json);
                        Ok(())
                    }
                    Item::Message { id, json } => self.handle_message(id, &json),
                    item => self.link.take(item),
                };
                if let Err(error) = taken {
                    return self.lose(&format!("its agent violated the protocol: {error}"));
                }
            }
            let length = match input.read(&mut buffer) {
                Ok(0) if self.state().leaving => return self.lose("its agent ended"),
                Ok(0) => return self.lose(&self.why_it_ended()),
                Ok(length) => length,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return self.lose(&error.to_string()),
            };
            self.state().heard = Instant::now();
            inbox.push(&buffer[..length]);
        }
    }

    fn why_it_ended(&self) -> String {
        let mut conduit = self.conduit.lock().unwrap_or_else(PoisonError::into_inner);
        match conduit.said() {
            Some(said) => format!("its agent ended: {said}"),
            None => "its agent ended without a message; was it killed, or the host switched off?".to_owned(),
        }
    }

    fn handle_message(&self, id: u32, json: &[u8]) -> Result<(), String> {
        let arrived = Instant::now();
        let wrong = |error: serde_json::Error| error.to_string();
        if id != 0 {
            let answer: AgentResponse = serde_json::from_slice(json).map_err(wrong)?;
            if let Some(waiting) = self.state().waiting.remove(&id) {
                let _ = waiting.send((arrived, answer));
            }
            return Ok(());
        }
        let mut state = self.state();
        match serde_json::from_slice(json).map_err(wrong)? {
            AgentEvent::Process {
                process,
                ended,
                warnings,
            } => {
                if let Some(news) = state.news.get_mut(&process) {
                    news.ended = ended.or_else(|| news.ended.take());
                    news.warnings = Some(warnings);
                }
            }
            AgentEvent::Leaving { reason } => {
                state.leaving = true;
                drop(state);
                // The agent cleans up and ends by itself.
                self.give_up(&format!("its agent ended: {reason}"));
            }
        }
        Ok(())
    }

    /// Sends beats and checks that the agent does, until the connection is dropped or lost.
    pub(super) fn beat(&self, ended: &Receiver<()>) {
        let beat = serde_json::to_vec(&AgentRequest::Beat).expect("invariant: a beat is plain data");
        loop {
            // No request has this id: the reply only shows that the agent lives.
            self.link.outbox.send_first(u32::MAX, &beat);
            let left = self.lease.saturating_sub(self.state().heard.elapsed());
            // One millisecond later the lease has either expired or been renewed.
            let sleep = BEAT.min(self.lease / 4).min(left + Duration::from_millis(1));
            match ended.recv_timeout(sleep) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return,
            }
            let (silent, lost) = {
                let state = self.state();
                (state.heard.elapsed(), state.lost.is_some())
            };
            if lost {
                return;
            }
            if silent > self.lease {
                return self.lose(&format!(
                    "received nothing from it for {} s; is it switched off, or is the network down?",
                    self.lease.as_secs()
                ));
            }
        }
    }
}
