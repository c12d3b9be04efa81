//! How files are read: TOML becomes a tree with positions, older files and keys are brought to the current format, every key
//! and type is verified by the JSON Schema of the file, and only then values are read.
//!
//! The schemas are derived from the types that the files become, so that editors, messages and documentation agree. Start at
//! [`SourceFile::parse`].

mod comments;
mod diagnostic;
mod document;
mod edit;
pub(crate) mod error;
mod foreign;
mod layout;
mod path;
pub mod schema;
mod source_file;
mod spanned;
pub(crate) mod suggestion;
mod syntax;
pub(crate) mod template;
mod upgrade;
mod validate;
mod value;

pub use diagnostic::{Diagnostic, DiagnosticColours, Diagnostics};
pub use error::ConfigError;
pub(crate) use layout::write_toml_1_0;
pub use source_file::{Faults, SourceFile};
pub use spanned::Spanned;
pub use suggestion::suggest;
pub(crate) use value::{SpannedValue, TomlValue};

use std::fmt;
use std::path::Path;

/// The version of the file format that this prony writes, and the highest that it reads.
pub const FORMAT: u32 = 1;

/// The kinds of files that users write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    Contract,
    Service,
    Suite,
    Toolchains,
    Backing,
    Testbed,
    Project,
    Sequence,
}

impl FileKind {
    pub const ALL: [Self; 8] = [
        Self::Contract,
        Self::Service,
        Self::Suite,
        Self::Toolchains,
        Self::Backing,
        Self::Testbed,
        Self::Project,
        Self::Sequence,
    ];

    /// The name of the kind on the command line, and of its schema.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Service => "service",
            Self::Suite => "suite",
            Self::Toolchains => "toolchains",
            Self::Backing => "backing",
            Self::Testbed => "testbed",
            Self::Project => "project",
            Self::Sequence => "sequence",
        }
    }

    /// The schema of the kind in a project.
    pub fn schema_file(self) -> String {
        format!("schemas/{FORMAT}/{self}.json")
    }

    /// The kind of a file, by its name, its folder and the tables in it; `None` if it is none of prony's files.
    pub fn of(path: &Path, text: &str) -> Option<Self> {
        let folder = path
            .parent()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str());
        let begins = |table: &str| text.lines().any(|line| line.trim_start().starts_with(table));
        match path.file_name()?.to_str()? {
            "contract.toml" => Some(Self::Contract),
            "service.toml" => Some(Self::Service),
            "toolchains.toml" => Some(Self::Toolchains),
            "backing.toml" | "companion.toml" => Some(Self::Backing),
            "prony.toml" => Some(Self::Project),
            "testbed.toml" | "lab.toml" => Some(Self::Testbed),
            name if Path::new(name)
                .extension()
                .is_none_or(|extension| extension != "toml") =>
            {
                None
            }
            _ if folder == Some("testbeds") => Some(Self::Testbed),
            _ if folder == Some("suites") => Some(Self::Suite),
            _ if begins("[[group]]") => Some(Self::Suite),
            _ if begins("[[step]]") => Some(Self::Sequence),
            _ if begins("[host.") || begins("[roles]") || begins("[kubernetes]") => Some(Self::Testbed),
            _ if begins("[operation.") => Some(Self::Contract),
            _ => None,
        }
    }
}

/// The text of a file in the current format, with its comments, as TOML 1.0; `None` if it is that already. `schema`: that of its
/// kind, from [`schema::extended`].
pub fn upgraded(
    kind: FileKind,
    schema: &serde_json::Value,
    file: &SourceFile,
) -> Result<Option<String>, ConfigError> {
    let mut tree = file.tree()?;
    file.format_of(tree.get_ref())?;
    let mut document: toml_edit::DocumentMut = file.text.parse().map_err(|error: toml_edit::TomlError| {
        file.invalid(error.span().unwrap_or(0..0), error.message().to_owned())
    })?;
    for change in upgrade::changes(kind, tree.get_mut(), schema) {
        change.apply_to_document(&mut document);
    }
    write_toml_1_0(&mut document);
    let text = document.to_string();
    Ok((text != *file.text).then_some(text))
}

/// The line at the top of a file that names its schema for editors: [`FileKind::schema_file`], relative to a file in this number
/// of folders below the root of the project.
pub fn schema_line(kind: FileKind, folders: usize) -> String {
    let up = if folders == 0 {
        "./".to_owned()
    } else {
        "../".repeat(folders)
    };
    format!("#:schema {up}{}\n", kind.schema_file())
}

impl fmt::Display for FileKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
