//! Control groups: limits and exact accounting of a whole process tree, by version 2 of the kernel's interface and, where
//! controllers are mounted that way, by version 1. Both may be there at once.

mod discover;
mod group;
mod read;
mod sweep;
#[cfg(test)]
mod tests;
mod v2;

pub(crate) use discover::Hierarchies;
pub(crate) use group::{Group, Problem};
pub(crate) use read::Peak;
pub(crate) use sweep::{clear, name, sweep};

/// Whether this process may make a group with limits.
pub(crate) fn may_limit() -> bool {
    let name = format!("prony-probe-{}", std::process::id());
    Group::make(&Hierarchies::of_this_process(), &name).is_some_and(|group| group.source().is_some())
}
