//! TOML files with errors that name file, line and key.

use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The errors of a kind of file.
pub(crate) trait FileError {
    fn unreadable(path: PathBuf, reason: String) -> Self;
    fn invalid(path: PathBuf, line: usize, message: String) -> Self;
}

/// The text of a file. It stays in memory, so that an error found later can name the line of a span.
pub(crate) struct SourceFile<E> {
    pub(crate) path: PathBuf,
    text: String,
    error: PhantomData<fn() -> E>,
}

impl<E: FileError> SourceFile<E> {
    pub(crate) fn read(path: &Path) -> Result<Self, E> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| E::unreadable(path.to_owned(), error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            text,
            error: PhantomData,
        })
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, E> {
        toml::from_str(&self.text).map_err(|error| {
            let message = error.message().trim().replace('\n', "; ");
            self.invalid(error.span().unwrap_or(0..0), message)
        })
    }

    /// An error at a span of this file.
    pub(crate) fn invalid(&self, span: Range<usize>, message: impl Into<String>) -> E {
        E::invalid(self.path.clone(), self.line(span), message.into())
    }

    /// The line, from 1, on which a span starts.
    pub(crate) fn line(&self, span: Range<usize>) -> usize {
        self.text[..span.start.min(self.text.len())].matches('\n').count() + 1
    }
}

impl<E> Clone for SourceFile<E> {
    fn clone(&self) -> Self {
        Self {
            path: self.path.clone(),
            text: self.text.clone(),
            error: PhantomData,
        }
    }
}

impl<E> std::fmt::Debug for SourceFile<E> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("SourceFile").field(&self.path).finish()
    }
}
