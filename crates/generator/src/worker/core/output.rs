//! The work that a worker's core hands to its transport.

/// An action for the transport; actions are executed in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::worker) enum Action {
    Connect(u32),
    /// Send these bytes of the output.
    Send {
        number: u32,
        begin: usize,
        end: usize,
    },
    Close(u32),
}

/// Actions and their bytes.
#[derive(Debug)]
pub(in crate::worker) struct Output {
    pub(in crate::worker) actions: Vec<Action>,
    /// Bytes in wire format; those from `done` on belong to no action yet.
    pub(in crate::worker) wire: Vec<u8>,
    done: usize,
    /// Bytes that the layer still has to seal.
    pub(super) unsealed: Vec<u8>,
}

impl Output {
    pub(super) fn new() -> Self {
        Self {
            actions: Vec::with_capacity(64),
            wire: Vec::with_capacity(16 * 1024),
            done: 0,
            unsealed: Vec::new(),
        }
    }

    /// The buffer that a protocol writes to.
    pub(super) const fn of_protocol(&mut self, has_layer: bool) -> &mut Vec<u8> {
        if has_layer {
            &mut self.unsealed
        } else {
            &mut self.wire
        }
    }

    /// Adds an action for the bytes written since the last time; returns their number.
    pub(super) fn send(&mut self, number: u32) -> usize {
        let (begin, end) = (self.done, self.wire.len());
        if begin < end {
            self.actions.push(Action::Send { number, begin, end });
            self.done = end;
        }
        end - begin
    }

    /// Called when all actions were executed.
    pub(in crate::worker) fn clear(&mut self) {
        self.actions.clear();
        self.wire.clear();
        self.done = 0;
    }
}
