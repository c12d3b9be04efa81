//! Arriving users: each opens a connection, sends its requests one after the other, and leaves.

use super::{DecisionTime, SlotAction};
use crate::pacer::Pacer;
use crate::worker::slots::DueRequest;
use crate::worker::source::Source;

/// The users of a worker.
pub(in crate::worker) struct Users {
    pub(super) pacer: Pacer,
    requests: u32,
    /// Pause between a reply and the next request, ns.
    pub(super) think: u64,
    /// Connections without a user.
    free: Vec<u32>,
    /// The user of each connection.
    all: Vec<User>,
    /// Users with a request that must be sent even if the load is over.
    new: u32,
}

/// A user's visit.
#[derive(Debug, Clone, Copy, Default)]
struct User {
    /// When the user arrived.
    arrived: u64,
    /// Whether a request had no valid reply.
    has_failed: bool,
    /// Requests that the user has yet to send.
    left: u32,
    /// When the next request is due; initially, when the user arrived.
    due: u64,
    /// How much later the arrival was noticed.
    late: u64,
    /// Whether a request must be sent even if the load is over: none was sent yet, or one is to be sent again.
    is_new: bool,
    /// The next request, if it is known: a step of a sequence, or one to be sent again.
    next: Option<DueRequest>,
}

impl Users {
    pub(in crate::worker) fn new(pacer: Pacer, requests: u32, think: u64, most: u32) -> Self {
        Self {
            pacer,
            requests,
            think,
            free: (0..most).rev().collect(),
            all: vec![User::default(); most as usize],
            new: 0,
        }
    }

    pub(super) const fn any_new(&self) -> bool {
        self.new > 0
    }

    /// Number of requests of a user, for users who are turned away.
    pub(in crate::worker) const fn requests(&self) -> u32 {
        self.requests
    }

    /// Admits the next user who has arrived. Returns the time of arrival, and the connection if one is free.
    pub(in crate::worker) fn admit(&mut self) -> Option<(u64, Option<u32>)> {
        let (arrived, late) = self.pacer.take()?;
        let connection = self.free.pop();
        if let Some(connection) = connection {
            self.new += 1;
            self.all[connection as usize] = User {
                arrived,
                has_failed: false,
                left: self.requests,
                due: arrived,
                late,
                is_new: true,
                next: None,
            };
        }
        Some((arrived, connection))
    }

    pub(super) fn next_action(
        &mut self,
        connection: u32,
        late: u64,
        at: DecisionTime,
        source: &mut Source,
    ) -> SlotAction {
        let user = &mut self.all[connection as usize];
        if user.left == 0 || !(at.is_loading || user.is_new) {
            return SlotAction::Leave;
        }
        user.left -= 1;
        let starts_arrival = std::mem::take(&mut user.is_new);
        self.new -= u32::from(starts_arrival);
        let late = late + std::mem::take(&mut user.late);
        SlotAction::Send(match user.next.take() {
            Some(due) if due.resend_state.is_some() => due,
            Some(due) => DueRequest {
                intended: user.due,
                late,
                ..due
            },
            None => DueRequest {
                starts_arrival,
                ..source.arrival(user.due, late)
            },
        })
    }

    /// Returns when the next request is due. If this was the last one, and if all had valid replies, also returns when the user
    /// arrived.
    pub(super) fn request_ended(
        &mut self,
        connection: u32,
        (follow, valid): (Option<DueRequest>, bool),
        now: u64,
    ) -> (u64, Option<u64>) {
        let user = &mut self.all[connection as usize];
        user.next = follow;
        user.has_failed |= !valid;
        // There is no pause before leaving.
        user.due = if user.left > 0 { now + self.think } else { now };
        let is_served = user.left == 0 && !user.has_failed;
        (user.due, is_served.then_some(user.arrived))
    }

    pub(super) fn request_again(&mut self, connection: u32, due: DueRequest) {
        let user = &mut self.all[connection as usize];
        user.left += 1;
        user.due = due.intended;
        user.next = Some(due);
        self.new += u32::from(!std::mem::replace(&mut user.is_new, true));
    }

    pub(super) fn connection_lost(&mut self, connection: u32, at: DecisionTime) -> bool {
        let user = &self.all[connection as usize];
        let stays = user.left > 0 && (at.is_loading || user.is_new);
        if !stays {
            self.leave(connection);
        }
        stays
    }

    /// A user without a connection leaves. Returns the number of remaining requests, when the next one is due, and
    /// the request itself if it is known. If the user pauses, the next one counts as due now. If the load is over, no
    /// other request follows one that is sent again.
    pub(in crate::worker) fn remove_refused(
        &mut self,
        connection: u32,
        at: DecisionTime,
    ) -> (u32, u64, Option<DueRequest>) {
        let user = self.all[connection as usize];
        self.leave(connection);
        let is_last = at.is_over && user.next.is_some_and(|due| due.resend_state.is_some());
        let left = if is_last { 1 } else { user.left };
        (left, user.due.min(at.now), user.next)
    }

    /// A user who has waited too long sends no further requests. Returns the number of remaining requests, and when
    /// the next one is due.
    pub(in crate::worker) fn abandon(&mut self, connection: u32, now: u64) -> (u32, u64) {
        let user = &mut self.all[connection as usize];
        (std::mem::take(&mut user.left), user.due.min(now))
    }

    /// The connections of the users who have not sent anything yet.
    pub(in crate::worker) fn newcomers(&self) -> Vec<u32> {
        let numbered = (0_u32..).zip(&self.all);
        numbered
            .filter(|(_, user)| user.is_new)
            .map(|(number, _)| number)
            .collect()
    }

    /// Frees the connection of a user who has left.
    pub(in crate::worker) fn leave(&mut self, connection: u32) {
        let user = std::mem::take(&mut self.all[connection as usize]);
        self.new -= u32::from(user.is_new);
        self.free.push(connection);
        debug_assert!(self.free.len() <= self.all.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::OperationPicker;
    use prony_load::{Arrival, Partition, Profile, Rate, Spacing};
    use std::sync::Arc;

    fn at(now: u64) -> DecisionTime {
        DecisionTime {
            now,
            is_loading: true,
            is_over: false,
        }
    }

    /// Users who send `requests` requests each; the first one arrived at 0 and has connection 0.
    fn users(requests: u32, think: u64, order: OperationPicker) -> (Users, Source) {
        let arrival = Arrival {
            profile: Profile::Constant {
                rate: Rate::per_second(1_000.0).expect("a rate"),
            },
            spacing: Spacing::Even,
        };
        let partition = Partition::new(0, 1, 4);
        let mut users = Users::new(Pacer::new(&arrival, 1, partition, u64::MAX), requests, think, 4);
        users.pacer.begin(0, 1_000_000_000, u64::MAX);
        while users.pacer.advance(3_000_000).is_some() {}
        assert_eq!(users.admit(), Some((0, Some(0))));
        (users, Source::new(Arc::new(order), 1, partition))
    }

    fn sends(users: &mut Users, source: &mut Source, now: u64) -> DueRequest {
        match users.next_action(0, 0, at(now), source) {
            SlotAction::Send(due) => due,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_user_takes_one_number_for_each_request() {
        let (mut users, mut source) = users(1, 0, OperationPicker::One(0));
        let mut numbers = Vec::new();
        for _ in 0..3 {
            numbers.push(sends(&mut users, &mut source, 1).number);
            users.request_ended(0, (None, true), 2);
            assert!(matches!(
                users.next_action(0, 0, at(2), &mut source),
                SlotAction::Leave
            ));
            users.leave(0);
            assert!(users.admit().is_some_and(|(_, connection)| connection == Some(0)));
        }
        assert_eq!(numbers, [0, 1, 2]);
    }

    #[test]
    fn a_visit_is_over_with_the_last_valid_reply() {
        for (valid, visit) in [([true, true], Some(0)), ([false, true], None)] {
            let (mut users, mut source) = users(2, 0, OperationPicker::One(0));
            sends(&mut users, &mut source, 1);
            assert_eq!(users.request_ended(0, (None, valid[0]), 5), (5, None));
            sends(&mut users, &mut source, 5);
            assert_eq!(users.request_ended(0, (None, valid[1]), 9), (9, visit));
        }
    }

    /// After any failure, the next request is due relative to that time, and a failed sequence starts again.
    #[test]
    fn after_a_failure_the_next_request_is_due_from_then_on() {
        let (mut users, mut source) = users(5, 100, OperationPicker::Sequence(vec![4, 5]));
        let first = sends(&mut users, &mut source, 10);
        assert_eq!((first.operation, first.step, first.intended), (4, 0, 0));
        let follow = DueRequest {
            operation: 5,
            step: 1,
            ..first
        };
        assert_eq!(users.request_ended(0, (Some(follow), true), 1_000), (1_100, None));
        let second = sends(&mut users, &mut source, 1_100);
        assert_eq!((second.operation, second.step, second.intended), (5, 1, 1_100));
        // The request times out, and its connection is lost.
        assert_eq!(users.request_ended(0, (None, false), 11_000), (11_100, None));
        assert!(users.connection_lost(0, at(11_000)));
        let third = sends(&mut users, &mut source, 11_105);
        assert_eq!((third.operation, third.step, third.intended), (4, 0, 11_100));
        assert_ne!(third.number, second.number);
    }

    #[test]
    fn what_was_left_unprocessed_is_sent_again_with_its_own_due_time() {
        let (mut users, mut source) = users(1, 0, OperationPicker::One(0));
        let first = sends(&mut users, &mut source, 10);
        let resend_state = DueRequest {
            resend_state: Some(crate::worker::slots::ResendState {
                epoch: crate::recorder::Epoch::default(),
                refusals: 1,
                retried: false,
                hop: None,
            }),
            ..first
        };
        users.request_again(0, resend_state);
        assert!(users.connection_lost(0, at(20)));
        let second = sends(&mut users, &mut source, 30);
        assert_eq!((second.number, second.intended), (first.number, first.intended));
        assert!(second.resend_state.is_some());
        users.request_ended(0, (None, true), 40);
        assert!(!users.connection_lost(0, at(40)));
    }
}
