//! In which order services are built, where several are built side by side.

use std::cmp::Reverse;

/// What is still to be built, each with the toolchain that builds it.
///
/// Builds of one toolchain wait for each other's locks (all Rust services share one folder of dependencies), so those side by
/// side had better be of two. The toolchain with the most left comes first: its builds follow each other to the end.
#[derive(Debug)]
pub(super) struct Queue<'a, T> {
    left: Vec<(&'a str, T)>,
    /// The toolchains of the builds that go on.
    busy: Vec<&'a str>,
}

impl<'a, T> Queue<'a, T> {
    pub(super) fn of(all: impl Iterator<Item = (&'a str, T)>) -> Self {
        Self {
            left: all.collect(),
            busy: Vec::new(),
        }
    }

    /// The next to build; its toolchain is busy until it is given back.
    pub(super) fn take(&mut self) -> Option<(&'a str, T)> {
        let cost = |&place: &usize| {
            let toolchain = self.left[place].0;
            let of_it = self.left.iter().filter(|(other, _)| *other == toolchain).count();
            (self.busy.contains(&toolchain), Reverse(of_it))
        };
        let place = (0..self.left.len()).min_by_key(cost)?;
        let taken = self.left.remove(place);
        self.busy.push(taken.0);
        Some(taken)
    }

    /// A build of this toolchain has ended.
    pub(super) fn give_back(&mut self, toolchain: &str) {
        if let Some(place) = self.busy.iter().position(|busy| *busy == toolchain) {
            self.busy.swap_remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_side_by_side_are_of_two_toolchains_as_long_as_there_are_two() {
        let all = ["go-1", "rust-1", "rust-2", "rust-3", "go-2", "jdk-1"];
        let mut queue = Queue::of(
            all.into_iter()
                .map(|name| (name.split_once('-').expect("two").0, name)),
        );
        let mut take = |given_back: &str| {
            queue.give_back(given_back);
            queue.take().map(|(_, name)| name)
        };
        assert_eq!(take(""), Some("rust-1"), "most are of Rust");
        assert_eq!(take(""), Some("go-1"));
        assert_eq!(take("go"), Some("go-2"), "Rust is busy");
        assert_eq!(take("rust"), Some("rust-2"));
        assert_eq!(take("rust"), Some("rust-3"));
        assert_eq!(take("rust"), Some("jdk-1"));
        assert_eq!(take("jdk"), None);
    }
}
