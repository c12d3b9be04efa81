//! No cache line is written by two threads of a load: each block that a thread allocates has cache lines of its own,
//! and data shared by all threads is only read (see `worker/lines.rs`, whose tests check how rarely the one exception
//! is written).

mod toy;

use prony_load::{Load, Spacing, TransportChoice};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use toy::{HELLO, Server, job, run};

/// Size of a cache line, bytes.
const LINE: usize = 64;

/// Records which thread of a load has memory in which cache line.
struct RecordingAllocator;

#[derive(Default)]
struct Memory {
    /// The thread that allocated each block.
    blocks: HashMap<usize, usize>,
    /// Number of blocks of each thread in a cache line. A block owns its inner lines, so only its ends
    /// are recorded.
    lines: HashMap<usize, [u32; 2]>,
}

static MEMORY: Mutex<Option<Memory>> = Mutex::new(None);
static SHARED: AtomicU64 = AtomicU64::new(0);
static BLOCKS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

thread_local! {
    /// Whether this thread is recording, which allocates memory itself.
    static NOTING: Cell<bool> = const { Cell::new(false) };
}

/// Asks the kernel for the thread's name: the standard library may allocate. Returns the number of the thread in the
/// load.
fn worker() -> Option<usize> {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    match &name[..6] {
        b"load-0" => Some(0),
        b"load-1" => Some(1),
        _ => None,
    }
}

fn ends(pointer: *mut u8, size: usize) -> [Option<usize>; 2] {
    let (first, last) = (
        pointer as usize / LINE,
        (pointer as usize + size.max(1) - 1) / LINE,
    );
    [Some(first), (last != first).then_some(last)]
}

fn note(work: impl FnOnce(&mut Memory)) {
    if NOTING.replace(true) {
        return;
    }
    let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    work(memory.get_or_insert_default());
    drop(memory);
    NOTING.set(false);
}

fn count_allocation(pointer: *mut u8, size: usize) {
    let Some(worker) = worker() else { return };
    note(|memory| {
        BLOCKS[worker].fetch_add(1, Ordering::Relaxed);
        memory.blocks.insert(pointer as usize, worker);
        for line in ends(pointer, size).into_iter().flatten() {
            let blocks = memory.lines.entry(line).or_default();
            blocks[worker] += 1;
            SHARED.fetch_add(u64::from(blocks[1 - worker] > 0), Ordering::Relaxed);
        }
    });
}

/// A block may be freed by another thread than the one that allocated it.
fn given_back(pointer: *mut u8, size: usize) {
    note(|memory| {
        let Some(worker) = memory.blocks.remove(&(pointer as usize)) else {
            return;
        };
        for line in ends(pointer, size).into_iter().flatten() {
            if let Some(blocks) = memory.lines.get_mut(&line) {
                blocks[worker] -= 1;
            }
        }
    });
}

// SAFETY: every call is passed on unchanged to the system allocator.
unsafe impl GlobalAlloc for RecordingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract.
        let pointer = unsafe { System.alloc(layout) };
        count_allocation(pointer, layout.size());
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        given_back(pointer, layout.size());
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static NOTING_ALL: RecordingAllocator = RecordingAllocator;

/// Cache lines with memory of both threads while loads run: a closed and an open load on each transport.
fn shared_by_loads(address: std::net::SocketAddr) -> u64 {
    let before = SHARED.load(Ordering::Relaxed);
    for transport in [TransportChoice::Epoll, TransportChoice::Auto] {
        let mut closed = job(address, transport);
        closed.threads = 2;
        let mut open = closed.clone();
        open.load = Load::Open {
            arrival: toy::arrivals(500.0, Spacing::Poisson),
            connections: 4,
            in_flight: 1,
            backlog: 100,
            members: None,
        };
        for load in [closed, open] {
            assert_eq!(run(&load).outcomes.errors(), 0);
        }
    }
    SHARED.load(Ordering::Relaxed) - before
}

#[test]
fn no_two_threads_have_memory_in_one_line() {
    let server = Server::answering(HELLO);
    // Sharing caused by the generator occurs each time; the allocator lets two threads share a line if a busy machine
    // keeps one of them from getting its own arena.
    let shared = (0..3).map(|_| shared_by_loads(server.address)).min();
    for blocks in &BLOCKS {
        let blocks = blocks.load(Ordering::Relaxed);
        assert!(blocks > 50, "{blocks} blocks of a thread were seen");
    }
    assert_eq!(shared, Some(0), "lines with memory of both threads");
}
