//! Nothing to do.

use crate::generators::{Heard, Loading, Spent};
use prony_records::Command;
use std::time::Duration;

/// The load of a service that rests.
pub(super) struct NoLoad;

impl Loading for NoLoad {
    fn next(&mut self, _: Duration) -> Heard {
        Heard::Nothing
    }

    fn tell(&mut self, _: Command) {}

    fn begin_window(&mut self) {}

    fn end_window(&mut self) -> Option<Spent> {
        None
    }
}
