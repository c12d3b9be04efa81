//! The secrets that this process knows, and the records without them.
//!
//! A secret reaches prony once, in an option, a variable or a file, and may come back in any text: a reply that repeats it, the log of
//! a service, the message of an error. So they are known to the whole process, like its log level: whatever is stored passes
//! [`mask_trial`] or its neighbours here, and the command line prints through [`mask`].

use crate::Progress;
use prony_load::Job;
use prony_load::secrets::{KnownSecrets, mask_named};
use prony_records::{CheckMatrix, Exclusion, Recording, ServiceCheck, TrialRecord, Warning};
use std::sync::{PoisonError, RwLock};

static KNOWN: RwLock<KnownSecrets> = RwLock::new(KnownSecrets::new());

/// Adds secrets.
pub fn add(with: impl FnOnce(&mut KnownSecrets)) {
    with(&mut KNOWN.write().unwrap_or_else(PoisonError::into_inner));
}

/// Adds the secrets in the target and the requests of a job.
pub fn add_job(job: &Job) {
    add(|known| known.add_job(job));
}

/// The text without the secrets that are known, and without those that their names identify.
pub fn mask(text: &str) -> String {
    mask_named(&mask_known(text))
}

/// The text without the secrets that are known.
pub fn mask_known(text: &str) -> String {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).mask(text)
}

/// Masks the texts of a recording that come from the server.
pub fn mask_recording(recording: &mut Recording) {
    for unexpected in &mut recording.unexpected_replies {
        for text in [
            &mut unexpected.operation,
            &mut unexpected.what,
            &mut unexpected.expected,
            &mut unexpected.got,
        ] {
            *text = mask(text);
        }
    }
    mask_warnings(&mut recording.warnings);
}

/// Masks the texts of a trial that come from its service.
pub fn mask_trial(record: &mut TrialRecord) {
    match &mut record.result {
        Ok(measurement) => {
            mask_recording(&mut measurement.recording);
            mask_warnings(&mut measurement.warnings);
        }
        Err(Exclusion { reason, log_tail, .. }) => {
            *reason = mask(reason);
            for line in log_tail {
                *line = mask(line);
            }
        }
    }
}

/// Masks the results of checks.
pub fn mask_matrix(matrix: &mut CheckMatrix) {
    matrix.services.iter_mut().for_each(mask_check);
}

/// Masks the texts of a check that come from its service.
pub fn mask_check(check: &mut ServiceCheck) {
    for failure in &mut check.failures {
        failure.expected = mask(&failure.expected);
        failure.got = mask(&failure.got);
    }
    for text in check.warnings.iter_mut().chain(&mut check.unavailable) {
        *text = mask(text);
    }
}

/// Masks the texts of an event that come from a service.
pub(crate) fn mask_progress(progress: &mut Progress) {
    match progress {
        Progress::Checked(check) => mask_check(check),
        Progress::Ended(record) => mask_trial(record),
        Progress::NotBuilt { reason, .. } | Progress::Repeats { reason } => *reason = mask(reason),
        Progress::Warning(warning) => mask_warnings(std::slice::from_mut(warning)),
        _ => {}
    }
}

/// Masks the texts of warnings.
pub fn mask_warnings(warnings: &mut [Warning]) {
    for warning in warnings {
        warning.text = mask(&warning.text);
    }
}
