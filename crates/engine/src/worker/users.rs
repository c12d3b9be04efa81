//! Arriving users: each opens a connection, sends its requests one after the other, and leaves.

use super::again::Again;
use super::connection::State;
use super::core::{Core, Mode};
use super::send::Due;
use crate::layer::Layer;
use crate::pacer::Pacer;
use crate::protocol::Protocol;
use prony_measurement::Outcome;
use std::collections::VecDeque;

/// The users of a worker.
pub(super) struct Users {
    pub(super) pacer: Pacer,
    requests: u32,
    think: u64,
    /// Connections without a user.
    free: Vec<u32>,
    /// Users who think, in the order in which they go on: all think equally long.
    thinking: VecDeque<(u64, u32)>,
}

/// A user's visit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct User {
    /// Requests that the user has yet to send.
    pub(super) left: u32,
    /// When the next request is due; the first one when the user arrives.
    due: u64,
    /// Whether none was sent yet.
    pub(super) is_new: bool,
    /// Step of the sequence that comes next.
    step: u16,
    number: u64,
    sequence_begin: u64,
    /// Where the next request was sent before and left unprocessed.
    again: Option<Again>,
}

impl Users {
    pub(super) fn new(pacer: Pacer, requests: u32, think: u64, most: u32) -> Self {
        Self {
            pacer,
            requests,
            think,
            free: (0..most).rev().collect(),
            thinking: VecDeque::with_capacity(if think > 0 { most as usize } else { 0 }),
        }
    }

    /// When the next user has thought enough; `u64::MAX`: nobody thinks.
    pub(super) fn next_thought(&self) -> u64 {
        self.thinking.front().map_or(u64::MAX, |(until, _)| *until)
    }
}

impl<P: Protocol, L: Layer> Core<P, L> {
    /// Lets in those who have arrived.
    pub(super) fn let_users_in(&mut self) {
        loop {
            let Mode::Users(users) = &mut self.mode else {
                return;
            };
            let Some(arrived) = users.pacer.take() else { return };
            let requests = users.requests;
            let Some(number) = users.free.pop() else {
                self.turned_away(arrived, requests);
                continue;
            };
            let visit = self.next_number;
            self.next_number += 1;
            self.connections[number as usize].user = User {
                left: requests,
                due: arrived,
                is_new: true,
                step: 0,
                number: visit,
                sequence_begin: arrived,
                again: None,
            };
            self.want_connection(number);
        }
    }

    fn turned_away(&mut self, arrived: u64, requests: u32) {
        for index in 0..requests {
            let length = self.chooser.length();
            let step = (u64::from(index) % length) as u16;
            let operation = self.chooser.step(step).unwrap_or_else(|| self.chooser.first());
            self.recorder.unsent(operation, arrived, Outcome::NotSent);
        }
    }

    /// A user's request has its outcome; `next` is the next step of the sequence, where it goes on.
    pub(super) fn user_answered(&mut self, number: u32, next: Option<Due>, now: u64) {
        let user = &mut self.connections[number as usize].user;
        if let Some(due) = next {
            user.step = due.step;
        } else {
            user.step = 0;
            user.number = self.next_number;
            self.next_number += 1;
        }
        let Mode::Users(users) = &mut self.mode else {
            return;
        };
        user.due = now + users.think;
        if user.left > 0 && users.think > 0 {
            users.thinking.push_back((user.due, number));
        }
    }

    /// A user's request was left unprocessed: it is the next one again, on a connection that is still to be made.
    pub(super) fn user_tries_again(&mut self, number: u32, due: Due) {
        let user = &mut self.connections[number as usize].user;
        user.left += 1;
        user.due = due.intended;
        user.step = due.step;
        user.number = due.number;
        user.sequence_begin = due.sequence_begin;
        user.again = due.again;
    }

    /// Sends the user's next request, if it is its time, or says goodbye.
    pub(super) fn user_goes_on(&mut self, number: u32, now: u64) {
        let connection = &self.connections[number as usize];
        let user = connection.user;
        if connection.state != State::Open || self.slots.is_busy(number) {
            return;
        }
        if user.left == 0 || !(self.is_loading() || user.is_new) {
            self.close(number, Outcome::Reset, now);
            return self.user_left(number);
        }
        if user.due <= now {
            self.send_for_user(number, now);
        }
    }

    /// Wakes the users who have thought enough.
    pub(super) fn end_thinking(&mut self, now: u64) {
        loop {
            let Mode::Users(users) = &mut self.mode else {
                return;
            };
            match users.thinking.front() {
                Some(&(until, number)) if until <= now => {
                    users.thinking.pop_front();
                    self.user_goes_on(number, now);
                    self.flush(number, now);
                }
                _ => return,
            }
        }
    }

    fn send_for_user(&mut self, number: u32, now: u64) {
        let Some(place) = self.slots.take(number) else {
            return;
        };
        let user = &mut self.connections[number as usize].user;
        if user.step == 0 {
            user.sequence_begin = user.due;
        }
        user.left -= 1;
        if std::mem::take(&mut user.is_new) {
            self.recorder.started();
        }
        let again = user.again.take();
        let user = *user;
        let operation = self
            .chooser
            .step(user.step)
            .unwrap_or_else(|| self.chooser.first());
        let due = Due {
            operation,
            step: user.step,
            number: user.number,
            intended: user.due,
            sequence_begin: user.sequence_begin,
            again,
        };
        self.start(number, place, due, now);
    }

    /// The connection has no user any more.
    pub(super) fn user_left(&mut self, number: u32) {
        let connection = &mut self.connections[number as usize];
        connection.user = User::default();
        connection.state = State::Closed;
        let Mode::Users(users) = &mut self.mode else {
            return;
        };
        users.free.push(number);
        debug_assert!(users.free.len() <= self.connections.len());
    }

    /// The user whose first request never went, because there was no connection.
    pub(super) fn user_failed(&mut self, number: u32, outcome: Outcome) {
        let user = self.connections[number as usize].user;
        let operation = self
            .chooser
            .step(user.step)
            .unwrap_or_else(|| self.chooser.first());
        self.recorder.unsent(operation, user.due, outcome);
        self.user_left(number);
    }
}
