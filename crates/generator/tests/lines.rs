//! No line of memory is written by two threads of a load: each block that a thread allocates lies in lines of its own, and
//! what all threads share is only read (see `worker/lines.rs`, whose tests say how rarely the one exception is written).

mod toy;

use prony_load::{Load, Spacing, TransportChoice};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use toy::{HELLO, Server, job, run};

/// Bytes of a line of the caches.
const LINE: usize = 64;

/// Notes which thread of a load has memory in which line.
struct Noting;

#[derive(Default)]
struct Memory {
    /// Which thread took each block.
    blocks: HashMap<usize, usize>,
    /// Blocks that each thread has in a line. Inner lines of a block belong to it alone, so that only its ends are noted.
    lines: HashMap<usize, [u32; 2]>,
}

static MEMORY: Mutex<Option<Memory>> = Mutex::new(None);
static SHARED: AtomicU64 = AtomicU64::new(0);
static BLOCKS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

thread_local! {
    /// Whether this thread is noting something, which allocates itself.
    static NOTING: Cell<bool> = const { Cell::new(false) };
}

/// The number of the calling thread in the load, asked of the kernel: asking the standard library may allocate.
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

fn taken(pointer: *mut u8, size: usize) {
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

/// Another thread may give it back than the one that took it.
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

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let pointer = unsafe { System.alloc(layout) };
        taken(pointer, layout.size());
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        given_back(pointer, layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static NOTING_ALL: Noting = Noting;

/// Lines that get memory of both threads while loads run, on each transport a closed and an open one.
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
    // What the engine shares it shares each time; the allocator lets two threads share a line where a busy machine keeps one of them
    // from an arena of its own.
    let shared = (0..3).map(|_| shared_by_loads(server.address)).min();
    for blocks in &BLOCKS {
        let blocks = blocks.load(Ordering::Relaxed);
        assert!(blocks > 50, "{blocks} blocks of a thread were seen");
    }
    assert_eq!(shared, Some(0), "lines with memory of both threads");
}
