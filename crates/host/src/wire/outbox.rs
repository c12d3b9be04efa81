//! Queues outgoing frames. One thread writes them, so that senders never wait for a slow network.

use super::frame::Frame;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Frames to be written. Flow control of the streams bounds their number, and requests are few.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// Beats and clock samples, which overtake large messages.
    urgent: VecDeque<Vec<u8>>,
    others: VecDeque<Vec<u8>>,
    closed: bool,
}

impl Outbox {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues complete frames, in order with all others that are not urgent.
    pub(crate) fn send(&self, frames: Vec<u8>) {
        let mut queue = self.queue();
        if !queue.closed {
            queue.others.push_back(frames);
            self.more.notify_one();
        }
    }

    /// Queues a short message before all other waiting frames.
    pub(crate) fn send_first(&self, id: u32, message: &[u8]) {
        let mut frames = Vec::new();
        Frame::write_message(id, message, &mut frames);
        let mut queue = self.queue();
        if !queue.closed {
            queue.urgent.push_back(frames);
            self.more.notify_one();
        }
    }

    /// Accepts no more frames. Queued frames are still written.
    pub(crate) fn close(&self) {
        self.queue().closed = true;
        self.more.notify_one();
    }

    /// Writes until the outbox is closed and empty, or until writing fails, which also closes it.
    pub(crate) fn write_to(&self, mut to: impl Write) -> std::io::Result<()> {
        while let Some(frames) = self.next() {
            let written = to.write_all(&frames).and_then(|()| to.flush());
            if written.is_err() {
                self.close();
                return written;
            }
        }
        Ok(())
    }

    fn next(&self) -> Option<Vec<u8>> {
        let mut queue = self.queue();
        loop {
            let Queue { urgent, others, .. } = &mut *queue;
            if let Some(frames) = urgent.pop_front().or_else(|| others.pop_front()) {
                return Some(frames);
            }
            if queue.closed {
                return None;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
