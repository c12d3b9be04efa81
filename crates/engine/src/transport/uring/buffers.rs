//! Memory that the kernel receives into: a ring of buffers of one size, given back after use.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

/// Buffers; a power of two. Enough that a batch of completions never runs out of them.
const COUNT: u16 = 256;
/// Bytes of a buffer. A small reply touches its first page only.
const SIZE: usize = 16 * 1024;
/// The kernel maps the ring by pages.
const PAGE: usize = 4096;

/// The name of the group in requests to the kernel.
pub(super) const GROUP: u16 = 0;

/// A registered ring of receive buffers.
///
/// Invariant: a buffer is read by us only between the completion that names it and [`Buffers::give_back`].
pub(super) struct Buffers {
    entries: *mut BufRingEntry,
    memory: Vec<u8>,
    tail: u16,
    is_leaked: bool,
}

impl Buffers {
    /// Registers the buffers with a ring. The ring must be dropped before them.
    pub(super) fn register(ring: &IoUring) -> io::Result<Self> {
        let layout = Self::layout();
        // SAFETY: the layout has a size above 0.
        let memory = unsafe { alloc_zeroed(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "the layout is aligned to a page")]
        let entries = memory.cast::<BufRingEntry>();
        if entries.is_null() {
            handle_alloc_error(layout);
        }
        let mut buffers = Self {
            entries,
            memory: vec![0; usize::from(COUNT) * SIZE],
            tail: 0,
            is_leaked: false,
        };
        (0..COUNT).for_each(|id| buffers.give_back(id));
        buffers.publish();
        // SAFETY: the entries are page-aligned and live until the ring is gone.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(entries as u64, COUNT, GROUP, 0)?;
        }
        Ok(buffers)
    }

    fn layout() -> Layout {
        let bytes = usize::from(COUNT) * size_of::<BufRingEntry>();
        Layout::from_size_align(bytes, PAGE).expect("invariant: a power of two, and small")
    }

    /// The first `length` bytes of a buffer that a completion named.
    pub(super) fn bytes(&self, id: u16, length: usize) -> &[u8] {
        let begin = usize::from(id) * SIZE;
        &self.memory[begin..begin + length.min(SIZE)]
    }

    /// Gives a buffer back; the kernel sees it after [`Buffers::publish`].
    pub(super) fn give_back(&mut self, id: u16) {
        let address = self.memory[usize::from(id) * SIZE..].as_ptr() as u64;
        // SAFETY: the place lies inside the ring, and the kernel reads it only after the tail has passed it.
        let entry = unsafe { &mut *self.entries.add(usize::from(self.tail % COUNT)) };
        entry.set_addr(address);
        entry.set_len(SIZE as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Never frees the memory.
    pub(super) fn leak(&mut self) {
        self.is_leaked = true;
        std::mem::forget(std::mem::take(&mut self.memory));
    }

    /// Lets the kernel have what was given back.
    pub(super) fn publish(&self) {
        // SAFETY: the tail is a part of the ring's memory, aligned for 16 bits; the kernel only reads it.
        let tail = unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if !self.is_leaked {
            // SAFETY: allocated with the same layout.
            unsafe { dealloc(self.entries.cast(), Self::layout()) };
        }
    }
}
