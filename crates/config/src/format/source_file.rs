//! A file of the project, and errors at positions of its text.

use super::validate::{self, Fault};
use super::{Diagnostic, Diagnostics, FORMAT, FileKind, schema, syntax, upgrade};
use crate::ConfigError;
use crate::format::error::io_reason;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text of a file. It stays in memory, so that an error found later can show its line.
#[derive(Clone)]
pub struct SourceFile {
    pub path: PathBuf,
    pub(crate) text: Arc<str>,
}

impl SourceFile {
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
            path: path.to_owned(),
            reason: io_reason(&error),
        })?;
        Ok(Self::new(path, text))
    }

    pub fn new(path: &Path, text: impl Into<Arc<str>>) -> Self {
        Self {
            path: path.to_owned(),
            text: text.into(),
        }
    }

    /// The values of the file. All errors that can be told without knowing what the values mean are reported together.
    pub fn parse<T: DeserializeOwned + JsonSchema>(&self, kind: FileKind) -> Result<T, ConfigError> {
        let mut tree = self.tree()?;
        let schema = schema::extended::<T>();
        if self.format_of(tree.get_ref())? == 0 {
            upgrade::upgrade(kind, tree.get_mut(), Some(&schema));
        }
        // It has been read, and no type has it.
        tree.get_mut().remove("format");
        let faults = validate::verify(&schema, &mut tree);
        if !faults.is_empty() {
            return Err(self.faults(faults));
        }
        T::deserialize(toml::de::Deserializer::from(tree)).map_err(|error| {
            let message = error.message().trim().replace('\n', "; ");
            self.invalid(error.span().unwrap_or(0..0), message)
        })
    }

    /// The file as a tree. All errors of syntax are found.
    pub(crate) fn tree(&self) -> Result<Spanned<DeTable<'_>>, ConfigError> {
        let (tree, errors) = DeTable::parse_recoverable(&self.text);
        if errors.is_empty() {
            return Ok(tree);
        }
        Err(self.faults(syntax::faults(&self.text, &errors)))
    }

    fn faults(&self, faults: Vec<Fault>) -> ConfigError {
        let found = faults
            .into_iter()
            .map(|fault| Diagnostic::new(&self.path, &self.text, &fault.span, fault.message, fault.help));
        ConfigError::Files(Diagnostics(found.collect()))
    }

    /// The version of the format that the file states; 0: none.
    pub(super) fn format_of(&self, table: &DeTable<'_>) -> Result<u32, ConfigError> {
        let Some(written) = table.get("format") else {
            return Ok(0);
        };
        let version = match written.get_ref() {
            DeValue::Integer(number) => u32::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        match version {
            Some(version @ 1..=FORMAT) => Ok(version),
            Some(newer) if newer > FORMAT => {
                let message =
                    format!("`format = {newer}` needs a newer prony: this one reads up to {FORMAT}");
                Err(self.invalid(written.span(), message))
            }
            _ => {
                let value = &self.text[written.span()];
                Err(self.invalid(written.span(), format!("`format` is {value}: write {FORMAT}")))
            }
        }
    }

    pub(crate) fn diagnostic(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(&self.path, &self.text, &span, message, None)
    }

    /// An error at a range of bytes of this file.
    pub fn invalid(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        ConfigError::Files(Diagnostics(vec![self.diagnostic(span, message)]))
    }

    /// The same, with what to do.
    pub fn invalid_with(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ConfigError {
        let help = Some(help.into());
        ConfigError::Files(Diagnostics(vec![Diagnostic::new(
            &self.path, &self.text, &span, message, help,
        )]))
    }

    /// The range in the file of a part of a text value, or of the whole value if it has escapes.
    pub(crate) fn part_of_text(&self, span: &Range<usize>, text: &str, part: &Range<usize>) -> Range<usize> {
        let written = self.text.get(span.clone()).unwrap_or_default();
        match written.find(text) {
            Some(at) if !text.is_empty() => span.start + at + part.start..span.start + at + part.end,
            _ => span.clone(),
        }
    }

    /// The line, from 1, on which a range starts.
    pub(crate) fn line(&self, span: Range<usize>) -> usize {
        self.diagnostic(span, "").line
    }
}

impl std::fmt::Debug for SourceFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("SourceFile").field(&self.path).finish()
    }
}

/// Collects errors, so that those of independent parts are reported together.
#[derive(Debug, Default)]
pub struct Faults {
    found: Vec<Diagnostic>,
    other: Option<ConfigError>,
}

impl Faults {
    /// The value, or `None` and its errors are kept.
    pub fn keep<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(ConfigError::Files(Diagnostics(found))) => {
                for one in found {
                    if !self.found.contains(&one) {
                        self.found.push(one);
                    }
                }
                None
            }
            Err(other) => {
                self.other.get_or_insert(other);
                None
            }
        }
    }

    /// Whether nothing was wrong.
    pub const fn is_empty(&self) -> bool {
        self.found.is_empty() && self.other.is_none()
    }

    /// The value if nothing was wrong, or else the errors in the order of each file.
    pub fn or<T>(mut self, value: T) -> Result<T, ConfigError> {
        self.found.sort_by(|left, right| {
            (&left.path, left.line, left.column).cmp(&(&right.path, right.line, right.column))
        });
        match (self.found.as_slice(), self.other) {
            ([], None) => Ok(value),
            ([], Some(other)) => Err(other),
            _ => Err(ConfigError::Files(Diagnostics(self.found))),
        }
    }
    /// The errors. There must be one.
    pub fn into_error(self) -> ConfigError {
        self.or(()).expect_err("invariant: something was wrong")
    }
}
