//! Counts of stream messages.

use super::llm::LlmTally;
use prony_records::{Histogram, Streams};
use serde::{Deserialize, Serialize};

/// Counts of stream messages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageTally {
    /// Messages received during the phase.
    pub count: u64,
    /// Time from the actual send to the end of the first message.
    pub first: Histogram,
    /// Time from the actual send to the end of the last message, for streams that ended well.
    pub last: Histogram,
    /// Time from one message of a stream to the next.
    pub gaps: Histogram,
    /// Delivery errors that event ids reveal.
    pub ids: IdCounts,
    /// Streams by their ending.
    pub streams: Streams,
    /// Counts of answers, if the streams come from language models.
    pub llm: Option<Box<LlmTally>>,
    /// Deliveries, if messages are sent in rooms.
    pub rooms: Option<Box<RoomTally>>,
}

/// Deliveries of messages in rooms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoomTally {
    /// Time from the actual send to the end of the message at each member.
    pub delivery: Histogram,
    /// Number of expected deliveries: members that should receive each message, over all messages.
    pub expected: u64,
    /// Number of deliveries that happened.
    pub reached: u64,
}

/// Counts of event ids. A late id was counted as skipped before, possibly in the tally of another interval: the number of missing
/// ids is only right as a difference of sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdCounts {
    /// Messages with a numeric id that counts up.
    pub counted: u64,
    /// Ids that were skipped at first.
    pub skipped: u64,
    /// Messages with an id that had been received before.
    pub doubled: u64,
    /// Messages with an id that had been skipped.
    pub late: u64,
}

impl MessageTally {
    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.first.merge(&other.first);
        self.last.merge(&other.last);
        self.gaps.merge(&other.gaps);
        self.ids.counted += other.ids.counted;
        self.ids.skipped = self.ids.skipped.saturating_add(other.ids.skipped);
        self.ids.doubled += other.ids.doubled;
        self.ids.late += other.ids.late;
        self.streams.completed += other.streams.completed;
        self.streams.at_bound += other.streams.at_bound;
        self.streams.ended_early += other.streams.ended_early;
        self.streams.cut += other.streams.cut;
        if let Some(theirs) = &other.llm {
            self.llm.get_or_insert_default().merge(theirs);
        }
        if let Some(theirs) = &other.rooms {
            let rooms = self.rooms.get_or_insert_default();
            rooms.delivery.merge(&theirs.delivery);
            rooms.expected += theirs.expected;
            rooms.reached += theirs.reached;
        }
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.first.clear();
        self.last.clear();
        self.gaps.clear();
        self.ids = IdCounts::default();
        self.streams = Streams::default();
        if let Some(llm) = &mut self.llm {
            llm.clear();
        }
        if let Some(rooms) = &mut self.rooms {
            rooms.delivery.clear();
            (rooms.expected, rooms.reached) = (0, 0);
        }
    }
}
