//! What may be wrong with a file, with the place and the remedy.

use std::path::PathBuf;

/// What is wrong with a suite, service or toolchain file, or with what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A file that breaks its format, or says something impossible.
    #[error("{path}:{line}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, what is wrong with it, and what is allowed.
        message: String,
    },
    /// Something asked for that there is not.
    #[error("no {kind} `{name}`: {allowed}")]
    Unknown {
        /// `service`, `suite`, `contract`, …
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        allowed: String,
    },
    /// A plan without a single trial.
    #[error("nothing to run: {0}")]
    Empty(String),
    /// A contract file that is wrong.
    #[error(transparent)]
    Contract(#[from] crate::contract::ContractError),
}

/// The names as a sentence: `known are a, b, c`, with the nearest one first where it is near.
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
