//! Sets of CPUs.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A set of CPU numbers, ascending. Empty means: not pinned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<usize>", into = "Vec<usize>")]
pub struct Cpus(Vec<usize>);

/// The text is not a list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of CPUs: write it as `0-3,8`")]
pub struct CpusError(String);

impl Cpus {
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }

    /// The number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the sets have a CPU in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().any(|cpu| other.0.contains(cpu))
    }
}

impl From<Vec<usize>> for Cpus {
    fn from(mut cpus: Vec<usize>) -> Self {
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }
}

impl From<Cpus> for Vec<usize> {
    fn from(cpus: Cpus) -> Self {
        cpus.0
    }
}

impl FromIterator<usize> for Cpus {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        Self::from(cpus.into_iter().collect::<Vec<_>>())
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        while let Some(&first) = rest.first() {
            let run = rest
                .iter()
                .enumerate()
                .take_while(|&(index, &cpu)| cpu == first + index)
                .count();
            if rest.len() < self.0.len() {
                formatter.write_str(",")?;
            }
            match run {
                1 => write!(formatter, "{first}")?,
                _ => write!(formatter, "{first}-{}", first + run - 1)?,
            }
            rest = &rest[run..];
        }
        Ok(())
    }
}

impl FromStr for Cpus {
    type Err = CpusError;

    /// Parses the kernel's list format, `0-3,8`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| {
            part.trim()
                .parse::<usize>()
                .map_err(|_| CpusError(text.to_owned()))
        };
        let mut cpus = Vec::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if last < first || last - first > 65_536 {
                return Err(CpusError(text.to_owned()));
            }
            cpus.extend(first..=last);
        }
        Ok(Self::from(cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_writes_the_kernels_list() {
        let cpus: Cpus = "0-3,8,10-11\n".parse().expect("a list");
        assert_eq!(cpus.as_slice(), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpus.to_string(), "0-3,8,10-11");
        assert_eq!("".parse::<Cpus>().expect("none").len(), 0);
    }

    #[test]
    fn an_invalid_list_is_an_error_that_quotes_it() {
        let error = "3-1".parse::<Cpus>().expect_err("falls").to_string();
        assert!(error.contains("`3-1`") && error.contains("0-3,8"), "{error}");
        assert!("a".parse::<Cpus>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(cpus in prop::collection::vec(0..200usize, 0..40)) {
            let cpus = Cpus::from(cpus);
            prop_assert_eq!(cpus.to_string().parse::<Cpus>().expect("own format"), cpus);
        }
    }
}
