//! The phases of a load: ready, warm-up, measurement, drain; and the intervals in them.

use super::connection::Connection;
use super::{Control, Gathering, IntervalPart, Message, Worker};
use crate::clock::{ThreadTime, now_ns};
use crate::layer::Layer;
use crate::protocol::Protocol;
use crate::recorder::Part;
use crate::transport::Transport;
use prony_measurement::Phase;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The load begins without the connections that are still missing when none has opened for so long, ns. A lost first packet
/// is sent again after one second, and after two more.
const PATIENCE: u64 = 3_000_000_000;

/// Where in the phases the worker is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PhaseClock {
    pub(super) begin: u64,
    pub(super) interval: u64,
    interval_begin: u64,
    /// End of the measurement, once it is over.
    pub(super) end: u64,
}

impl<P: Protocol, L: Layer, T: Transport> Worker<P, L, T> {
    /// Moves on to the next phase or interval where its time has come; `false`: all is over.
    pub(super) fn keep_phases(&mut self, now: u64) -> bool {
        let control = Arc::clone(&self.lines.control);
        if control.abort.load(Ordering::Relaxed) {
            return false;
        }
        match self.core.phase {
            None => self.keep_ready(&control, now),
            Some(phase @ (Phase::WarmUp | Phase::Measurement)) => self.keep_load(phase, &control, now),
            Some(Phase::Drain) => {
                if self.core.is_quiet() || now >= self.clock.end + self.drain_ns {
                    self.core.abandon(now);
                    self.act();
                    self.hand_over(Phase::Drain, now);
                    return false;
                }
            }
        }
        true
    }

    fn keep_ready(&mut self, control: &Control, now: u64) {
        let idle = self.core.connecting == 0 && self.core.to_connect.is_empty();
        let tried = || idle && self.core.connections.iter().all(Connection::was_tried);
        if !self.told_ready && (self.core.mode.is_users() || tried() || self.gathers_no_more(now)) {
            self.told_ready = true;
            let _ = self.lines.messages.send(Message::Ready {
                open: self.core.totals.most_open,
                error: self.core.totals.connect_error.clone(),
            });
        }
        let start = control.start.load(Ordering::Relaxed);
        if now < start {
            return;
        }
        let measure = control.measure.load(Ordering::Relaxed);
        if measure <= start {
            self.begin(Phase::Measurement, measure, control.stop.load(Ordering::Relaxed));
        } else {
            self.begin(Phase::WarmUp, start, u64::MAX);
        }
        for number in 0..self.core.connections.len() as u32 {
            self.core.make_use_of(number, now_ns());
            self.act();
        }
    }

    /// Whether no connection has opened for long. A server that serves one connection at a time waits for the request of the
    /// first one while the others wait for it: only the load itself gets them further.
    fn gathers_no_more(&mut self, now: u64) -> bool {
        let open = self.core.totals.most_open;
        if self.gathering.since == 0 || open > self.gathering.open {
            self.gathering = Gathering { open, since: now };
        }
        // Where none is open yet, the first attempts must have failed, so that there is a reason to tell.
        let patience = if open == 0 {
            self.core.timeout + PATIENCE
        } else {
            PATIENCE
        };
        now >= self.gathering.since.saturating_add(patience)
    }

    fn keep_load(&mut self, phase: Phase, control: &Control, now: u64) {
        let end = match phase {
            Phase::WarmUp => control.measure.load(Ordering::Relaxed),
            _ => control.stop.load(Ordering::Relaxed),
        };
        let interval_end = self.clock.begin + (self.clock.interval + 1) * self.interval_ns;
        if now < interval_end.min(end) {
            return;
        }
        if now >= end {
            self.hand_over(phase, end);
            if phase == Phase::WarmUp {
                self.begin(Phase::Measurement, end, control.stop.load(Ordering::Relaxed));
            } else {
                self.measured.used = ThreadTime::of_this_thread().since(self.measured.used);
                self.measured.looked_ns = self.looked_ns;
                self.measured.length_ns = end - self.clock.begin;
                self.clock.end = end;
                self.core.begin_drain(end, now);
                let open = self.core.open;
                let _ = self.lines.messages.send(Message::Began {
                    phase: Phase::Drain,
                    open,
                });
                self.act();
            }
        } else {
            self.hand_over(phase, interval_end);
        }
    }

    fn begin(&mut self, phase: Phase, begin: u64, until: u64) {
        self.core.begin_phase(phase, begin, until);
        self.clock = PhaseClock {
            begin,
            interval_begin: begin,
            ..PhaseClock::default()
        };
        if phase == Phase::Measurement {
            self.measured.open_at_begin = self.core.open;
            self.measured.used = ThreadTime::of_this_thread();
            self.looked_ns = 0;
        }
        let open = self.core.open;
        let _ = self.lines.messages.send(Message::Began { phase, open });
    }

    /// Hands over what was recorded since the last time.
    fn hand_over(&mut self, phase: Phase, end: u64) {
        let empty = self
            .lines
            .empties
            .try_recv()
            .unwrap_or_else(|_| Box::new(Part::new(self.shape)));
        let part = self.core.recorder.swap(empty);
        let message = IntervalPart {
            thread: self.place.thread,
            phase,
            index: self.clock.interval,
            begin: self.clock.interval_begin - self.clock.begin,
            end: end.saturating_sub(self.clock.begin),
            part,
        };
        self.clock.interval += 1;
        self.clock.interval_begin = end;
        let _ = self.lines.messages.send(Message::Interval(Box::new(message)));
    }
}
