//! What one thread counts: a [`Tally`] for each interval.

mod answers;
mod completed_request;
mod level;

use completed_request::since;
pub(crate) use completed_request::{Ending, Epoch, Finished};

use crate::log::{Line, Logbook};
use answers::Answers;
use level::Level;
use prony_load::Job;
use prony_load::events::{Chat, IdStep};
use prony_merge::{Answer, Answered, GRPC_STATUSES, LlmTally, STATUSES, Shape, Tally};
use prony_records::{Outcome, Phase};

/// Counts for one worker.
#[derive(Debug)]
pub(crate) struct Recorder {
    tally: Box<Tally>,
    epoch: Epoch,
    /// Begin of the phase: a request belongs to it when it was due from here on.
    begin: u64,
    /// Whether what happens now is inside the phase, not in the drain after it.
    window_open: bool,
    /// When the drain began.
    closed: u64,
    /// Whether the drain is over: a request that ends now ends because nobody waits for it any longer.
    drain_over: bool,
    /// Longest time from when a request was due to its reply.
    timeout: u64,
    /// Open connections, and slots that pause.
    pub(crate) connections: Level,
    pub(crate) pauses: Level,
    /// Where a log is wanted.
    log: Option<Box<Logbook>>,
    /// Where the replies of the whole load are counted.
    answers: Option<Answers>,
}

impl Recorder {
    pub(crate) fn new(job: &Job) -> Self {
        Self {
            tally: Box::new(Tally::new(Shape::of(job))),
            epoch: Epoch::FIRST,
            begin: 0,
            window_open: false,
            closed: 0,
            drain_over: false,
            timeout: job.timeout_ns,
            connections: Level::default(),
            pauses: Level::default(),
            log: None,
            answers: Answers::of(job),
        }
    }

    /// What all requests came to, where that is counted.
    pub(crate) fn answered(&self) -> Answered {
        self.answers.as_ref().map(Answers::sum).unwrap_or_default()
    }

    /// Logs what is recorded from now on.
    pub(crate) fn log_to(&mut self, log: Option<Logbook>) {
        self.log = log.map(Box::new);
    }

    /// A phase begins: what is measured is logged.
    pub(crate) fn log_in(&mut self, phase: Phase) {
        if let Some(log) = &mut self.log {
            log.is_on = phase == Phase::Measurement;
        }
    }

    /// A phase begins: from now on its requests are recorded, and no others.
    pub(crate) const fn begin(&mut self, begin: u64) {
        self.begin = begin;
        self.epoch = self.epoch.next();
        self.window_open = true;
        self.connections.begin(begin);
        self.pauses.begin(begin);
    }

    /// The phase is over. Every request that is still open belongs to the sample, whenever it was due, and is recorded when it
    /// ends.
    pub(crate) const fn close_window(&mut self, now: u64) {
        self.window_open = false;
        self.closed = now;
        self.connections.close(now);
        self.pauses.close(now);
    }

    /// The drain is over: what is still open now counts with its age.
    pub(crate) const fn end_drain(&mut self) {
        self.drain_over = true;
    }

    /// A connection has opened, on which so many slots pause.
    pub(crate) fn connection_opened(&mut self, pausing: u32, now: u64) {
        self.connections.rise(now);
        (0..pausing).for_each(|_| self.pauses.rise(now));
    }

    /// A connection has closed, on which so many slots pause: from now on they wait for it.
    pub(crate) fn connection_closed(&mut self, pausing: u32, now: u64) {
        self.connections.fall(now);
        (0..pausing).for_each(|_| self.pauses.fall(now));
    }

    /// Whether a request is one of the sample that the phase records. What ends in the drain was due in the phase, or before it
    /// and still open when it closed.
    fn samples(&self, epoch: Epoch) -> bool {
        epoch == self.epoch || !self.window_open
    }

    /// Whether a request that ends now without a valid reply is still open: the drain was too short for its timeout.
    const fn is_open(&self, intended: u64, now: u64) -> bool {
        self.drain_over && now.saturating_sub(intended) < self.timeout
    }

    /// Hands out what was recorded, and goes on with `empty`.
    pub(crate) const fn swap(&mut self, empty: Box<Tally>) -> Box<Tally> {
        std::mem::replace(&mut self.tally, empty)
    }

    const fn owns(&self, intended: u64) -> bool {
        intended >= self.begin
    }

    pub(crate) const fn sent_bytes(&mut self, count: usize) {
        if self.window_open {
            self.tally.window.bytes.sent += count as u64;
        }
    }

    pub(crate) const fn received_bytes(&mut self, count: usize) {
        if self.window_open {
            self.tally.window.bytes.received += count as u64;
        }
    }

    /// An arrival became due.
    pub(crate) const fn arrived(&mut self, intended: u64) {
        if self.owns(intended) {
            self.tally.arrivals += 1;
        }
    }

    /// The first request of an arrival was sent.
    pub(crate) const fn started(&mut self) {
        if self.window_open {
            self.tally.window.started += 1;
        }
    }

    /// A request was sent; gives the phase that it belongs to.
    pub(crate) fn sent(&mut self, operation: u16, intended: u64) -> Epoch {
        self.tally.window.sent += u64::from(self.window_open);
        if !self.owns(intended) {
            return Epoch::default();
        }
        let requests = &mut self.tally.operations[usize::from(operation)].requests;
        requests.offered += 1;
        requests.sent += 1;
        self.epoch
    }

    /// A request is sent again because its connection ended as it came.
    pub(crate) fn retried(&mut self, epoch: Epoch) {
        if self.samples(epoch) {
            self.tally.retried += 1;
        }
    }

    /// A request that was due at `intended` is not sent, or not sent again: then `sent` is the phase in which it was sent.
    pub(crate) fn lost(
        &mut self,
        (operation, intended): (u16, u64),
        sent: Option<Epoch>,
        outcome: Outcome,
        now: u64,
    ) {
        if self.window_open && now > self.begin {
            self.tally.window.errors += 1;
        }
        let is_known = match sent {
            Some(epoch) => {
                if let Some(answers) = &mut self.answers {
                    answers.count(operation, None);
                }
                epoch == self.epoch
            }
            None => self.owns(intended),
        };
        if !is_known && self.window_open {
            return;
        }
        let is_open = self.is_open(intended, now);
        self.tally.window.carried += u64::from(!is_known);
        let tally = &mut self.tally.operations[usize::from(operation)];
        if sent.is_none() || !is_known {
            tally.requests.offered += 1;
            tally.requests.sent += u64::from(sent.is_some());
        }
        tally.outcomes.add(outcome, 1);
        if is_open {
            let age = now.saturating_sub(intended);
            tally.open.get_or_insert_default().record(age);
        }
        if let Some(log) = &mut self.log {
            log.note(Line::unsent(operation, since(self.begin, intended), outcome));
        }
    }

    /// Counts a request that was sent before the phase began, and is still open when it closes.
    fn carry(&mut self, epoch: Epoch, operation: u16) {
        if epoch != self.epoch {
            self.tally.window.carried += 1;
            let requests = &mut self.tally.operations[usize::from(operation)].requests;
            requests.offered += 1;
            requests.sent += 1;
        }
    }

    /// A status code came.
    pub(crate) fn status(&mut self, epoch: Epoch, status: u16, grpc_status: Option<u32>) {
        if self.samples(epoch) {
            self.tally.statuses[usize::from(status).min(STATUSES - 1)] += 1;
            if let Some(code) = grpc_status {
                self.tally.grpc_statuses[(code as usize).min(GRPC_STATUSES - 1)] += 1;
            }
        }
    }

    /// A message of a stream came, `gap` ns after the one before it; of the first one, `first` ns after the request was sent.
    pub(crate) fn message(&mut self, epoch: Epoch, (first, gap): (Option<u64>, Option<u64>), id: IdStep) {
        let Some(messages) = &mut self.tally.messages else {
            return;
        };
        if let Some(ns) = first.filter(|_| epoch == self.epoch) {
            messages.first.record(ns);
        }
        if !self.window_open {
            return;
        }
        messages.count += 1;
        if let Some(ns) = gap {
            messages.gaps.record(ns);
        }
        let ids = &mut messages.ids;
        match id {
            IdStep::Nothing => return,
            IdStep::Next => {}
            IdStep::Skipped(count) => ids.skipped = ids.skipped.saturating_add(count),
            IdStep::Again => ids.doubled += 1,
            IdStep::Late => ids.late += 1,
        }
        ids.counted += 1;
    }

    /// A message came to a member of a room, so many ns after it was sent.
    pub(crate) fn delivered(&mut self, epoch: Epoch, ns: u64) {
        if epoch == self.epoch
            && let Some(messages) = &mut self.tally.messages
        {
            messages.rooms.get_or_insert_default().delivery.record(ns);
        }
    }

    /// A message came to so many of the members to whom it should have; to the last one, where it came to all, so many ns after it
    /// was sent.
    pub(crate) fn reached(&mut self, epoch: Epoch, (expected, reached): (u32, u32), last_ns: Option<u64>) {
        let Some(messages) = self.tally.messages.as_mut().filter(|_| epoch == self.epoch) else {
            return;
        };
        let rooms = messages.rooms.get_or_insert_default();
        rooms.expected += u64::from(expected);
        rooms.reached += u64::from(reached);
        if let Some(ns) = last_ns {
            messages.last.record(ns);
        }
    }

    /// A stream of events ended; where it ended well, its last message came so many ns after the request was sent.
    pub(crate) fn stream(&mut self, epoch: Epoch, ending: Ending, last_ns: Option<u64>) {
        let samples = self.samples(epoch);
        let Some(messages) = self.tally.messages.as_mut().filter(|_| samples) else {
            return;
        };
        let streams = &mut messages.streams;
        match ending {
            Ending::ByItself => streams.completed += 1,
            Ending::AtBound => {
                streams.completed += 1;
                streams.at_bound += 1;
            }
            Ending::Early => streams.ended_early += 1,
            Ending::Cut => streams.cut += 1,
        }
        if let (Ending::ByItself | Ending::AtBound, Some(ns)) = (ending, last_ns) {
            messages.last.record(ns);
        }
    }

    /// What is recorded of language models, where messages are.
    fn llm(&mut self) -> Option<&mut LlmTally> {
        let llm: &mut LlmTally = self.tally.messages.as_mut()?.llm.get_or_insert_default();
        Some(llm)
    }

    /// The first token of an answer came, so many ns after its request was due.
    pub(crate) fn first_token(&mut self, epoch: Epoch, ns: u64) {
        if epoch == self.epoch
            && let Some(llm) = self.llm()
        {
            llm.first_token(ns);
        }
    }

    /// An answer of a language model ended well, or was cut.
    pub(crate) fn answer(&mut self, epoch: Epoch, answer: &Answer, chat: &Chat) {
        let place = (self.samples(epoch), self.window_open);
        if let Some(llm) = self.llm() {
            llm.end(answer, chat, place);
        }
    }

    /// An answer has an error in it.
    pub(crate) fn error_in_answer(&mut self, epoch: Epoch) {
        if epoch == self.epoch
            && let Some(llm) = self.llm()
        {
            llm.errors += 1;
        }
    }

    /// A request that was sent has its outcome. `complete`: a whole reply came.
    pub(crate) fn finished(&mut self, request: &Finished, complete: bool) {
        if let Some(answers) = &mut self.answers {
            answers.count(request.operation, complete.then_some(request.status));
        }
        let valid = request.outcome == Outcome::Valid;
        let window = &mut self.tally.window;
        // Its slot is taken from when the request is handed over: io_uring sends hundreds of them later than that.
        let taken = request.ready.max(self.begin);
        if self.window_open {
            window.completed += u64::from(complete);
            window.valid += u64::from(valid);
            window.errors += u64::from(!valid);
            window.in_flight_ns += request.end.saturating_sub(taken);
        } else {
            window.in_flight_ns += self.closed.saturating_sub(taken);
        }
        if !self.samples(request.epoch) {
            return;
        }
        self.carry(request.epoch, request.operation);
        let took = request.end.saturating_sub(request.intended);
        // A stream that the end of the load cuts was open as well.
        let is_open = self.is_open(request.intended, request.end) || (self.drain_over && valid);
        let operation = &mut self.tally.operations[usize::from(request.operation)];
        operation.outcomes.add(request.outcome, 1);
        operation.requests.completed += u64::from(complete);
        operation.requests.valid += u64::from(valid);
        if let Some(log) = &mut self.log {
            log.note(request.line(complete, self.begin));
        }
        if let Some(open) = &mut self.tally.open {
            open.lag.record(request.sent.saturating_sub(request.intended));
            open.own_lag.record(request.sent.saturating_sub(request.ready));
        }
        if is_open {
            return operation.open.get_or_insert_default().record(took);
        }
        if !valid {
            return;
        }
        let split = request.first_byte != request.end;
        operation.response.record(took, split);
        if let Some(open) = &mut self.tally.open {
            open.service
                .record(request.end.saturating_sub(request.sent), split);
        }
        if split {
            let first = request.first_byte.saturating_sub(request.sent);
            self.tally.first_byte_split.get_or_insert_default().record(first);
        }
    }

    /// A whole sequence is complete, all of it valid.
    pub(crate) fn sequence(&mut self, begin: u64, end: u64) {
        if self.window_open {
            self.tally.window.sequences += 1;
        }
        if self.owns(begin)
            && let Some(histogram) = &mut self.tally.sequence
        {
            histogram.record(end.saturating_sub(begin));
        }
    }
}
