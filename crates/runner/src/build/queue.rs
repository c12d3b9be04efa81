//! The order of builds that run in parallel.

use std::cmp::Reverse;

/// The services still to be built, each with its main toolchain.
///
/// Builds with the same toolchain wait for each other's locks (all Rust services share one folder of dependencies), so parallel
/// builds should use different toolchains. The toolchain with the most remaining builds goes first, because its builds run one
/// after the other until the end.
#[derive(Debug)]
pub(super) struct Queue<'a, T> {
    left: Vec<(&'a str, T)>,
    /// The toolchains of the running builds.
    busy: Vec<&'a str>,
}

impl<'a, T> Queue<'a, T> {
    pub(super) fn of(all: impl Iterator<Item = (&'a str, T)>) -> Self {
        Self {
            left: all.collect(),
            busy: Vec::new(),
        }
    }

    /// The next service to build. Its toolchain is busy until [`Self::give_back`] is called.
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

    /// Reports that a build with this toolchain has ended.
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
        assert_eq!(take(""), Some("rust-1"), "most builds use Rust");
        assert_eq!(take(""), Some("go-1"));
        assert_eq!(take("go"), Some("go-2"), "Rust is busy");
        assert_eq!(take("rust"), Some("rust-2"));
        assert_eq!(take("rust"), Some("rust-3"));
        assert_eq!(take("rust"), Some("jdk-1"));
        assert_eq!(take("jdk"), None);
    }
}
