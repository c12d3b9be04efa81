//! The words of the commands of a script.

use super::CurlError;

/// The commands of a script.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) commands: Vec<CommandWords>,
    /// Where and why the script ends early.
    pub(super) error: Option<(usize, CurlError)>,
}

/// A command, split into its words.
#[derive(Debug, Default)]
pub(super) struct CommandWords {
    /// Its line in the script, from 1.
    pub(super) line: usize,
    /// Words in UTF-8, unless an escape wrote other bytes.
    pub(super) words: Vec<Vec<u8>>,
    /// The standard input.
    pub(super) stdin: Option<StandardInput>,
    /// What a shell would have changed in the words.
    pub(super) gaps: Vec<String>,
}

/// The standard input of a command, where the script itself says what it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StandardInput {
    Text(Vec<u8>),
    File(String),
}
