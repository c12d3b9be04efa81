//! The messages of streams, as they are recorded.

use super::llm::LlmTally;
use prony_records::{Histogram, Streams};
use serde::{Deserialize, Serialize};

/// The messages of streams.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageTally {
    /// How many came while the phase was on.
    pub count: u64,
    /// From the actual send to the end of the first message.
    pub first: Histogram,
    /// From the actual send to the end of the last message, of streams that ended well.
    pub last: Histogram,
    /// From one message of a stream to the next.
    pub gaps: Histogram,
    /// What the ids of events tell.
    pub ids: IdCounts,
    /// How the streams ended.
    pub streams: Streams,
    /// Where they are answers of language models.
    pub llm: Option<Box<LlmTally>>,
    /// Where they are said in rooms.
    pub rooms: Option<Box<RoomTally>>,
}

/// What is said in rooms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoomTally {
    /// From the actual send to the end of the message at each member.
    pub delivery: Histogram,
    /// Members to whom messages should come, over all messages.
    pub expected: u64,
    /// Those to whom they came.
    pub reached: u64,
}

/// What the ids of events tell. An id that comes late was counted as left out before, maybe by another interval's tally, so
/// that only the difference of the sums is what is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdCounts {
    /// Messages with an id that counts.
    pub counted: u64,
    /// Ids that were left out at first.
    pub skipped: u64,
    /// Messages with an id that had come before.
    pub doubled: u64,
    /// Messages with an id that had been left out.
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
