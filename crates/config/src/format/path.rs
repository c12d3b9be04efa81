//! The way from a file to a value in it.

/// A step from a table or an array into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// The steps from the whole file to a value.
pub(crate) type Path = Vec<Step>;

/// Whether all steps are into tables.
pub(super) fn are_keys(path: &[Step]) -> bool {
    path.iter().all(|step| matches!(step, Step::Key(_)))
}
