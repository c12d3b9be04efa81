//! Errors of files, with their position and the remedy.

use crate::source_file::{FileError, SourceFile};
use std::path::PathBuf;

/// An error in a suite, service or toolchain file, or in a query about them.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// A malformed file, or impossible values.
    #[error("{path}:{line}: {message}")]
    Invalid {
        path: PathBuf,
        line: usize,
        /// The key, what is wrong with it, and what is allowed.
        message: String,
    },
    /// A query for something that does not exist.
    #[error("no {kind} `{name}`: {allowed}")]
    Unknown {
        /// `service`, `suite`, `contract`, …
        kind: &'static str,
        name: String,
        /// The existing names.
        allowed: String,
    },
    /// A plan without any trial.
    #[error("nothing to run: {0}")]
    Empty(String),
    /// An error in a contract file.
    #[error(transparent)]
    Contract(#[from] crate::contract::ContractError),
}

/// A suite, service, toolchain or backing-service file.
pub(crate) type Source = SourceFile<PlanError>;

impl FileError for PlanError {
    fn unreadable(path: PathBuf, reason: String) -> Self {
        Self::Unreadable { path, reason }
    }

    fn invalid(path: PathBuf, line: usize, message: String) -> Self {
        Self::Invalid { path, line, message }
    }
}

/// The names as a sentence: `known are a, b, c`, preceded by the nearest one if it is similar.
pub(crate) fn known<'a>(names: impl IntoIterator<Item = &'a str>, wanted: &str) -> String {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    names.dedup();
    let nearest = names.iter().map(|name| (distance(name, wanted), *name)).min();
    let list = names.join(", ");
    match nearest {
        Some((far, name)) if far <= 2.max(wanted.len() / 4) => {
            format!("did you mean `{name}`? Known are {list}")
        }
        Some(_) => format!("known are {list}"),
        None => "there is none".to_owned(),
    }
}

/// Edit distance (Levenshtein, 1966).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        assert_eq!(
            known(["go-nethttp", "go-gorilla"], "go-gorila"),
            "did you mean `go-gorilla`? Known are go-gorilla, go-nethttp"
        );
        assert_eq!(known(["a"], "something-else"), "known are a");
        assert_eq!(known([], "x"), "there is none");
    }
}
