//! Why an operation is not in a draft.

use crate::import::DraftError;

/// Why there is no request.
pub(super) enum OmissionReason {
    /// Something is wrong in the description.
    Broken(DraftError),
    /// A contract cannot contain it.
    Unsupported(String),
}

impl From<DraftError> for OmissionReason {
    fn from(error: DraftError) -> Self {
        Self::Broken(error)
    }
}

impl From<String> for OmissionReason {
    fn from(why: String) -> Self {
        Self::Unsupported(why)
    }
}
