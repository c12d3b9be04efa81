//! The phases of a load (ready, warm-up, measurement, drain) and their intervals.

use super::channels::{Message, Times, WorkerInterval};
use super::intervals::PhaseClock;
use super::run::Worker;
use crate::clock::{ThreadTime, now_ns};
use crate::transport::Transport;
use prony_merge::Tally;
use prony_protocols::layer::Layer;
use prony_protocols::protocol::Protocol;
use prony_records::Phase;
use std::sync::atomic::Ordering;

/// The load starts without the missing connections if none has opened for this time, ns. A lost first packet is
/// retransmitted after one second, and again after two more.
const PATIENCE: u64 = 3_000_000_000;

impl<P: Protocol, L: Layer, T: Transport> Worker<P, L, T> {
    /// Enters the next phase or interval if it is time; `false`: everything is over.
    pub(super) fn keep_phases(&mut self, now: u64) -> bool {
        if self.lines.control.abort.load(Ordering::Relaxed) {
            return false;
        }
        let times = self.lines.control.times();
        match self.core.phase {
            None => self.keep_ready(times, now),
            Some(phase @ (Phase::WarmUp | Phase::Measurement)) => self.keep_load(phase, times, now),
            Some(Phase::Drain) => {
                if self.core.is_quiet() || now >= self.clock.end.saturating_add(self.drain_ns) {
                    self.core.abandon(now);
                    self.act();
                    let end = self.clock.end;
                    self.hand_over(Phase::Drain, (self.clock.interval, end, now));
                    return false;
                }
            }
        }
        true
    }

    fn keep_ready(&mut self, times: Times, now: u64) {
        let is_ready = || self.core.policy.is_users() || self.core.has_tried() || self.gathering_is_over(now);
        if !self.gathering.is_told && is_ready() {
            self.gathering.is_told = true;
            self.tell(Message::Ready {
                open: self.core.totals.most_open,
                error: self.core.totals.connect_error.clone(),
            });
        }
        let open = self.core.totals.most_open;
        if self.gathering.since == 0 || open > self.gathering.open {
            (self.gathering.open, self.gathering.since) = (open, now);
        }
        if now < times.start {
            return;
        }
        if times.measure <= times.start {
            self.begin(Phase::Measurement, times.measure, times.stop);
        } else {
            self.begin(Phase::WarmUp, times.start, u64::MAX);
        }
        for number in 0..self.core.connections() {
            self.core.use_connection(number, now_ns());
            self.act();
        }
    }

    /// Whether no connection has opened for a long time. A server that serves one connection at a time waits for the
    /// request of the first one while the others wait for it: only the load itself makes progress then.
    fn gathering_is_over(&self, now: u64) -> bool {
        // If none is open yet, wait until the first attempts must have failed, so that there is an error to report.
        let patience = if self.core.totals.most_open == 0 {
            self.core.timeout().saturating_add(PATIENCE)
        } else {
            PATIENCE
        };
        self.gathering.since > 0 && now >= self.gathering.since.saturating_add(patience)
    }

    fn keep_load(&mut self, phase: Phase, times: Times, now: u64) {
        let end = match phase {
            Phase::WarmUp => times.measure,
            _ => times.stop,
        };
        while let Some(over) = self.clock.next_over(now, self.interval_ns, end) {
            self.hand_over(phase, over);
            self.core.retire_old_connections(now);
        }
        if now < end {
            return self.tell_exhausted(phase);
        }
        if phase == Phase::WarmUp {
            return self.begin(Phase::Measurement, end, times.stop);
        }
        self.measured.used = ThreadTime::of_this_thread().since(self.measured.used);
        self.measured.looked_ns = self.looked_ns;
        self.measured.length_ns = end.saturating_sub(self.clock.begin);
        self.clock.end = end;
        self.core.begin_drain(end, now);
        self.measured.span_ns = now.saturating_sub(self.clock.begin);
        self.measured.connected_ns = self.core.ledger.recorder.connections.sum();
        self.measured.paused_ns = self.core.ledger.recorder.pauses.sum();
        self.tell(Message::Began {
            phase: Phase::Drain,
            open: self.core.open,
        });
        self.act();
    }

    /// If the requests of the measurement are counted: reports once that all have ended.
    fn tell_exhausted(&mut self, phase: Phase) {
        if phase == Phase::Measurement
            && self.lines.control.pool.is_some()
            && !self.told_exhausted
            && let Some(last) = self.core.exhausted()
        {
            self.told_exhausted = true;
            self.tell(Message::Exhausted(last));
        }
    }

    fn begin(&mut self, phase: Phase, begin: u64, until: u64) {
        let pool = self.lines.control.pool.as_ref();
        let pool = pool.filter(|_| phase == Phase::Measurement);
        self.core.begin_phase(phase, (begin, until), pool);
        self.clock = PhaseClock::at(begin);
        if phase == Phase::Measurement {
            self.measured.noticed = now_ns();
            self.measured.open_at_begin = self.core.open;
            self.measured.used = ThreadTime::of_this_thread();
            self.looked_ns = 0;
        }
        self.tell(Message::Began {
            phase,
            open: self.core.open,
        });
    }

    /// Hands over the data recorded since the last time.
    fn hand_over(&mut self, phase: Phase, (index, begin, end): (u64, u64, u64)) {
        let empty = self
            .lines
            .empties
            .try_recv()
            .unwrap_or_else(|_| Box::new(Tally::new(self.shape)));
        let tally = self.core.ledger.recorder.swap(empty);
        let counted = WorkerInterval {
            thread: self.thread,
            phase,
            index,
            begin: begin.saturating_sub(self.clock.begin),
            end: end.saturating_sub(self.clock.begin),
            tally,
        };
        self.tell(Message::Interval(Box::new(counted)));
    }

    /// The send fails if the caller has returned; the message is not needed then.
    pub(super) fn tell(&self, message: Message) {
        let _ = self.lines.messages.send(message);
    }
}
