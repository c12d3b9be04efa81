//! The kernel's receive memory: a ring of buffers of equal size, which are returned after use.
//!
//! The kernel uses the offered buffers one after the other, and touches all of them even if few replies arrive at once.
//! Therefore only as many are offered as replies have arrived at once so far: those stay in the CPU caches. Large
//! replies fill every buffer, and more buffers would only evict each other from the caches.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

/// Limits for the number of buffers; powers of two.
const FEWEST: u32 = 256;
const MOST: u32 = 8192;
/// Initial number of offered buffers.
const FIRST: u16 = 64;
/// Fewest offered buffers, used if they come back full.
const FEW: u16 = 16;
/// Size of a buffer, bytes. A small reply touches its first page only.
const SIZE: usize = 32 * 1024;
/// Mean fill, bytes, above which more buffers do not help.
const FULL: u64 = SIZE as u64 / 2;
/// Distance between buffers, bytes. Not a power of two; else the starts of all buffers would compete for a few cache
/// sets.
const STRIDE: usize = SIZE + 5 * 64;
/// The kernel maps the ring in pages.
const PAGE: usize = 4096;

/// The group ID in requests to the kernel.
pub(super) const GROUP: u16 = 0;

/// A registered ring of receive buffers.
///
/// Invariant: we read a buffer only between the completion that names it and [`Buffers::release`].
pub(super) struct Buffers {
    entries: *mut BufRingEntry,
    memory: Vec<u8>,
    /// Number of buffers; a power of two.
    count: u16,
    tail: u16,
    /// Buffers that are not offered, the most recently used on top.
    spare: Vec<u16>,
    /// Buffers that are offered, or filled and not returned yet.
    offered: u16,
    /// Number of buffers to offer.
    wanted: u16,
    /// Whether the kernel ran out of buffers since the last publication.
    is_short: bool,
    /// Buffers filled since the last shortage, and the bytes in them.
    filled: (u64, u64),
    is_leaked: bool,
}

impl Buffers {
    /// Registers the buffers with a ring. There are enough for a reply on each of the connections: if they run out, a
    /// new receive request is needed for each connection. The ring must be dropped before them.
    pub(super) fn register(ring: &IoUring, connections: u32) -> io::Result<Self> {
        let count = connections.clamp(FEWEST, MOST).next_power_of_two() as u16;
        let layout = Self::layout(count);
        // SAFETY: the layout has a size above 0.
        let memory = unsafe { alloc_zeroed(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "the layout is aligned to a page")]
        let entries = memory.cast::<BufRingEntry>();
        if entries.is_null() {
            handle_alloc_error(layout);
        }
        let mut buffers = Self {
            entries,
            memory: vec![0; usize::from(count) * STRIDE],
            count,
            tail: 0,
            spare: (0..count).rev().collect(),
            offered: 0,
            wanted: FIRST.min(count),
            is_short: false,
            filled: (0, 0),
            is_leaked: false,
        };
        buffers.publish();
        // SAFETY: the entries are page-aligned and live until the ring is gone.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(entries as u64, count, GROUP, 0)?;
        }
        Ok(buffers)
    }

    fn layout(count: u16) -> Layout {
        let bytes = usize::from(count) * size_of::<BufRingEntry>();
        Layout::from_size_align(bytes, PAGE).expect("invariant: a power of two, and small")
    }

    /// The first `length` bytes of a buffer named by a completion.
    pub(super) fn bytes(&mut self, id: u16, length: usize) -> &[u8] {
        self.filled.0 += 1;
        self.filled.1 += length as u64;
        let begin = usize::from(id) * STRIDE;
        &self.memory[begin..begin + length.min(SIZE)]
    }

    /// Returns a buffer; the kernel may reuse it after [`Buffers::publish`].
    pub(super) fn release(&mut self, id: u16) {
        self.spare.push(id);
        self.offered -= 1;
    }

    /// Records that the kernel ran out of buffers: offer more, or fewer if the buffers came back full.
    pub(super) const fn want_more(&mut self) {
        self.is_short = true;
    }

    fn offer(&mut self, id: u16) {
        let address = self.memory[usize::from(id) * STRIDE..].as_ptr() as u64;
        // SAFETY: the place lies inside the ring, and the kernel reads it only after the tail has passed it.
        let entry = unsafe { &mut *self.entries.add(usize::from(self.tail % self.count)) };
        entry.set_addr(address);
        entry.set_len(SIZE as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        self.offered += 1;
    }

    /// Leaks the memory, so that it is never freed.
    pub(super) fn leak(&mut self) {
        self.is_leaked = true;
        std::mem::forget(std::mem::take(&mut self.memory));
    }

    /// Offers as many buffers to the kernel as wanted.
    pub(super) fn publish(&mut self) {
        if std::mem::take(&mut self.is_short) {
            let (buffers, bytes) = std::mem::take(&mut self.filled);
            self.wanted = if bytes < buffers * FULL {
                self.wanted.saturating_mul(2).min(self.count)
            } else {
                (self.wanted / 2).max(FEW)
            };
        }
        while self.offered < self.wanted
            && let Some(id) = self.spare.pop()
        {
            self.offer(id);
        }
        // SAFETY: the tail is a part of the ring's memory, aligned for 16 bits; the kernel only reads it.
        let tail = unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

#[cfg(test)]
impl Buffers {
    /// The number of buffers that the kernel may fill at once.
    pub(super) const fn wanted(&self) -> u16 {
        self.wanted
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if !self.is_leaked {
            // SAFETY: allocated with the same layout.
            unsafe { dealloc(self.entries.cast(), Self::layout(self.count)) };
        }
    }
}
