//! TOML files with errors that name file, line and key.

use crate::PlanError;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A file's text, kept to find the line of a span for errors.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    text: String,
}

impl Source {
    pub(crate) fn read(path: &Path) -> Result<Self, PlanError> {
        let text = std::fs::read_to_string(path).map_err(|error| PlanError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, PlanError> {
        toml::from_str(&self.text).map_err(|error| {
            let message = error.message().trim().replace('\n', "; ");
            self.invalid(error.span().unwrap_or(0..0), message)
        })
    }

    /// An error at a span of this file.
    pub(crate) fn invalid(&self, span: Range<usize>, message: impl Into<String>) -> PlanError {
        PlanError::Invalid {
            path: self.path.clone(),
            line: self.line(span),
            message: message.into(),
        }
    }

    /// The line, from 1, on which a span starts.
    pub(crate) fn line(&self, span: Range<usize>) -> usize {
        self.text[..span.start.min(self.text.len())].matches('\n').count() + 1
    }
}
