//! Containerfile and Dockerfile.

use super::folder::Folder;
use super::{Guess, StartGuess};

pub(super) fn guess(folder: &Folder) -> Option<Guess> {
    let file = ["Containerfile", "Dockerfile"]
        .into_iter()
        .find(|file| folder.has(file))?;
    Some(Guess::of(file, StartGuess::Containerfile(file.to_owned())))
}
